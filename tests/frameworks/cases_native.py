"""The native metrics as their documentation calls them, on unit tests with labels."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib.metadata import version
from importlib.resources import as_file, files
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from conftest import must_run
from native_oracle import EMBEDDING_MODEL, MODEL, NativeOracle

os.environ["DEEPEVAL_DISABLE_DOTENV"] = "1"

from openai import AsyncOpenAI, DefaultAsyncHttpxClient, OpenAI

from grouse_adapters.core.sample import Sample
from grouse_adapters.meta.scenarios import build_annotations, build_tests, load_scenario
from grouse_adapters.meta.unit_tests import UnitTest, read_unit_tests, unit_tests_from_rows
from grouse_adapters.native.annotations import AnnotatedStatement, Annotation
from grouse_adapters.native.rows import Framework, NativeMetric, NativeScore
from grouse_adapters.testing import Replies, ScriptedServer

DEV: Final = Path(__file__).parents[1] / "data" / "unit_tests_dev.jsonl"
_KEY: Final = "sk-native"
_AT_ONCE: Final = 8
_ROOM: Final = 100_000
"""Tokens of a reply, enough for hundreds of statements; RAGAS' own limit is 1,024."""

OLD_RAGAS: Final = find_spec("ragas") is not None and version("ragas").startswith("0.3")
OLD_DEEPEVAL: Final = find_spec("deepeval") is not None and version("deepeval").startswith("4.2")

Outcome = float | Exception | None
"""A score, what was raised, or None for RAGAS' NaN."""

Ask = Callable[[Sample], Awaitable[float | None]]
Client = Callable[[NativeMetric, str, DefaultAsyncHttpxClient], Ask]


def dev_tests() -> list[UnitTest]:
    """The development set: 16 tests of one set."""
    return read_unit_tests(DEV)


def labels(tests: Iterable[UnitTest]) -> list[Annotation]:
    """The annotations that stand on the rows of the tests."""
    return [
        Annotation.model_validate(
            {"test_id": test.id, "annotator": "row", "source": "by construction"}
            | dict(test.annotations)
        )
        for test in tests
    ]


def bundled(*names: str) -> tuple[list[UnitTest], list[Annotation]]:
    """Sets of the bundled suite with their annotations by construction; without names all."""
    tests: list[UnitTest] = []
    annotations: list[Annotation] = []
    with as_file(files("grouse_adapters") / "data" / "scenarios" / "test") as folder:
        for path in sorted(folder.glob("*.yaml")):
            if not names or path.stem in names:
                scenario = load_scenario(path)
                tests += build_tests(scenario)
                annotations += build_annotations(scenario)
    return tests, annotations


def labelled(test: UnitTest, *statements: tuple[str, bool, bool]) -> Annotation:
    """An annotation with these statements: text, whether relevant, whether faithful."""
    return Annotation(
        test_id=test.id,
        annotator="row",
        source="by construction",
        statements=tuple(
            AnnotatedStatement(text=text, relevant=relevant, faithful=faithful)
            for text, relevant, faithful in statements
        ),
    )


def made_test(
    test_id: str,
    *,
    answer: str = "The mill has two wheels [1]. It grinds rye [2].",
    question: str = "How does the mill work?",
    references: Sequence[str] = ("Two wheels drive the mill.", "It grinds rye."),
) -> UnitTest:
    """A unit test of these texts."""
    [test] = unit_tests_from_rows(
        [
            {
                "id": test_id,
                "input": question,
                "references": list(references),
                "expected_output": "Two wheels drive it [1].",
                "actual_output": answer,
                "conditions": {
                    "answer_relevancy_condition": "==5",
                    "completeness_condition": "==5",
                    "faithfulness_condition": "==1",
                    "usefulness_condition": "==None",
                },
                "metadata": {"test_type": "Highest marks 1", "set_id": test_id},
            }
        ]
    )
    return test


def serving(
    oracle: NativeOracle,
    *,
    replies: Replies | None = None,
    embed: Callable[[str], Sequence[float]] | None = None,
) -> AbstractContextManager[ScriptedServer]:
    """A server that answers as the oracle does, unless told otherwise."""
    return ScriptedServer(replies or oracle, embed=embed or oracle.embed, api_key=_KEY)


def outcomes(
    variant: str,
    metric: NativeMetric,
    tests: Sequence[UnitTest],
    server: ScriptedServer,
    *,
    client: Client | None = None,
) -> dict[str, Outcome]:
    """What one native metric makes of each test; ``client`` stands in for the variant's own."""
    framework = framework_of(variant)
    if find_spec(framework) is None:
        must_run(framework)

    free = asyncio.Semaphore(_AT_ONCE)

    async def one(ask: Ask, sample: Sample) -> Outcome:
        async with free:
            try:
                score = await ask(sample)
            except Exception as error:  # noqa: BLE001  # told, not swallowed
                return error
        return None if score is None or math.isnan(score) else float(score)

    async def all_of_them() -> list[Outcome]:
        # Closed before the loop ends: what the frameworks open themselves is closed too late.
        async with DefaultAsyncHttpxClient() as http:
            ask = (client or _client(variant))(metric, server.base_url, http)
            return await asyncio.gather(*(one(ask, test.sample) for test in tests))

    found = asyncio.run(all_of_them())
    return dict(zip([test.id for test in tests], found, strict=True))


def _client(variant: str) -> Client:
    return deepeval_with(model="local-llm") if variant == UNKNOWN_MODEL else VARIANTS[variant]


def framework_of(variant: str) -> Framework:
    """Whose metric a variant is."""
    return "ragas" if variant.startswith("ragas") else "deepeval"


def as_rows(variant: str, metric: NativeMetric, said: Mapping[str, Outcome]) -> list[NativeScore]:
    """The outcomes as a run keeps them."""
    return [
        NativeScore(
            test_id=test_id,
            framework=framework_of(variant),
            framework_version="installed",
            metric=metric,
            variant=variant,
            model=MODEL,
            score=score if isinstance(score, float) else None,
            not_scored=score is None,
            error=repr(score) if isinstance(score, Exception) else None,
        )
        for test_id, score in said.items()
    ]


def ragas_with(**settings: Any) -> Client:
    """RAGAS' collections with these settings of the model."""

    def client(metric: NativeMetric, base_url: str, http: DefaultAsyncHttpxClient) -> Ask:
        from ragas.embeddings.base import embedding_factory
        from ragas.llms import llm_factory
        from ragas.metrics.collections import AnswerRelevancy, Faithfulness

        openai = AsyncOpenAI(base_url=base_url, api_key=_KEY, max_retries=0, http_client=http)
        llm: Any = llm_factory(MODEL, client=openai, **settings)
        if metric == "faithfulness":
            faithfulness = Faithfulness(llm=llm)

            async def ask(sample: Sample) -> float | None:
                found = await faithfulness.ascore(
                    sample.input, sample.actual_output, list(sample.references)
                )
                return None if found.value is None else float(found.value)

            return ask
        # The old one embeds on a loop of its own, where this client cannot be used.
        embedder = OpenAI(base_url=base_url, api_key=_KEY, max_retries=0) if OLD_RAGAS else openai
        vectors: Any = embedding_factory("openai", model=EMBEDDING_MODEL, client=embedder)
        relevancy = AnswerRelevancy(llm=llm, embeddings=vectors)

        async def ask_relevancy(sample: Sample) -> float | None:
            found = await relevancy.ascore(sample.input, sample.actual_output)
            return None if found.value is None else float(found.value)

        return ask_relevancy

    return client


def _ragas_legacy(metric: NativeMetric, base_url: str, http: DefaultAsyncHttpxClient) -> Ask:
    from langchain_openai import ChatOpenAI, OpenAIEmbeddings
    from ragas.dataset_schema import SingleTurnSample
    from ragas.embeddings import LangchainEmbeddingsWrapper
    from ragas.llms import LangchainLLMWrapper
    from ragas.metrics import AnswerRelevancy, Faithfulness

    settings: dict[str, Any] = {"base_url": base_url, "api_key": _KEY, "max_retries": 0}
    llm = LangchainLLMWrapper(ChatOpenAI(model=MODEL, http_async_client=http, **settings))
    native: Any
    if metric == "faithfulness":
        native = Faithfulness(llm=llm)
    else:
        # Otherwise it fetches a tokenizer and sends numbers.
        vectors = OpenAIEmbeddings(
            model=EMBEDDING_MODEL, check_embedding_ctx_length=False, **settings
        )
        native = AnswerRelevancy(llm=llm, embeddings=LangchainEmbeddingsWrapper(vectors))

    async def ask(sample: Sample) -> float | None:
        row = SingleTurnSample(
            user_input=sample.input,
            response=sample.actual_output,
            retrieved_contexts=list(sample.references),
        )
        return float(await native.single_turn_ascore(row))

    return ask


def deepeval_with(**settings: Any) -> Client:
    """DeepEval's metrics with these settings; ``model`` names another model."""

    def client(metric: NativeMetric, base_url: str, http: DefaultAsyncHttpxClient) -> Ask:
        from deepeval.metrics import AnswerRelevancyMetric, FaithfulnessMetric
        from deepeval.models import OpenAIModel
        from deepeval.test_case import LLMTestCase

        given = dict(settings)
        model = OpenAIModel(
            given.pop("model", MODEL),
            api_key=_KEY,
            base_url=base_url,
            cost_per_input_token=0.0,
            cost_per_output_token=0.0,
            async_http_client=http,
        )
        kind: Any = FaithfulnessMetric if metric == "faithfulness" else AnswerRelevancyMetric

        async def ask(sample: Sample) -> float | None:
            case = LLMTestCase(
                input=sample.input,
                actual_output=sample.actual_output,
                retrieval_context=list(sample.references),
            )
            score: float | None = await kind(model=model, **given).a_measure(
                case, _show_indicator=False
            )
            return score

        return ask

    return client


VARIANTS: Final[dict[str, Client]] = {
    "ragas collections": ragas_with(max_tokens=_ROOM),
    "ragas legacy": _ragas_legacy,
    "deepeval with-reason": deepeval_with(include_reason=True),
    "deepeval without-reason": deepeval_with(include_reason=False),
}
"""Makes a variant of a framework's metric, which then scores one sample after the other."""

UNKNOWN_MODEL: Final = "deepeval, a model that it does not know"
"""One more way to use DeepEval: it then asks for no reply form and reads what comes."""
