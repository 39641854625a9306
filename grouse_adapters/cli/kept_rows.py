"""Judgements that are on disk already: of a run, or of live judging with its rotated files."""

from __future__ import annotations

import hashlib
import json
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final, NoReturn

from grouse_adapters.cli.outcome import note
from grouse_adapters.cli.run_dir import JUDGEMENTS_FILE, RUN_FILE
from grouse_adapters.core.errors import InputError
from grouse_adapters.core.grades import Judgement
from grouse_adapters.core.rows import is_torn, read_line
from grouse_adapters.report.aggregates import Aggregator, Report

SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class Kept:
    """What the files hold. Memory holds one digest and one offset per sample of a run, no rows.

    Attributes:
        report: the figures.
        shown: some of the judgements, at most ``SHOWN``: the first of a run, the newest of
            live files.
        files: the files they are from.
        run: the folder of the run they are of; None for live files.
        rows: reads the judgements that count, one at a time: of a run in the order in which the
            samples were judged first, of live files the oldest first.
    """

    report: Report
    shown: Sequence[Judgement]
    files: Sequence[Path]
    run: Path | None
    rows: Callable[[], Iterator[Judgement]]


def read_kept(paths: Sequence[Path]) -> Kept:
    """Reads a run's folder, or one or more files of live judgements.

    Raises:
        InputError: nothing is there, a line is no judgement, or a run is mixed with something
            else. One sentence.
    """
    folders = [folder for path in paths if (folder := _run_folder(path)) is not None]
    if folders and len(paths) > 1:
        raise InputError(
            f"{folders[0]} is a run, and a run is reported on its own: name one run, or files of "
            "live judgements."
        )
    return _read_run(folders[0]) if folders else _read_live(paths)


def _run_folder(path: Path) -> Path | None:
    """The run that ``path`` means; None when it is a file of live judgements."""
    if path.is_dir():
        if not any((path / name).exists() for name in (RUN_FILE, JUDGEMENTS_FILE)):
            raise InputError(
                f"{path} holds no run: name the folder of a run, or a file of live judgements."
            )
        return path
    of_a_run = path.name == JUDGEMENTS_FILE and (path.parent / RUN_FILE).exists()
    return path.parent if of_a_run else None


def _read_run(folder: Path) -> Kept:
    """The last row of every id counts; the others count for what was spent on them."""
    path = folder / JUDGEMENTS_FILE
    totals, judges = Aggregator(), dict[str, None]()
    last: dict[bytes, int] = {}
    if path.exists():
        with _opened(path) as stream:
            end = 0
            for offset, row in _rows(stream, path, torn=_say_torn):
                # a row without an id, which no run writes, stands for itself
                name = f"offset {offset}" if row.id is None else f"id {row.id}"
                last[hashlib.blake2b(name.encode(), digest_size=16).digest()] = offset
                end = offset
            latest = set(last.values())
            stream.seek(0)
            for offset, row in _rows(stream, path):
                if offset > end:  # the run goes on meanwhile
                    break
                if offset in latest:
                    totals.add(row)
                    judges[row.judge] = None
                else:
                    totals.add_spending(row)
    settings = run_settings_of(folder)
    report = totals.report(
        command=str(settings.get("command", "evaluate")),
        judge=str(settings.get("judge", ", ".join(judges))),
    )
    rows = partial(_rows_at, path, list(last.values()))
    return Kept(report, list(islice(rows(), SHOWN)), [path], run=folder, rows=rows)


def _rows_at(path: Path, offsets: Sequence[int]) -> Iterator[Judgement]:
    if not offsets:
        return
    with _opened(path) as stream:
        for offset in offsets:
            stream.seek(offset)
            yield Judgement.model_validate_json(stream.readline())


def is_elsewhere(path: Path) -> bool:
    """Whether a file can only hold grades that something else wrote.

    A file of ours begins with a judgement, or with what a killed program left of one.
    """
    if not path.is_file() or _run_folder(path) is not None:
        return False
    try:
        with path.open("rb") as stream:
            first = next((line for line in stream if line.strip()), b"")
    except OSError:
        return False  # reading it will say why
    return bool(first) and read_line(first) is None and not is_torn(first)


def read_run_rows(folder: Path) -> tuple[list[Judgement], list[Judgement]]:
    """The last row of every id of a run, and the rows that those replaced; all in memory.

    Raises:
        InputError: a line is no judgement.
    """
    path = folder / JUDGEMENTS_FILE
    latest: dict[str | None, Judgement] = {}
    superseded: list[Judgement] = []
    with _opened(path) as stream:
        for _, row in _rows(stream, path, torn=_say_torn):
            if row.id in latest:
                superseded.append(latest.pop(row.id))
            latest[row.id] = row
    return list(latest.values()), superseded


def run_settings_of(folder: Path) -> dict[str, Any]:
    """What the run says of itself; its rows tell as much where that is lost."""
    try:
        settings = json.loads((folder / RUN_FILE).read_bytes())
    except (OSError, ValueError):
        return {}
    return settings if isinstance(settings, dict) else {}


def _read_live(paths: Sequence[Path]) -> Kept:
    """Every row counts, the oldest first."""
    totals, judges = Aggregator(), dict[str, None]()
    shown: deque[Judgement] = deque(maxlen=SHOWN)
    for row in _live_rows(paths, torn=_say_torn):
        totals.add(row)
        judges[row.judge] = None
        shown.append(row)
    report = totals.report(command="live", judge=", ".join(judges))
    files = list(dict.fromkeys(paths))
    return Kept(report, shown, files, run=None, rows=partial(_live_rows, paths, torn=_no_word))


def _live_rows(paths: Sequence[Path], *, torn: Callable[[Path, int], None]) -> Iterator[Judgement]:
    with ExitStack() as stack:
        opened: list[tuple[Path, IO[bytes]]] = []
        for path in paths:
            family = _opened_family(path, stack)
            opened += reversed(family)
        seen: set[tuple[int, int]] = set()
        for path, stream in opened:
            status = os.fstat(stream.fileno())
            identity = (status.st_dev, status.st_ino)
            if identity in seen:  # named twice, or rotated while being opened
                continue
            seen.add(identity)
            for _, row in _rows(stream, path, torn=torn, torn_anywhere=True):
                yield row


def _opened_family(path: Path, stack: ExitStack) -> list[tuple[Path, IO[bytes]]]:
    """A file and its rotated siblings, the newest first.

    In this order, and all before any is read: what is rotated meanwhile moves on to where it has
    yet to be opened, and is missed by nobody.
    """
    numbers = [
        int(sibling.name[len(path.name) + 1 :])
        for sibling in path.parent.glob("*")
        if sibling.name.startswith(f"{path.name}.")
        and sibling.name[len(path.name) + 1 :].isdecimal()
    ]
    siblings = [
        path.with_name(f"{path.name}.{number}") for number in range(1, max(numbers, default=0) + 2)
    ]
    family: list[tuple[Path, IO[bytes]]] = []
    for file in [path, *siblings]:
        try:
            family.append((file, stack.enter_context(file.open("rb"))))
        except FileNotFoundError:
            continue
        except OSError as error:
            _fail_to_open(file, error)
    if not family:
        raise InputError(f"{path} does not exist: check the path.")
    return family


def _rows(
    stream: IO[bytes],
    path: Path,
    *,
    torn: Callable[[Path, int], None] | None = None,
    torn_anywhere: bool = False,
) -> Iterator[tuple[int, Judgement]]:
    """(offset in bytes, judgement) of every row."""
    offset = 0
    for number, line in enumerate(stream, start=1):
        if line.strip():
            row = read_line(line)
            if row is not None:
                yield offset, row
            elif is_torn(line) and (torn_anywhere or not line.endswith(b"\n")):
                if torn is not None:
                    torn(path, number)
            else:
                raise InputError(
                    f"{path}, line {number} is not a judgement: delete that line, or name another "
                    "file."
                )
        offset += len(line)


def _no_word(path: Path, number: int) -> None:
    """It was said when the file was read before."""


def _say_torn(path: Path, number: int) -> None:
    note(f"{path}, line {number} was cut off while it was written, and is left out.")


def _opened(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except OSError as error:
        _fail_to_open(path, error)


def _fail_to_open(path: Path, error: OSError) -> NoReturn:
    raise InputError(
        f"{path} cannot be read ({error.strerror or error}): check the path."
    ) from None
