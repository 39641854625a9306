"""A benchmark on a terminal and as a picture."""

from __future__ import annotations

import io
import re
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from benchmark_rows import judged, score, scores, suite
from rich.cells import cell_len
from rich.console import Console

from grouse_adapters.core.errors import ConfigurationError, MissingExtraError
from grouse_adapters.native.annotations import Annotation
from grouse_adapters.native.compare import BenchmarkData, compare_benchmarks
from grouse_adapters.native.panels import BenchmarkView, benchmark_view
from grouse_adapters.report.benchmark_compare_terminal import print_benchmark_comparison
from grouse_adapters.report.benchmark_plots import write_benchmark_plots
from grouse_adapters.report.benchmark_terminal import print_benchmark

NOTICE = "Annotations: by construction, from how the tests were made; none is human."
HOSTILE = "\x1b[31mred\x07 [bold]not bold[/bold] \u202e $x^2$ <svg onload=x>"


def view(sets: int = 3, variants: int = 1, *, judge: bool = True) -> BenchmarkView:
    tests, notes = suite(sets)
    rows = scores(tests, notes, variants=variants)
    beside = judged(sets) if judge else ()
    return benchmark_view(rows, tests, notes, source="dev", judged=beside)


def console(width: int, encoding: str = "utf-8") -> tuple[Console, io.BytesIO]:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, write_through=True)
    return Console(file=stream, width=width), raw


def printed(shown: BenchmarkView, width: int = 120, encoding: str = "utf-8") -> str:
    target, raw = console(width, encoding)
    print_benchmark(target, shown, ["runs/x/report.html"])
    return raw.getvalue().decode(encoding)


@pytest.mark.parametrize("width", [80, 100, 120, 200])
@pytest.mark.parametrize("variants", [1, 2])
def test_the_first_line_says_what_the_annotations_are(width: int, variants: int) -> None:
    text = printed(view(variants=variants), width)
    assert text.splitlines()[0] == NOTICE
    assert max(cell_len(line) for line in text.splitlines()) <= width
    assert "runs/x/report.html" in text
    for run in view(variants=variants).report.runs:
        assert f"{run.success_rate:.2f}" in text


def test_everything_has_its_figures() -> None:
    text = printed(view(), 132)
    assert "DeepEval answer relevancy (without-reason)" in text
    assert "RAGAS 0.4.3 · DeepEval 4.3.1 · gpt-4o-mini" in text
    assert "the paper's 3: 0.125 and about 0.05" in text
    assert re.search(r"FM7 distorted or unsupported claim +5 ", text)
    assert "claim about the third item" in text  # the framework's own words


def test_a_row_of_signs_is_a_type() -> None:
    lines = printed(view(judge=False), 132).splitlines()
    row = next(line for line in lines if line.startswith("Highest marks 2"))
    assert row.split()[3:] == ["···"] * 4
    row = next(line for line in lines if line.startswith("Low completeness 1"))
    assert row.split()[3:] == ["×■!", "××!", "×■!", "××!"]


def test_a_terminal_of_few_characters() -> None:
    text = printed(view(), 100, "ascii")
    assert text.isascii()
    assert "o" in text


def test_foreign_texts_do_nothing() -> None:
    test = suite(1)[0][0]
    bad = test.model_copy(update={"id": HOSTILE, "set_id": HOSTILE, "test_type": HOSTILE})
    note = Annotation(
        test_id=HOSTILE, annotator=HOSTILE, source="human", answer_relevancy=1.0, faithfulness=1.0
    )
    row = score(HOSTILE, 0.1, variant=HOSTILE, model=HOSTILE, reason=HOSTILE)
    shown = benchmark_view([row], [bad], [note], source=HOSTILE)
    text = printed(shown)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e]", text)
    assert "[bold]not bold[/bold]" in text


def test_no_rows_at_all() -> None:
    tests, notes = suite(1)
    shown = benchmark_view([], tests, notes, source="x")
    assert printed(shown).startswith(NOTICE)


@pytest.mark.parametrize("width", [80, 132])
def test_two_runs_on_a_terminal(width: int) -> None:
    tests, notes = suite()
    old = BenchmarkData(scores(tests, notes), tests, notes)
    versions = {"ragas": "0.5.0", "deepeval": "4.3.1"}
    rows = scores(tests, notes, versions=versions, nudge=Fraction(1, 10))  # type: ignore[arg-type]  # keys are literals
    comparison = compare_benchmarks(old, BenchmarkData(rows, tests, notes))
    target, raw = console(width)
    print_benchmark_comparison(target, comparison, ("old", "new"), ["x/comparison.json"])
    text = raw.getvalue().decode()
    assert max(cell_len(line) for line in text.splitlines()) <= width
    assert "RAGAS answer relevancy (collections) 0.4.3 / 0.5.0" in text
    assert "only B succeeds on ferrante-duel/8" in text
    run = next(run for run in comparison.runs if run.first.metric == "answer_relevancy")
    assert f"{run.p_value:.3f}" in text
    assert f"{run.mean_difference:+.3f}" in text


def test_the_picture_says_it_too(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    png, svg, again = (tmp_path / name for name in ("b.png", "b.svg", "again.svg"))
    write_benchmark_plots([png, svg], view())
    write_benchmark_plots([again], view())
    assert png.read_bytes().startswith(b"\x89PNG")
    text = svg.read_text()
    assert f"<!-- {NOTICE} -->" in text
    for colour in ("#2f6fb5", "#c8372d", "#ef9b20", "#b4b9c0"):
        assert colour in text
    assert svg.read_bytes() == again.read_bytes()


def test_a_picture_of_foreign_texts_and_of_nothing(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    tests, notes = suite(1)
    row = score(tests[0].id, -0.3, variant="$\\frac{", model=HOSTILE)
    odd = benchmark_view([row], tests, notes, source="$^{")
    write_benchmark_plots([tmp_path / "odd.png"], odd)
    write_benchmark_plots([tmp_path / "no.png"], benchmark_view([], tests, notes, source="x"))
    assert (tmp_path / "odd.png").stat().st_size > 1000
    assert (tmp_path / "no.png").stat().st_size > 1000


def test_a_picture_that_cannot_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigurationError, match="cannot be written"):
        write_benchmark_plots([tmp_path / "file" / "b.png"], view(1))
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"grouse-adapters\[plot\]"):
        write_benchmark_plots([tmp_path / "b.png"], view(1))
