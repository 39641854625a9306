"""What a benchmark runs, whose annotations it takes, and what its folder keeps."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import pytest

from grouse_adapters.cli.benchmark_run import (
    ANNOTATIONS_FILE,
    BenchmarkDir,
    BenchmarkSettings,
    is_benchmark_run,
    read_benchmark_run,
)
from grouse_adapters.cli.run_dir import RunDir, RunSettings
from grouse_adapters.cli.run_folder import SCORES_FILE
from grouse_adapters.core.errors import ConfigurationError, InputError
from grouse_adapters.meta.sources import load_tests
from grouse_adapters.meta.unit_tests import UnitTest, read_unit_tests
from grouse_adapters.native.annotation_sources import load_annotations
from grouse_adapters.native.annotations import Annotation
from grouse_adapters.native.rows import NativeScore, read_score, score_line
from grouse_adapters.native.runners import ModelAccess, Part, parts

DEV = Path(__file__).parents[2] / "data" / "unit_tests_dev.jsonl"
SETTINGS = BenchmarkSettings(
    input="tests.jsonl",
    runs=("ragas faithfulness collections",),
    versions={"ragas": "0.4.3"},
    model="gpt-9",
)


def a_score(test_id: str, **given: Any) -> NativeScore:
    return NativeScore(
        **{
            "test_id": test_id,
            "framework": "ragas",
            "framework_version": "0.4.3",
            "metric": "faithfulness",
            "variant": "collections",
            "model": "gpt-9",
            "score": 0.5,
            **given,
        }
    )


def failed(test_id: str) -> NativeScore:
    return a_score(test_id, score=None, error_kind="timeout", error="no reply within 9 s")


def one_sentence(call: Callable[[], object]) -> str:
    with pytest.raises(ConfigurationError) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(".")
    return message


def inputs() -> tuple[list[UnitTest], list[Annotation]]:
    tests = read_unit_tests(DEV)
    return tests, load_annotations(str(DEV), tests)


class TestParts:
    def test_both_metrics_run_in_the_first_variant(self) -> None:
        assert parts(["ragas", "deepeval"]) == (
            Part("ragas", "faithfulness", "collections"),
            Part("ragas", "answer_relevancy", "collections"),
            Part("deepeval", "faithfulness", "with-reason"),
            Part("deepeval", "answer_relevancy", "with-reason"),
        )

    def test_named_variants_replace_a_frameworks_first_and_no_other_frameworks(self) -> None:
        chosen = parts(["ragas", "deepeval"], metrics=["faithfulness"], variants=["legacy"])
        assert list(map(str, chosen)) == [
            "ragas faithfulness legacy",
            "deepeval faithfulness with-reason",
        ]

    def test_all_variants(self) -> None:
        assert len(parts(["ragas", "deepeval"], variants=["all"])) == 8

    def test_only_the_relevancy_of_ragas_asks_for_embeddings(self) -> None:
        embeds = [
            str(part) for part in parts(["ragas", "deepeval"], variants=["all"]) if part.embeds
        ]
        assert embeds == ["ragas answer_relevancy collections", "ragas answer_relevancy legacy"]

    @pytest.mark.parametrize(
        ("given", "says"),
        [
            ({"metrics": ["usefulness"]}, "'usefulness' is no metric of a native metric here"),
            ({"variants": ["with-reason"]}, "use collections, legacy."),
        ],
    )
    def test_an_unknown_name_is_told_with_the_known_ones(
        self, given: dict[str, Any], says: str
    ) -> None:
        assert says in one_sentence(lambda: parts(["ragas"], **given))

    def test_the_key_is_not_shown(self) -> None:
        assert "sk-secret" not in repr(ModelAccess(model="gpt-9", key="sk-secret"))


class TestAnnotationSources:
    def test_the_bundled_tests_bring_the_labels_of_their_scenarios(self) -> None:
        source = load_tests("bundled-train")
        found = load_annotations("bundled-train", source.tests)
        assert [one.test_id for one in found] == [test.id for test in source.tests]
        assert {one.source for one in found} == {"by construction"}

    def test_so_do_scenarios_in_a_folder_and_alone(self, tmp_path: Path) -> None:
        with as_file(files("grouse_adapters") / "data" / "scenarios" / "train") as folder:
            (path, *_) = sorted(folder.glob("*.yaml"))
            shutil.copy(path, tmp_path)
        alone = str(tmp_path / path.name)
        for source in (str(tmp_path), alone):
            tests = load_tests(source).tests
            found = load_annotations(source, tests)
            assert [one.test_id for one in found] == [test.id for test in tests]

    def test_rows_bring_their_own_and_are_not_called_human_unless_they_say_so(self) -> None:
        tests, found = inputs()
        assert len(found) == 16
        assert {(one.annotator, one.source) for one in found} == {("row", "by construction")}
        said = [
            {"annotator": "ann", "source": "human", "answer_relevancy": 0.5, "faithfulness": 1.0},
            {"annotator": "bo", "source": "human", "answer_relevancy": 1, "faithfulness": 1},
        ]
        test = tests[0].model_copy(update={"annotations": said})
        ann, bo = load_annotations(str(DEV), [test])
        assert (ann.annotator, ann.source, ann.answer_relevancy) == ("ann", "human", 0.5)
        assert (bo.annotator, bo.test_id) == ("bo", test.id)

    def test_a_file_stands_instead_of_what_the_tests_bring(self, tmp_path: Path) -> None:
        row = {
            "test_id": "a/1",
            "annotator": "ann",
            "source": "human",
            "answer_relevancy": 1.0,
            "faithfulness": 0.5,
        }
        file = tmp_path / "annotations.jsonl"
        file.write_text(json.dumps(row) + "\n", encoding="utf-8")
        (found,) = load_annotations(str(DEV), inputs()[0], file)
        assert (found.test_id, found.faithfulness) == ("a/1", 0.5)

    @pytest.mark.parametrize(
        ("said", "says"),
        [
            ("good", "are no objects"),
            ([{"faithfulness": 2, "answer_relevancy": 1}], "write a share from 0 to 1."),
            ({}, "it has neither statements nor shares"),
        ],
    )
    def test_what_is_no_annotation_is_told_with_its_test(self, said: Any, says: str) -> None:
        test = inputs()[0][0].model_copy(update={"annotations": said})
        message = one_sentence(lambda: load_annotations(str(DEV), [test]))
        assert repr(test.id) in message
        assert says in message


class TestFolder:
    def test_the_last_score_counts_and_an_error_is_made_again(self, tmp_path: Path) -> None:
        with BenchmarkDir(tmp_path, SETTINGS, resume=False) as run:
            for score in (failed("a"), failed("b"), a_score("b"), a_score("c", score=None)):
                run.append(score)
        with BenchmarkDir(tmp_path, SETTINGS, resume=True) as run:
            assert {key[0] for key in run.done} == {"b", "c"}
            assert [score.test_id for score in run.scores] == ["a", "b", "b", "c"]
            run.append(a_score("a"))
            assert {key[0] for key in run.done} == {"a", "b", "c"}

    def test_what_a_kill_left_of_a_row_is_cut_off(self, tmp_path: Path) -> None:
        with BenchmarkDir(tmp_path, SETTINGS, resume=False) as run:
            run.append(a_score("a"))
        with (tmp_path / SCORES_FILE).open("ab") as stream:
            stream.write(score_line(a_score("b"))[:-20])
        with BenchmarkDir(tmp_path, SETTINGS, resume=True) as run:
            assert {key[0] for key in run.done} == {"a"}
            run.append(a_score("c"))
        lines = (tmp_path / SCORES_FILE).read_bytes().splitlines()
        assert [score.test_id for line in lines if (score := read_score(line))] == ["a", "c"]
        assert len(lines) == 2

    def test_a_line_that_is_no_score_is_named(self, tmp_path: Path) -> None:
        with BenchmarkDir(tmp_path, SETTINGS, resume=False) as run:
            run.append(a_score("a"))
        with (tmp_path / SCORES_FILE).open("ab") as stream:
            stream.write(b'{"score": "high"}\n')
        message = one_sentence(lambda: BenchmarkDir(tmp_path, SETTINGS, resume=True))
        assert f"{SCORES_FILE}, line 2 is not a score" in message

    def test_another_model_is_another_run(self, tmp_path: Path) -> None:
        with BenchmarkDir(tmp_path, SETTINGS, resume=False):
            pass
        other = SETTINGS.model_copy(update={"model": "gpt-8", "versions": {"ragas": "0.4.2"}})
        message = one_sentence(lambda: BenchmarkDir(tmp_path, other, resume=True))
        assert "model was gpt-9 and is now gpt-8" in message
        assert "versions.ragas was 0.4.3 and is now 0.4.2" in message

    def test_a_scored_test_may_not_change(self, tmp_path: Path) -> None:
        tests, notes = inputs()
        with BenchmarkDir(tmp_path, SETTINGS, resume=False) as run:
            run.keep_inputs(tests, notes)
            run.append(a_score(tests[1].id))
        first, second, *others = tests
        edited = second.sample.model_copy(update={"actual_output": "No."})
        second = second.model_copy(update={"sample": edited})
        unscored = first.model_copy(update={"sample": edited.model_copy(update={"id": first.id})})
        with BenchmarkDir(tmp_path, SETTINGS, resume=True) as run:
            run.keep_inputs([unscored, tests[1], *others], notes)
            message = one_sentence(lambda: run.keep_inputs([first, second, *others], notes))
        assert f"{second.id!r} was changed after it had been scored" in message

    def test_a_run_without_a_score_leaves_nothing_behind(self, tmp_path: Path) -> None:
        tests, notes = inputs()
        folder = tmp_path / "new" / "run"
        with BenchmarkDir(folder, SETTINGS, resume=False) as run:
            run.keep_inputs(tests, notes)
            assert (folder / ANNOTATIONS_FILE).exists()
            run.discard_if_empty()
        assert not (tmp_path / "new").exists()

    def test_it_belongs_to_one_process_at_a_time(self, tmp_path: Path) -> None:
        with BenchmarkDir(tmp_path, SETTINGS, resume=False):
            message = one_sentence(lambda: BenchmarkDir(tmp_path, SETTINGS, resume=True))
        assert "in use by another run" in message

    def test_judgements_stand_beside_the_scores(self, tmp_path: Path) -> None:
        beside = RunSettings(
            command="benchmark", input="t", judge="lexical", metrics=("usefulness",)
        )
        with BenchmarkDir(tmp_path, SETTINGS, resume=False) as run:
            run.append(a_score("a"))
            with RunDir.resume(tmp_path, beside, run_file="judge.json") as rows:
                assert not rows.resumed
                rows.discard_if_empty()
        assert sorted(path.name for path in tmp_path.iterdir()) == ["run.json", SCORES_FILE]

    def test_a_stopped_run_can_be_read(self, tmp_path: Path) -> None:
        tests, notes = inputs()
        with BenchmarkDir(tmp_path, SETTINGS, resume=False) as run:
            run.keep_inputs(tests, notes)
            run.append(a_score(tests[0].id))
        with (tmp_path / SCORES_FILE).open("ab") as stream:
            stream.write(score_line(a_score(tests[1].id))[:-20])
        assert is_benchmark_run(tmp_path)
        view = read_benchmark_run(tmp_path)
        (figures,) = view.report.runs
        assert (figures.rated, figures.not_run, view.report.source) == (1, 15, "tests.jsonl")
        assert view.report.threshold == 0.2

    def test_a_folder_without_scores_says_how_to_get_some(self, tmp_path: Path) -> None:
        assert not is_benchmark_run(tmp_path)
        with pytest.raises(InputError, match="holds no benchmark: make one with"):
            read_benchmark_run(tmp_path)


def test_a_score_survives_its_line() -> None:
    score = a_score("a", reason="Ähnlich \N{OCTOPUS}\nzweite Zeile")
    assert read_score(score_line(score)) == score
    halved = a_score("a", reason="half \ud83d pair")
    found = read_score(score_line(halved))
    assert found is not None
    assert found.reason == "half ? pair"
    assert read_score(b'{"schema_version":1}') is None
