"""Whose grades a row holds: by its id, else by its texts, never by its place alone."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from grouse_adapters.core.errors import InputError
from grouse_adapters.core.sample import Sample
from grouse_adapters.meta.elsewhere.judged import Row

_SHOWN: Final = 40


def matched(
    path: Path, rows: Sequence[Row], samples: Sequence[Sample] | None, *, in_order: bool
) -> list[Sample]:
    """The sample of each row, with its id.

    Args:
        path: the file, for messages.
        samples: what may have been judged, each with an id; None: what the rows say of
            themselves.
        in_order: whether rows without ids and texts may be taken in the order of ``samples``;
            without samples their ids are then their numbers, from 1.

    Raises:
        InputError: a row belongs to no sample, to several, or to the same as another row.
    """
    if any(row.id is not None for row in rows) and not _ids_are_foreign(rows, samples):
        known = None if samples is None else {sample.id: sample for sample in samples}
        found = [_by_id(row, known) for row in rows]
    elif all(has_texts(row) for row in rows):
        found = _by_texts(rows, samples)
    elif any(has_texts(row) for row in rows):
        row = next(row for row in rows if not has_texts(row))
        raise InputError(f"{row.place} lacks an id, or question and answer: add them.")
    elif in_order:
        found = _by_order(path, rows, samples)
    else:
        raise InputError(
            f"{path} holds grades without ids or texts: add an id column, or --in-order if its "
            "rows follow the order of the samples exactly."
        )
    seen: dict[str | None, Row] = {}
    for row, sample in zip(rows, found, strict=True):
        first = seen.setdefault(sample.id, row)
        if first is not row:
            raise InputError(
                f"{row.place} is about the same sample as {first.place}"
                f"{'' if row.id is None else f' ({_short(row.id)})'}: keep one of them."
            )
    return found


def same_texts(one: Sample, other: Sample) -> bool:
    """Whether question and answer are the same, spaces aside; empty ones say nothing."""
    pairs = ((one.input, other.input), (one.actual_output, other.actual_output))
    return all(_plain(a) == _plain(b) for a, b in pairs if _plain(a) and _plain(b))


def content_id(sample: Sample) -> str:
    """A name for a sample that has none, from question, answer and references."""
    parts = (sample.input, sample.actual_output, *sample.references)
    digest = hashlib.sha256("\0".join(map(_plain, parts)).encode("utf-8", "replace")).hexdigest()
    return f"content {digest[:16]}"


def by_content(samples: Sequence[Sample]) -> Mapping[tuple[str, str], Sequence[Sample]]:
    """The samples by question and answer."""
    found: dict[tuple[str, str], list[Sample]] = {}
    for sample in samples:
        found.setdefault(_key(sample.input, sample.actual_output), []).append(sample)
    return found


def same_key(sample: Sample) -> tuple[str, str]:
    """The key of a sample in ``by_content``."""
    return _key(sample.input, sample.actual_output)


def narrowed(
    candidates: Sequence[Sample], texts: Mapping[Any, Any], place: str, *, among: str
) -> Sample:
    """The one of ``candidates`` that has these references and this expected answer.

    Raises:
        InputError: none, or more than one.
    """
    left = list(candidates)
    for field in ("references", "expected_output"):
        told = texts.get(field)
        if len(left) > 1 and told is not None:
            left = [one for one in left if _dense(getattr(one, field)) == _dense(told)]
    if len(left) == 1:
        return left[0]
    if not candidates:
        raise InputError(
            f"{place} ({_short(str(texts.get('input', '')))}) has a question and answer that none "
            f"of the {among} has: name the ones that were judged."
        )
    names = ", ".join(repr(one.id) for one in candidates[:3])
    raise InputError(
        f"{place} may be about {len(candidates)} of the {among} ({names}), which its texts do not "
        "tell apart: add an id column."
    )


def _ids_are_foreign(rows: Sequence[Row], samples: Sequence[Sample] | None) -> bool:
    """Whether the ids name none of the samples, as DeepEval's ``test_case_0``, and texts do."""
    if samples is None or not all(has_texts(row) for row in rows):
        return False
    known = {sample.id for sample in samples}
    return not any(row.id in known for row in rows)


def _by_id(row: Row, known: Mapping[str | None, Sample] | None) -> Sample:
    if row.id is None:
        raise InputError(f"{row.place} has no id, and other rows have one: add it.")
    own = _own_sample(row, row.id)
    return own if known is None else sample_of(row.id, own, known, row.place)


def sample_of(name: str, judged: Sample, known: Mapping[str | None, Sample], place: str) -> Sample:
    """The known sample of this id.

    Raises:
        InputError: there is none, or its question or answer is not the one that was judged.
    """
    sample = known.get(name)
    if sample is None:
        raise InputError(
            f"{place} has the id {_short(name)}, which none of the {len(known):,} samples has: "
            "name the samples that were judged."
        )
    if not same_texts(sample, judged):
        raise InputError(
            f"{place} ({_short(name)}) holds another question or answer than the sample of that "
            "id: judge it again, or name the samples that were judged."
        )
    return sample


def _by_texts(rows: Sequence[Row], samples: Sequence[Sample] | None) -> list[Sample]:
    if samples is None:
        own = [_own_sample(row, None) for row in rows]
        return [sample.model_copy(update={"id": content_id(sample)}) for sample in own]
    index = by_content(samples)
    among = f"{len(samples):,} samples"
    return [
        narrowed(
            index.get(_key(row.texts["input"], row.texts["actual_output"]), ()),
            row.texts,
            row.place,
            among=among,
        )
        for row in rows
    ]


def _by_order(path: Path, rows: Sequence[Row], samples: Sequence[Sample] | None) -> list[Sample]:
    if samples is None:
        return [_own_sample(row, str(number)) for number, row in enumerate(rows, start=1)]
    if len(rows) != len(samples):
        raise InputError(
            f"{path} holds {len(rows):,} rows for {len(samples):,} samples, so their order does "
            "not tell which is which: name exactly the samples that were judged."
        )
    return list(samples)


def has_texts(row: Row) -> bool:
    """Whether a row holds question and answer."""
    return all(isinstance(row.texts.get(key), str) for key in ("input", "actual_output"))


def _own_sample(row: Row, name: str | None) -> Sample:
    return Sample(
        input=row.texts.get("input") or "",
        references=row.texts.get("references") or (),
        expected_output=row.texts.get("expected_output"),
        actual_output=row.texts.get("actual_output") or "",
        id=name,
    )


def _key(question: str, answer: str) -> tuple[str, str]:
    return _plain(question), _plain(answer)


def _plain(text: str) -> str:
    # tables change line breaks and trailing spaces
    return " ".join(text.split())


def _dense(value: Any) -> str:
    """Texts one after another without spaces: a list that went through a table loses its seams."""
    return "".join("".join([value] if isinstance(value, str) else value or ()).split())


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
