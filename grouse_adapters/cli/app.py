"""The commands and what they share: version, exit codes, how errors and notes look."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Annotated, TextIO

import typer

from grouse_adapters.cli.agreement import agreement
from grouse_adapters.cli.align import align
from grouse_adapters.cli.annotate import annotate
from grouse_adapters.cli.attempts import SpreadPrompts
from grouse_adapters.cli.benchmark import benchmark
from grouse_adapters.cli.compare import compare
from grouse_adapters.cli.evaluate import evaluate
from grouse_adapters.cli.meta_evaluate import meta_evaluate
from grouse_adapters.cli.report import report
from grouse_adapters.cli.scenario import scenario
from grouse_adapters.core.errors import GrouseError

EXIT_WRONG_USE = 2
EXIT_INTERRUPTED = 130

app = typer.Typer(
    name="grouse-adapters",
    help="Judge grounded-QA answers on the six GroUSE metrics.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"grouse-adapters {version('grouse-adapters')}")
        raise typer.Exit


@app.callback()
def _top(
    context: typer.Context,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Judge grounded-QA answers on the six GroUSE metrics."""
    context.with_resource(_plain_trouble())


app.command()(evaluate)
app.command(cls=SpreadPrompts)(meta_evaluate)
app.command()(benchmark)
app.command()(report)
app.command()(compare)
app.command()(align)
app.command()(agreement)
app.command()(annotate)
app.add_typer(scenario)


@contextmanager
def _plain_trouble() -> Iterator[None]:
    """Errors become one sentence and exit code 2, warnings one line; never a traceback."""
    with warnings.catch_warnings():
        warnings.simplefilter("default", UserWarning)
        warnings.simplefilter("default", RuntimeWarning)
        # between libraries; some call theirs a UserWarning as well
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.showwarning = _note
        try:
            yield
        except GrouseError as error:
            typer.echo(f"Error: {error}", err=True)
            sys.exit(EXIT_WRONG_USE)
        except KeyboardInterrupt:
            typer.echo("Stopped.", err=True)
            sys.exit(EXIT_INTERRUPTED)


def _note(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    typer.echo(f"Note: {message}", err=True)
