"""``python -m grouse_adapters``."""

from __future__ import annotations

from grouse_adapters.cli import main

if __name__ == "__main__":
    main()
