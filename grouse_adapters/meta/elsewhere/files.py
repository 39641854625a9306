"""From the bytes of a file to rows: text, JSON, JSON lines, CSV."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from grouse_adapters.core.errors import InputError

_NO_TEXT: Final = {b"PK\x03\x04": "a workbook", b"PAR1": "a Parquet file", b"SQLite ": "a database"}
_DELIMITERS: Final = (",", ";", "\t")


def read_text(path: Path) -> str:
    """The text of a file, plain or gzip, UTF-8 with or without a byte order mark.

    Raises:
        InputError: it cannot be opened, is no such text, or is empty.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path} does not exist: check the path.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): check the path.") from None
    if raw[:2] == b"\x1f\x8b":
        try:
            raw = gzip.decompress(raw)
        except (EOFError, OSError, zlib.error):
            raise InputError(f"{path} cannot be unpacked: copy it again.") from None
    for start, what in _NO_TEXT.items():
        if raw.startswith(start):
            raise InputError(f"{path} is {what}: export the grades as CSV (UTF-8) or JSON lines.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8: save the file with UTF-8 encoding.") from None
    if "\0" in text[:1000]:  # UTF-16 of plain letters is valid UTF-8
        raise InputError(f"{path} is not UTF-8: save the file with UTF-8 encoding.")
    if not text.strip():
        raise InputError(f"{path} is empty: name a file of grades.")
    return text


def is_json(text: str) -> bool:
    """Whether the text is meant as JSON or JSON lines; no header of a table begins like that."""
    return text.lstrip()[:1] in ("{", "[")


def read_json(path: Path, text: str) -> Any:
    """One JSON document; of JSON lines, the list of their values.

    Raises:
        InputError: it is neither; the line is named.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        whole = error
    except (ValueError, RecursionError):  # a number of too many digits, or nested too deeply
        raise InputError(f"{path} holds JSON that cannot be read: write it again.") from None
    values = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            values.append(json.loads(line))
        except (ValueError, RecursionError) as error:
            if not values:  # one document over many lines
                raise InputError(
                    f"{path} is not valid JSON: {whole.msg} in line {whole.lineno}."
                ) from None
            trouble = error.msg if isinstance(error, json.JSONDecodeError) else "unreadable"
            raise InputError(f"{path}, line {number} is not valid JSON: {trouble}.") from None
    return values


def read_csv(path: Path, text: str) -> tuple[list[str], list[dict[str, str]]]:
    """Header and rows of a CSV text whose cells are parted by commas, semicolons or tabs.

    A column without a name, as pandas writes its row numbers, is left out.

    Raises:
        InputError: the text is no table, or has no rows.
    """
    first = text.lstrip("\n").split("\n", 1)[0]
    delimiter = max(_DELIMITERS, key=first.count)
    lines = io.StringIO(text, newline="")
    try:
        with _long_cells():
            cells = [row for row in csv.reader(lines, delimiter=delimiter, strict=True) if row]
    except csv.Error as error:
        raise InputError(
            f"{path} is not a CSV table ({error}): export it again as CSV (UTF-8)."
        ) from None
    header = [name.strip() for name in cells[0]]
    named = [name for name in header if name]
    twice = next((name for name in named if named.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{path} has two columns named {twice!r}: rename one of them.")
    rows = []
    for number, row in enumerate(cells[1:], start=1):
        if len(row) > len(header):
            raise InputError(
                f"{path}, row {number} has more cells than the header: put texts that hold a "
                f"{delimiter!r} in quotes."
            )
        if any(cell.strip() for cell in row):
            rows.append({name: cell for name, cell in zip(header, row, strict=False) if name})
    if not rows:
        raise InputError(f"{path} holds a header and no rows: name a file of grades.")
    return named, rows


@contextmanager
def _long_cells() -> Iterator[None]:
    # references make cells longer than the csv module takes by default
    before = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(before)
