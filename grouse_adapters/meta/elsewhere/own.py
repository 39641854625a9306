"""Judgements of ours: runs, their ``judgements.jsonl``, and files of live judging."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from grouse_adapters.core.errors import InputError
from grouse_adapters.core.grades import Judgement
from grouse_adapters.core.rows import is_torn, read_line
from grouse_adapters.core.sample import Sample
from grouse_adapters.meta.elsewhere.files import read_text
from grouse_adapters.meta.elsewhere.judged import Judged
from grouse_adapters.meta.elsewhere.matching import (
    by_content,
    content_id,
    narrowed,
    same_key,
    sample_of,
)

JUDGEMENTS_FILE: Final = "judgements.jsonl"
_RUN_FILE: Final = "run.json"
_START: Final = '{"schema_version":'


def is_ours(text: str) -> bool:
    """Whether a text begins like judgements of ours."""
    first = text.lstrip().split("\n", 1)[0]
    try:
        row = json.loads(first)
    except ValueError:
        return first.startswith(_START)
    return isinstance(row, dict) and {"schema_version", "grades", "sample"} <= set(row)


def read_own(path: Path, samples: Sequence[Sample] | None) -> Judged:
    """The judgements of a run or a file of live judging, rotated siblings among them.

    Of several rows of a sample the last one counts.

    Raises:
        InputError: a line is no judgement, or a judgement is of none of the samples.
    """
    file = path / JUDGEMENTS_FILE if path.is_dir() else path
    notes: list[str] = []
    latest: dict[str, Judgement] = {}
    rows = list(_rows(file, notes))
    name_of = _namer(samples, [row for _, row in rows])
    for place, row in rows:
        name = name_of(place, row)
        latest.pop(name, None)
        latest[name] = row if row.id == name else row.model_copy(update={"id": name})
    if not latest:
        raise InputError(f"{file} holds no judgements yet: judge something first.")
    judges = dict.fromkeys(row.judge for row in latest.values())
    return Judged(
        path=path,
        origin="judgements",
        judge=", ".join(judges),
        judgements=tuple(latest.values()),
        missing=[str(sample.id) for sample in samples or () if str(sample.id) not in latest],
        notes=notes,
    )


def _namer(
    samples: Sequence[Sample] | None, rows: Sequence[Judgement]
) -> Callable[[str, Judgement], str]:
    """Gives (place, judgement) the id of its sample: its own, else that of the same texts."""
    if samples is None:
        return lambda place, row: row.id or content_id(row.sample)
    known = {sample.id: sample for sample in samples}
    index = by_content(samples)
    among = f"{len(samples):,} samples"
    # evaluate names what has no id by its line, which means nothing to a set of unit tests
    foreign = not any(row.id in known for row in rows)

    def name_of(place: str, row: Judgement) -> str:
        if row.id is not None and not foreign:
            sample_of(row.id, row.sample, known, place)
            return row.id
        candidates = index.get(same_key(row.sample), ())
        return str(narrowed(candidates, row.sample.model_dump(), place, among=among).id)

    return name_of


def _rows(file: Path, notes: list[str]) -> Iterator[tuple[str, Judgement]]:
    for part in _family(file):
        if part.exists() and not part.stat().st_size:
            continue
        for number, line in enumerate(read_text(part).split("\n"), start=1):
            if not line.strip():
                continue
            raw = line.encode()
            row = read_line(raw)
            if row is not None:
                yield f"{part}, line {number}", row
            elif is_torn(raw):
                notes.append(
                    f"{part}, line {number} was cut off while it was written, and is left out."
                )
            else:
                raise InputError(
                    f"{part}, line {number} is not a judgement: delete that line, or name another "
                    "file."
                )


def _family(file: Path) -> list[Path]:
    """The file and its rotated siblings, the oldest first; a run is never rotated."""
    if (file.parent / _RUN_FILE).exists():
        return [file]
    numbers = sorted(
        (
            int(ending)
            for sibling in file.parent.glob("*")
            if sibling.name.startswith(f"{file.name}.")
            and (ending := sibling.name[len(file.name) + 1 :]).isdecimal()
        ),
        reverse=True,
    )
    return [*(file.with_name(f"{file.name}.{number}") for number in numbers), file]
