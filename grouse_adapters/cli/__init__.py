"""The command line: ``grouse-adapters``."""

from __future__ import annotations


def main() -> None:
    """Entry point of the ``grouse-adapters`` command."""
    from grouse_adapters.cli.app import app

    app()
