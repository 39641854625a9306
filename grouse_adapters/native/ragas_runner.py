"""RAGAS' own faithfulness and answer relevancy, with the model a user would give them.

``collections`` is what RAGAS 0.4 documents (``llm_factory`` and ``ascore``), ``legacy`` what
``evaluate()`` runs (a LangChain chat model in RAGAS' wrapper, ``single_turn_ascore``).
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from typing import Any

from openai import AsyncOpenAI, OpenAI

from grouse_adapters.core.reply_json import find_json
from grouse_adapters.core.sample import Sample
from grouse_adapters.native.model_http import Account, ModelHttp
from grouse_adapters.native.rows import NativeMetric
from grouse_adapters.native.runners import ModelAccess, NativeRunner, Part, Said


class RagasRunner(ABC):
    """What both variants share: RAGAS keeps its reasoning to itself, so it is read from replies."""

    def __init__(self, metric: NativeMetric) -> None:
        self._metric = metric

    @staticmethod
    def build(part: Part, access: ModelAccess, http: ModelHttp) -> NativeRunner:
        """The runner of the variant."""
        variant = _Legacy if part.variant == "legacy" else _Collections
        return variant(part.metric, access, http)

    async def score(self, sample: Sample, account: Account) -> Said:
        """See ``NativeRunner.score``."""
        score = await self._score(sample)
        said = _verdicts if self._metric == "faithfulness" else _questions
        return Said(score, "\n".join(said(account.replies)) or None)

    @abstractmethod
    async def _score(self, sample: Sample) -> float | None: ...


class _Collections(RagasRunner):
    def __init__(self, metric: NativeMetric, access: ModelAccess, http: ModelHttp) -> None:
        from ragas.embeddings.base import embedding_factory
        from ragas.llms import llm_factory
        from ragas.metrics.collections import AnswerRelevancy, Faithfulness

        super().__init__(metric)
        settings: dict[str, Any] = {
            "api_key": access.key,
            "base_url": access.base_url,
            "timeout": access.timeout,
            "max_retries": 0,
        }
        client = AsyncOpenAI(**settings, http_client=http.async_client)
        more: dict[str, Any] = {}
        if access.max_tokens is not None:
            more["max_tokens"] = access.max_tokens
        llm: Any = llm_factory(access.model, client=client, **more)
        self._native: Any
        if metric == "faithfulness":
            self._native = Faithfulness(llm=llm)
        else:
            # Up to 0.3 it asks an asynchronous client for embeddings on a second event loop.
            embedder = (
                OpenAI(**settings, http_client=http.blocking_client)
                if version("ragas").startswith("0.3")
                else client
            )
            vectors: Any = embedding_factory("openai", access.embedding_model, client=embedder)
            self._native = AnswerRelevancy(llm=llm, embeddings=vectors)

    async def _score(self, sample: Sample) -> float | None:
        shown: dict[str, Any] = {"user_input": sample.input, "response": sample.actual_output}
        if self._metric == "faithfulness":
            shown["retrieved_contexts"] = list(sample.references)
        result = await self._native.ascore(**shown)
        return None if result.value is None else float(result.value)


class _Legacy(RagasRunner):
    def __init__(self, metric: NativeMetric, access: ModelAccess, http: ModelHttp) -> None:
        super().__init__(metric)
        self._access = access
        self._http = http
        self._idle: list[Any] = []

    async def _score(self, sample: Sample) -> float | None:
        from ragas.dataset_schema import SingleTurnSample

        # RAGAS' wrapper sets the model object's temperature and n for the time of a call, so that
        # tests under way at once would change each other's: each has a metric of its own.
        native = self._idle.pop() if self._idle else self._built()
        try:
            score = await native.single_turn_ascore(
                SingleTurnSample(
                    user_input=sample.input,
                    response=sample.actual_output,
                    retrieved_contexts=list(sample.references),
                    reference=sample.expected_output,
                )
            )
        finally:
            self._idle.append(native)
        return None if score is None else float(score)

    def _built(self) -> Any:
        from langchain_openai import ChatOpenAI, OpenAIEmbeddings

        access = self._access
        shared: dict[str, Any] = {
            "api_key": access.key,
            "base_url": access.base_url,
            "timeout": access.timeout,
            "max_retries": 0,
            "http_client": self._http.blocking_client,
            "http_async_client": self._http.async_client,
        }
        chat = ChatOpenAI(model=access.model, max_tokens=access.max_tokens, **shared)  # type: ignore[call-arg]  # an alias that only pydantic knows
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that all of this is legacy is the point of it
            from ragas.embeddings import LangchainEmbeddingsWrapper
            from ragas.llms import LangchainLLMWrapper
            from ragas.metrics import AnswerRelevancy, Faithfulness
            from ragas.run_config import RunConfig

            once = RunConfig(max_retries=1, timeout=int(access.timeout))
            native: Any
            if self._metric == "faithfulness":
                native = Faithfulness(llm=LangchainLLMWrapper(chat, once))
            else:
                # As text and not as OpenAI's token numbers, which other servers do not know.
                vectors = OpenAIEmbeddings(
                    model=access.embedding_model, check_embedding_ctx_length=False, **shared
                )
                native = AnswerRelevancy(
                    llm=LangchainLLMWrapper(chat, once),
                    embeddings=LangchainEmbeddingsWrapper(vectors, once),
                )
            native.init(once)
        return native


def _objects(replies: Iterable[str]) -> Iterator[Mapping[Any, Any]]:
    for reply in replies:
        for piece in find_json(reply):
            if isinstance(piece.value, dict):
                yield piece.value


def _verdicts(replies: Iterable[str]) -> Iterator[str]:
    """The statements that RAGAS' model found, with its verdicts; those that fail first."""
    found: list[tuple[bool, str]] = []
    for reply in _objects(replies):
        statements = reply.get("statements")
        for one in statements if isinstance(statements, list) else ():
            if isinstance(one, dict) and "verdict" in one:
                follows = str(one["verdict"]).lower() not in ("0", "false")  # as RAGAS counts
                told = f"{one.get('statement', '')} ({one.get('reason', '')})"
                found.append((follows, f"{'supported' if follows else 'not supported'}: {told}"))
    for _, line in sorted(found, key=lambda one: one[0]):
        yield line


def _questions(replies: Iterable[str]) -> Iterator[str]:
    """The questions that RAGAS' model asked back, which are compared with the user's."""
    for reply in _objects(replies):
        if "question" in reply:
            evasive = reply.get("noncommittal") in (1, True, "1")
            yield f"{'noncommittal, asks' if evasive else 'asks'}: {reply['question']}"
