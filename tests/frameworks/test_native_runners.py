"""The frameworks' own metrics as a benchmark runs them, over real HTTP: counts, failures, order."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from cases_native import dev_tests, labels, made_test
from conftest import must_run
from native_oracle import EMBEDDING_MODEL, MODEL, NativeOracle

from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.core.gate import RetryPolicy
from grouse_adapters.core.grades import Usage
from grouse_adapters.meta.unit_tests import UnitTest
from grouse_adapters.native.benchmark import Key, run_benchmark
from grouse_adapters.native.rows import Framework, NativeScore
from grouse_adapters.native.runners import ModelAccess, Part, parts, settle
from grouse_adapters.testing import (
    ContentFilter,
    CutOff,
    Dropped,
    HttpError,
    RandomFaults,
    ScriptedServer,
    ServedRequest,
    When,
)
from grouse_adapters.testing.script import token_count

for framework in ("ragas", "deepeval"):
    if find_spec(framework) is None:
        must_run(framework)

KEY = "sk-native-0123456789"
VERSIONS: dict[Framework, str] = {"ragas": version("ragas"), "deepeval": version("deepeval")}
QUICK = RetryPolicy(retries=3, base_delay=0.001, max_delay=0.002)
EVERY = parts(["ragas", "deepeval"], variants=["all"])
FAITHFULNESS = [part for part in EVERY if part.metric == "faithfulness"]
RELEVANCY = [part for part in EVERY if part.metric == "answer_relevancy"]
RAGAS_RELEVANCY = [part for part in RELEVANCY if part.framework == "ragas"]
TESTS = dev_tests()


@pytest.fixture(autouse=True)
def _settled(tmp_path: Path) -> Iterator[None]:
    before = dict(os.environ)
    settle(tmp_path / "deepeval")
    yield
    os.environ.clear()
    os.environ.update(before)


@dataclass
class Ran:
    """What a run wrote, and what its server saw."""

    server: ScriptedServer
    scores: list[NativeScore] = field(default_factory=list)
    error: ConfigurationError | None = None

    @property
    def only(self) -> NativeScore:
        (score,) = self.scores
        return score

    def served(self, end: str) -> list[ServedRequest]:
        return [one for one in self.server.requests if one.path.endswith(end) and one.status == 200]


def run(
    chosen: Sequence[Part],
    tests: Sequence[UnitTest] = TESTS,
    *,
    access: dict[str, Any] | None = None,
    on_score: Callable[[NativeScore], None] = lambda score: None,
    done: Sequence[Key] = (),
    concurrency: int = 8,
    **server: Any,
) -> Ran:
    oracle = NativeOracle(TESTS, labels(TESTS))
    given = {"replies": oracle, "embed": oracle.embed, "api_key": KEY, **server}
    with ScriptedServer(**given) as serving:
        ran = Ran(serving)

        def keep(score: NativeScore) -> None:
            ran.scores.append(score)
            on_score(score)

        try:
            run_benchmark(
                chosen,
                tests,
                ModelAccess(model=MODEL, base_url=serving.base_url, key=KEY, **(access or {})),
                keep,
                versions=VERSIONS,
                done=done,
                concurrency=concurrency,
                policy=QUICK,
            )
        except ConfigurationError as error:
            ran.error = error
    return ran


def shares(part: Part) -> dict[str, Fraction | None]:
    oracle = NativeOracle(TESTS, labels(TESTS))
    return {name: share[part.metric] for name, share in oracle.shares.items()}


@pytest.mark.parametrize("framework", ["ragas", "deepeval"])
def test_every_call_and_token_is_in_the_rows(framework: Framework) -> None:
    ran = run([part for part in EVERY if part.framework == framework])
    assert ran.error is None
    chats, embeddings = ran.served("/chat/completions"), ran.served("/embeddings")
    assert sum(score.calls for score in ran.scores) == len(chats) == ran.server.calls
    assert sum(score.embedding_calls for score in ran.scores) == len(embeddings)
    read = sum(token_count(one.prompt) for one in chats)
    for one in embeddings:
        texts = one.body["input"]
        read += sum(map(token_count, [texts] if isinstance(texts, str) else texts))
    assert sum(score.usage.input_tokens for score in ran.scores) == read
    assert all(score.usage.output_tokens > 0 for score in ran.scores if score.calls)


@pytest.mark.parametrize("part", EVERY, ids=str)
def test_each_test_has_its_own_share_and_its_own_calls(part: Part) -> None:
    ran = run([part])
    assert {score.test_id for score in ran.scores} == {test.id for test in TESTS}
    wanted = shares(part)
    calls = Counter(score.calls for score in ran.scores if wanted[score.test_id] is not None)
    assert len(calls) == 1, "answers with statements cost the same number of calls"
    for score in ran.scores:
        share = wanted[score.test_id]
        if share is not None:
            assert score.score == pytest.approx(float(share), abs=1e-6)
        assert not score.failed
        assert score.key == (score.test_id, *part)
        assert score.model == MODEL
        assert score.framework_version == VERSIONS[part.framework]
        assert score.embedding_model == (EMBEDDING_MODEL if part in RAGAS_RELEVANCY else None)
        assert score.wall_seconds > 0
        assert score.cpu_seconds is not None


def test_what_gives_no_score_is_not_scored_and_no_error() -> None:
    bare = next(test for test in TESTS if shares(FAITHFULNESS[0])[test.id] is None)
    for part in FAITHFULNESS[:2]:
        score = run([part], [bare]).only
        assert (score.score, score.not_scored, score.failed) == (None, True, False)
        assert score.calls == 1


def test_the_frameworks_own_reasoning_is_kept() -> None:
    share = shares(FAITHFULNESS[0])
    test = next(test for test in TESTS if share[test.id] not in (None, 0, 1))
    ragas, deepeval = FAITHFULNESS[0], FAITHFULNESS[2]
    lines = (run([ragas], [test]).only.reason or "").splitlines()
    (label,) = labels([test])
    assert label.statements is not None
    assert [line.partition(":")[0] for line in lines] == sorted(
        "supported" if one.faithful else "not supported" for one in label.statements
    )
    assert lines[0].startswith("not supported: ")
    asked = run([RELEVANCY[0]], [test]).only.reason
    assert asked is not None
    assert asked.count("asks: ") == 3
    said = run([deepeval], [test]).only.reason
    assert said is not None
    assert said.startswith("As the labels say: ")


def test_refused_questions_are_told_as_noncommittal() -> None:
    bare = next(test for test in TESTS if shares(RELEVANCY[0])[test.id] is None)
    score = run([RELEVANCY[0]], [bare]).only
    assert score.score == 0
    assert score.reason is not None
    assert score.reason.startswith("noncommittal, asks: ")


@pytest.mark.parametrize("part", EVERY, ids=str)
def test_a_reply_that_was_cut_off_is_told_as_that(part: Part) -> None:
    score = run([part], TESTS[:1], faults=CutOff(0.3)).only
    assert (score.score, score.not_scored) == (None, False)
    assert score.error_kind == "cut_off"
    assert score.calls >= 1


@pytest.mark.parametrize("part", EVERY, ids=str)
def test_replies_that_are_no_json_are_unreadable_and_paid_for(part: Part) -> None:
    ran = run([part], TESTS[:1], replies="As for the statements: ]}{ three, I would say {{{")
    assert ran.only.error_kind == "unreadable"
    assert ran.only.error
    assert "\n" not in ran.only.error
    assert ran.only.calls == ran.server.calls > 0


@pytest.mark.parametrize("part", EVERY, ids=str)
def test_a_prompt_that_the_filter_refused_is_told_as_that(part: Part) -> None:
    score = run([part], TESTS[:1], faults=ContentFilter("prompt")).only
    assert (score.error_kind, score.calls, score.usage) == ("content_filter", 0, Usage())


@pytest.mark.parametrize("part", [part for part in EVERY if part.variant != "legacy"], ids=str)
def test_a_test_that_lacks_what_the_metric_needs_is_told_before_any_call(part: Part) -> None:
    ran = run([part], [made_test("silent", answer="")])
    assert ran.only.error_kind == "missing_input"
    assert ran.server.requests == ()


@pytest.mark.parametrize("part", EVERY, ids=str)
@pytest.mark.parametrize(
    ("fault", "kind"), [(HttpError.server_error(), "server_error"), (Dropped(), "connection")]
)
def test_trouble_that_stays_is_one_failed_score(part: Part, fault: Any, kind: str) -> None:
    first, second = TESTS[0], TESTS[3]
    # Their answers are in every first prompt of a metric about them.
    words = second.sample.actual_output.split("[")[0].strip()[:40]
    faults = When(lambda one: words in one.prompt.replace("\\n", "\n"), fault)
    ran = run([part], [first, second], faults=faults)
    scores = {score.test_id: score for score in ran.scores}
    assert scores[first.id].score is not None
    assert scores[second.id].error_kind == kind
    # Four attempts, and no more for the framework's own repetitions; DeepEval asks two at once.
    failed = Counter(one.prompt for one in ran.server.requests if one.status != 200)
    assert max(failed.values()) == 1 + QUICK.retries
    assert len(failed) <= 2


@pytest.mark.parametrize("part", EVERY, ids=str)
def test_a_bad_line_changes_no_score_and_counts_nothing_twice(part: Part) -> None:
    faults = RandomFaults(seed=5, rate_limited=0.15, server_error=0.05, dropped=0.05)
    ran = run([part], faults=faults)
    assert ran.error is None
    assert len(ran.scores) == len(TESTS)
    assert not any(score.failed for score in ran.scores)
    assert len(ran.server.requests) > ran.server.calls
    assert sum(score.calls for score in ran.scores) == ran.server.calls
    wanted = shares(part)
    for score in ran.scores:
        if (share := wanted[score.test_id]) is not None:
            assert score.score == pytest.approx(float(share), abs=1e-6)


@pytest.mark.parametrize("part", EVERY, ids=str)
def test_a_wrong_key_stops_before_anything_is_paid(part: Part) -> None:
    ran = run([part], api_key="sk-another")
    assert ran.error is not None
    assert "refused the key (401: " in str(ran.error)
    assert KEY not in str(ran.error)
    assert (ran.scores, ran.server.calls) == ([], 0)
    assert len(ran.server.requests) <= 2  # DeepEval asks two things at once


@pytest.mark.parametrize("part", RAGAS_RELEVANCY, ids=str)
def test_a_server_without_that_embedding_model_costs_one_test(part: Part) -> None:
    faithfulness = Part(part.framework, "faithfulness", part.variant)
    ran = run([faithfulness, part], models=[MODEL])
    assert "gives no embeddings with the model 'text-embedding-3-small'" in str(ran.error)
    # The first test of the other metric came before, and is kept.
    assert [score.metric for score in ran.scores] == ["faithfulness"]
    assert ran.server.calls == ran.only.calls + (3 if part.variant == "collections" else 1)


def test_what_is_done_is_not_asked_again() -> None:
    part = FAITHFULNESS[2]
    done: list[Key] = [(test.id, *part) for test in TESTS[:12]]
    ran = run([part], done=done)
    assert [score.test_id for score in sorted(ran.scores, key=lambda one: one.test_id)] == sorted(
        test.id for test in TESTS[12:]
    )
    everything: list[Key] = [(test.id, *part) for test in TESTS]
    assert run([part], done=everything).server.requests == ()


@pytest.mark.parametrize("part", [EVERY[0], FAITHFULNESS[2]], ids=str)
def test_no_more_calls_are_in_flight_than_allowed(part: Part) -> None:
    assert run([part], concurrency=3, latency=0.01).server.max_in_flight <= 3


def test_a_row_that_cannot_be_kept_stops_the_run() -> None:
    def full(score: NativeScore) -> None:
        raise ConfigurationError("The disk is full.")

    ran = run([FAITHFULNESS[0]], on_score=full)
    assert str(ran.error) == "The disk is full."
    assert len(ran.scores) == 1
    assert ran.server.calls == ran.only.calls


def test_tests_under_way_do_not_change_each_others_requests() -> None:
    legacy = [part for part in EVERY if part.variant == "legacy"]
    for part in legacy:
        bodies = [one.body for one in run([part]).served("/chat/completions")]
        choices = 1 if part.metric == "faithfulness" else 3
        assert {body.get("n") or 1 for body in bodies} == {choices}
        assert len({body.get("temperature") for body in bodies}) == 1


@pytest.mark.parametrize("part", EVERY, ids=str)
def test_the_longest_reply_can_be_told(part: Part) -> None:
    def limits(ran: Ran) -> set[int | None]:
        bodies = [one.body for one in ran.served("/chat/completions")]
        return {body.get("max_tokens") or body.get("max_completion_tokens") for body in bodies}

    own = 1024 if part.variant == "collections" else None
    assert limits(run([part], TESTS[1:2])) == {own}
    assert limits(run([part], TESTS[1:2], access={"max_tokens": 4000})) == {4000}


def test_nothing_is_printed_and_no_file_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    run(EVERY, TESTS[:2])
    assert capsys.readouterr().out == ""
    assert list(folder.iterdir()) == []
