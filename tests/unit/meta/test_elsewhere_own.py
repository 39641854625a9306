"""Judgements of ours, read as any other file of grades: runs, live files, matching by texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from grouse_adapters.core.errors import InputError
from grouse_adapters.core.grades import Graded, Judgement
from grouse_adapters.core.rows import to_line
from grouse_adapters.core.sample import Sample
from grouse_adapters.meta.elsewhere import ReadingOptions, read_all, read_judged


def sample(name: str | None, answer: str = "At noon [1].", **more: Any) -> Sample:
    given = {"references": ("The bell rings at noon.",), **more}
    return Sample(id=name, input="When does the bell ring?", actual_output=answer, **given)


SAMPLES = [sample("a"), sample("b", "At ten [1]."), sample("c", "No document answers.")]


def write(folder: Path, text: str | bytes, name: str = "people.csv") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return path


def judgement(name: str | None, value: int, answer: str = "At noon [1].") -> Judgement:
    return Judgement(
        id=name,
        sample=sample(name, answer),
        grades={"completeness": Graded(value=value)},
        judge="model-1",
    )


def test_of_several_rows_of_a_sample_the_last_one_counts(tmp_path: Path) -> None:
    rows = [judgement("a", 1), judgement("b", 2, "At ten [1]."), judgement("a", 5)]
    path = write(tmp_path, b"".join(map(to_line, rows)), "judgements.jsonl")
    for named in (path, tmp_path):
        judged = read_judged(named, samples=SAMPLES)
        assert {n: row.value("completeness") for n, row in judged.by_id.items()} == {"a": 5, "b": 2}
        assert (judged.origin, judged.judge, judged.missing) == ("judgements", "model-1", ["c"])


def test_live_files_are_read_with_their_rotated_siblings_and_matched_by_text(
    tmp_path: Path,
) -> None:
    write(tmp_path, to_line(judgement(None, 1)), "live.jsonl.2")
    write(tmp_path, to_line(judgement(None, 3, "At ten [1].")), "live.jsonl.1")
    torn = to_line(judgement(None, 4))[:50]
    path = write(tmp_path, to_line(judgement(None, 2)) + torn, "live.jsonl")
    judged = read_judged(path, samples=SAMPLES)
    assert {n: row.value("completeness") for n, row in judged.by_id.items()} == {"a": 2, "b": 3}
    assert len(judged.notes) == 1
    assert "line 2 was cut off" in judged.notes[0]
    assert len(read_judged(path).by_id) == 2


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([judgement("a", 1), judgement("z", 1)], "which none of the 3 samples has"),
        ([judgement("a", 1, "At ten [1].")], "holds another question or answer"),
        ([judgement(None, 1, "Never.")], "has a question and answer that none"),
    ],
)
def test_judgements_of_other_samples_are_refused(
    tmp_path: Path, rows: list[Judgement], message: str
) -> None:
    path = write(tmp_path, b"".join(map(to_line, rows)), "live.jsonl")
    with pytest.raises(InputError, match=message):
        read_judged(path, samples=SAMPLES)


def test_ids_of_a_run_that_name_nothing_give_way_to_texts(tmp_path: Path) -> None:
    rows = [judgement("line 2 0123", 2, "At ten [1]."), judgement("line 1 4567", 5)]
    path = write(tmp_path, b"".join(map(to_line, rows)), "judgements.jsonl")
    read = read_judged(path, samples=SAMPLES).by_id
    assert {name: row.value("completeness") for name, row in read.items()} == {"b": 2, "a": 5}


def test_a_line_that_is_no_judgement_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, to_line(judgement("a", 1)) + b'{"id": "b"}\n', "live.jsonl")
    with pytest.raises(InputError, match="line 2 is not a judgement"):
        read_judged(path)


def test_a_table_without_ids_takes_those_of_a_run_beside_it(tmp_path: Path) -> None:
    rows = [judgement("b", 2, "At ten [1]."), judgement("a", 5)]
    run = write(tmp_path, b"".join(map(to_line, rows)), "judgements.jsonl")
    table = write(tmp_path, "question,answer,C\nWhen does the bell ring?,At noon [1].,4\n")
    assert [list(judged.by_id) for judged in read_all([table, run])] == [["a"], ["b", "a"]]
    # a run is in the order in which it was complete, so no order can be taken from it
    bare = write(tmp_path, "C\n4\n5\n", "bare.csv")
    read = read_all([run, bare], options=ReadingOptions(in_order=True))
    assert list(read[1].by_id) == ["1", "2"]
