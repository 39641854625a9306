"""The six metrics inside RAGAS and DeepEval against those frameworks' own faithfulness and answer
relevancy: the same samples, the same server, in turns."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import io
import math
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any, Final

from rich.console import RenderableType
from rich.table import Table

from grouse_adapters import LLMJudge, OpenAIChat, Sample

from .clients import UnfairError
from .made_samples import make_samples
from .native_replies import NativeServer, native_server

_MODEL: Final = "gpt-4o-mini"  # DeepEval asks for structured replies from models it knows only
_KEY: Final = "bench-key"
_IN_FLIGHT: Final = 20  # samples
_WARM_UP: Final = 5  # samples
_OURS: Final = ("answer_relevancy", "completeness", "faithfulness")
"""The metrics that have a value for samples that are answered; the other three do not apply."""

Scores = list[float]
Run = Callable[[Sequence[Sample]], Scores]


@dataclass(frozen=True, slots=True)
class _Turn:
    wall: float
    cpu: float
    requests: int
    chat_calls: int
    tokens: int
    in_flight: int


def native_part(
    tell: Callable[[str], None], *, latency: float, samples: int, rounds: int
) -> RenderableType:
    """The table, or one line where the frameworks are not installed.

    Raises:
        UnfairError: a score is missing or no number, so the run did not do the work.
    """
    missing = [name for name in ("ragas", "deepeval") if find_spec(name) is None]
    if missing:
        return f"7. Native metrics: skipped, {' and '.join(missing)} not installed."
    turns: dict[str, list[_Turn]] = {name: [] for name in CLIENTS}
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        server = stack.enter_context(native_server(latency=latency))
        workers = {}
        for name in CLIENTS:
            # One process each: a framework's imports and leftovers are not the other's to carry.
            workers[name] = stack.enter_context(
                ProcessPoolExecutor(
                    1,
                    mp_context=multiprocessing.get_context("spawn"),
                    initializer=_settle,
                    initargs=(folder,),
                )
            )
            tell(f"native metrics, first scores: {name}")
            _turn(workers[name], server, name, _WARM_UP)
        for number in range(rounds):
            first = number % len(CLIENTS)
            for name in [*CLIENTS, *CLIENTS][first : first + len(CLIENTS)]:
                tell(f"native metrics, round {number + 1} of {rounds}: {name}")
                turns[name].append(_turn(workers[name], server, name, samples))
    return _table(turns, samples, latency)


def _turn(worker: ProcessPoolExecutor, server: NativeServer, name: str, count: int) -> _Turn:
    server.reset()
    server.tokens()
    wall, cpu, scores = worker.submit(_timed, name, server.base_url, count).result()
    wanted = count * CLIENTS[name][1]
    if len(scores) != wanted or not all(math.isfinite(score) for score in scores):
        raise UnfairError(f"{name} gave {len(scores)} of {wanted} scores: {scores[:8]}.")
    counted = server.stats()
    if set(counted["statuses"]) != {"200"}:
        raise UnfairError(f"{name} got answers with status {counted['statuses']}.")
    return _Turn(
        wall, cpu, counted["requests"], counted["calls"], server.tokens(), counted["max_in_flight"]
    )


# What follows runs in the client's own process.


def _settle(folder: str) -> None:
    # Before the frameworks are imported, which read it then. DeepEval writes where it stands.
    os.environ.update(
        RAGAS_DO_NOT_TRACK="true",
        DEEPEVAL_TELEMETRY_OPT_OUT="1",
        DEEPEVAL_DISABLE_DOTENV="1",
        HOME=folder,
        XDG_CACHE_HOME=folder,
    )
    os.chdir(folder)


def _timed(name: str, base_url: str, count: int) -> tuple[float, float, Scores]:
    run = _client(name, base_url)
    samples = list(make_samples(count))
    gc.collect()
    # Both frameworks print advice and progress in between.
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            scores = run(samples)
        except Exception as error:  # noqa: BLE001  # told again, nothing is swallowed
            # Not every error of a framework survives the way to the other process.
            raise UnfairError(f"{name} failed: {type(error).__name__}: {error}") from None
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return wall, cpu, scores


@cache
def _client(name: str, base_url: str) -> Run:
    return CLIENTS[name][0](base_url)


def _judge(base_url: str) -> LLMJudge:
    # Two calls of a sample can be under way at once, as with the native metrics of RAGAS.
    chat = OpenAIChat(_MODEL, base_url=base_url, api_key=_KEY)
    return LLMJudge(chat, concurrency=2 * _IN_FLIGHT)


def _ragas_ours(base_url: str) -> Run:
    from ragas import EvaluationDataset, RunConfig, evaluate
    from ragas.dataset_schema import EvaluationResult

    from grouse_adapters.ragas import evaluate_metrics

    metrics = evaluate_metrics(_judge(base_url))
    # RAGAS counts jobs, one per sample and metric.
    config = RunConfig(max_workers=_IN_FLIGHT * len(metrics))

    def run(samples: Sequence[Sample]) -> Scores:
        rows = [
            {
                "user_input": sample.input,
                "retrieved_contexts": list(sample.references),
                "reference": sample.expected_output,
                "response": sample.actual_output,
            }
            for sample in samples
        ]
        data = EvaluationDataset.from_list(rows)
        result = evaluate(data, list(metrics), run_config=config, show_progress=False)
        assert isinstance(result, EvaluationResult)
        return [row[f"grouse_{name}"] for row in result.scores for name in _OURS]

    return run


def _ragas_native(base_url: str) -> Run:
    from openai import AsyncOpenAI
    from ragas.embeddings.base import embedding_factory
    from ragas.llms import llm_factory
    from ragas.metrics.collections import AnswerRelevancy, Faithfulness

    client = AsyncOpenAI(base_url=base_url, api_key=_KEY)
    llm: Any = llm_factory(_MODEL, client=client)
    vectors: Any = embedding_factory("openai", model="text-embedding-3-small", client=client)
    faithfulness = Faithfulness(llm=llm)
    relevancy = AnswerRelevancy(llm=llm, embeddings=vectors)
    runner = asyncio.Runner()  # one loop for the client's life: connections belong to it

    async def score(samples: Sequence[Sample]) -> Scores:
        free = asyncio.Semaphore(_IN_FLIGHT)

        async def row(sample: Sample) -> Scores:
            asked, said = sample.input, sample.actual_output
            async with free:
                results = await asyncio.gather(
                    faithfulness.ascore(asked, said, list(sample.references)),
                    relevancy.ascore(asked, said),
                )
            return [float(result) for result in results]

        return [one for scores in await asyncio.gather(*map(row, samples)) for one in scores]

    return lambda samples: runner.run(score(samples))


def _deepeval_ours(base_url: str) -> Run:
    from grouse_adapters.deepeval import all_metrics

    return _deepeval(all_metrics(judge=_judge(base_url)))


def _deepeval_native_shared(base_url: str) -> Run:
    from openai import DefaultAsyncHttpxClient

    return _deepeval_native(base_url, async_http_client=DefaultAsyncHttpxClient())


def _deepeval_native(base_url: str, **settings: Any) -> Run:
    from deepeval.metrics import AnswerRelevancyMetric, FaithfulnessMetric
    from deepeval.models import OpenAIModel

    model = OpenAIModel(_MODEL, api_key=_KEY, base_url=base_url, **settings)
    return _deepeval([FaithfulnessMetric(model=model), AnswerRelevancyMetric(model=model)])


def _deepeval(metrics: list[Any]) -> Run:
    from deepeval.evaluate import evaluate
    from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig
    from deepeval.test_case import LLMTestCase

    def run(samples: Sequence[Sample]) -> Scores:
        cases = [
            LLMTestCase(
                input=sample.input,
                retrieval_context=list(sample.references),
                expected_output=sample.expected_output,
                actual_output=sample.actual_output,
            )
            for sample in samples
        ]
        result = evaluate(
            cases,
            metrics,
            async_config=AsyncConfig(max_concurrent=_IN_FLIGHT),
            display_config=DisplayConfig(show_indicator=False, print_results=False),
            cache_config=CacheConfig(write_cache=False),
        )
        told = [data.score for row in result.test_results for data in row.metrics_data or ()]
        return [score for score in told if score is not None]

    return run


CLIENTS: Final[dict[str, tuple[Callable[[str], Run], int]]] = {
    "RAGAS, our six": (_ragas_ours, len(_OURS)),
    "RAGAS, native two": (_ragas_native, 2),
    "DeepEval, our six": (_deepeval_ours, len(_OURS)),
    "DeepEval, native two": (_deepeval_native, 2),
    "DeepEval, native, one HTTP client": (_deepeval_native_shared, 2),
}
"""What makes each client, and how many scores it gives a sample."""


def _table(turns: dict[str, list[_Turn]], samples: int, latency: float) -> Table:
    table = Table(
        title=f"7. Inside the frameworks, per sample (server answers after {latency * 1000:g} ms)",
        title_justify="left",
        caption=f"{samples} samples a turn, {_IN_FLIGHT} in flight; medians of "
        f"{len(next(iter(turns.values())))} turns. Tokens: four characters each.",
        caption_justify="left",
    )
    table.add_column("")
    names = "CPU ms", "lowest-highest", "wall ms", "chat calls", "embeddings", "tokens"
    for column in (*names, "most in flight"):
        table.add_column(column, justify="right")
    for name, done in turns.items():
        cpu = [1000 * turn.cpu / samples for turn in done]
        wall = [1000 * turn.wall / samples for turn in done]
        chats = [turn.chat_calls / samples for turn in done]
        embeddings = [(turn.requests - turn.chat_calls) / samples for turn in done]
        table.add_row(
            name,
            f"{statistics.median(cpu):.1f}",
            f"{min(cpu):.1f}-{max(cpu):.1f}",
            f"{statistics.median(wall):.1f}",
            f"{statistics.median(chats):.2f}",
            f"{statistics.median(embeddings):.2f}",
            f"{statistics.median(turn.tokens / samples for turn in done):.0f}",
            str(max(turn.in_flight for turn in done)),
        )
    return table
