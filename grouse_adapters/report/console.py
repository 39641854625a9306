"""Writing on a terminal: signs it can show, harmless text, tables without ornament."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

WIDEST: Final = 132

_JOINERS: Final = "\u200c\u200d"  # some scripts are misspelt without them
_LONGEST_TEXT: Final = 2000


@dataclass(frozen=True, slots=True)
class Signs:
    """The characters that say something, with a plain form where they cannot be written."""

    dash: str = "–"
    dot: str = "·"
    full: str = "█"
    empty: str = "░"
    ellipsis: str = "…"
    passed: str = "■"
    missed: str = "×"
    arrow: str = "→"


_PLAIN_SIGNS: Final = Signs("-", "|", "#", ".", "...", "o", "x", "->")
_PLAIN_BOX: Final = box.Box("\n".join(["    ", "    ", " -- ", *["    "] * 5, ""]), ascii=True)


class Writer:
    """Makes text and tables that this console can show.

    Everything that is shown comes from samples and judges, so it is shown as plain text: no
    markup, no control characters, nothing the terminal's encoding cannot write.
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        signs = Signs()
        everything = "".join(getattr(signs, name) for name in Signs.__dataclass_fields__)
        self.signs = signs if self.encodable(everything) == everything else _PLAIN_SIGNS
        self.width = min(console.width, WIDEST)

    def text(self, text: str, style: str = "") -> Text:
        """Foreign text as harmless, printable text on one line."""
        return Text(self.encodable(harmless(text[:_LONGEST_TEXT])), style=style)

    def clipped(self, text: Text, width: int, lines: int) -> Text:
        """At most ``lines`` lines of ``width`` cells; says where something was left out."""
        wrapped = list(text.wrap(self.console, width, overflow="fold"))
        for line in wrapped:
            line.rstrip()
        if len(wrapped) > lines:
            last = wrapped[lines - 1]
            last.truncate(width - len(self.signs.ellipsis), overflow="crop")
            last.rstrip()
            last.append(self.signs.ellipsis)
        return Text("\n").join(wrapped[:lines])

    def encodable(self, text: str) -> str:
        """The text with ``?`` for what the console's encoding lacks."""
        encoding = self.console.encoding
        try:
            return text.encode(encoding, errors="replace").decode(encoding)
        except LookupError:  # a stream may name an encoding that Python does not know
            return text.encode("ascii", errors="replace").decode("ascii")

    def table(self) -> Table:
        """An empty table."""
        return Table(
            box=box.SIMPLE_HEAD if self.signs is not _PLAIN_SIGNS else _PLAIN_BOX,
            show_edge=False,
            padding=(0, 1, 0, 0),
            pad_edge=False,
            header_style="bold",
            border_style="dim",
        )

    def print_items(self, items: Iterable[str], *, style: str = "") -> None:
        """Items in a row; lines break between items, not in them."""
        line = ""
        for item in items:
            longer = f"{line} {self.signs.dot} {item}" if line else item
            if line and cell_len(longer) > self.width:
                self.print_line(line, style=style)
                longer = item
            line = longer
        self.print_line(line, style=style)

    def print_line(self, text: str, *, style: str = "", wrap: bool = True) -> None:
        """A line of text; ``wrap=False`` keeps a path in one piece, to be copied."""
        self.console.print(
            Text(self.encodable(_printable(text)), style=style),
            soft_wrap=not wrap,
            highlight=False,
            width=None if not wrap else self.width,
        )

    def print_files(self, files: Iterable[object]) -> None:
        """Where the files are, one a line."""
        for number, file in enumerate(files):
            self.print_line(f"{'Files' if number == 0 else '     '}  {file}", wrap=False)


def add_column(table: Table, heading: Text, *, right: bool = False) -> None:
    """A column that is cropped where it does not fit."""
    # rich would mark what it cuts with a character that not every encoding has
    table.add_column(heading, justify="right" if right else "left", no_wrap=True, overflow="crop")


def harmless(text: str) -> str:
    """On one line, and without anything that moves a cursor, recolours or reorders text."""
    return " ".join(_printable(text).split())


def _printable(text: str) -> str:
    return "".join(
        character
        if character in _JOINERS or unicodedata.category(character)[0] != "C"
        else " "
        if character.isspace() or unicodedata.category(character) == "Cc"
        else ""
        for character in text
    )
