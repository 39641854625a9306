"""Judging live query and chat engines, from LlamaIndex's instrumentation events."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from inspect import BoundArguments
from types import TracebackType
from typing import Any, Final, Self

from llama_index.core.base.response.schema import (
    RESPONSE_TYPE,
    AsyncStreamingResponse,
    PydanticResponse,
    StreamingResponse,
)
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.instrumentation.events.query import QueryEndEvent, QueryStartEvent
from llama_index.core.instrumentation.events.retrieval import RetrievalEndEvent
from llama_index.core.instrumentation.events.synthesis import (
    SynthesizeEndEvent,
    SynthesizeStartEvent,
)
from llama_index.core.llms import LLM
from llama_index.core.query_engine import CustomQueryEngine
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryType
from llama_index_instrumentation import get_dispatcher
from llama_index_instrumentation.dispatcher import Dispatcher, active_instrument_tags
from llama_index_instrumentation.events.span import SpanDropEvent
from llama_index_instrumentation.span import BaseSpan
from llama_index_instrumentation.span_handlers import BaseSpanHandler
from pydantic import PrivateAttr

from grouse_adapters.core.grades import Judgement
from grouse_adapters.core.live import LiveCounts, LiveJudging, Sink
from grouse_adapters.core.metrics import Citations
from grouse_adapters.core.resolve import JudgeSpec
from grouse_adapters.core.sample import Sample
from grouse_adapters.llama_index.models import judge_of
from grouse_adapters.llama_index.results import references_of

_log = logging.getLogger(__name__)

_KEPT: Final = 100
_STARTS: Final = (QueryStartEvent, SynthesizeStartEvent)
_ENDS: Final = (QueryEndEvent, SynthesizeEndEvent)


@dataclass(slots=True)
class _Root:
    """The outermost query or synthesis under way; everything it calls sees it."""

    span_id: str | None
    retrieved: list[NodeWithScore] = field(default_factory=list)
    synthesized: bool = False
    done: bool = False


class GrouseEventHandler(BaseEventHandler):
    """Judges the answers of live engines, in the background.

    One answer is judged per question: of an engine that asks others (sub-questions, routers) only
    the whole. Query engines and chat engines are understood, also while they stream: a stream is
    judged when its reader has come to its end. The engine neither waits nor notices: what goes
    wrong here is logged and counted.

    The expected answer and an id travel in instrumentation tags:
    ``with instrument_tags({"expected_output": "...", "id": "..."}): engine.query(...)``.

    Register it with ``get_dispatcher().add_event_handler(handler)``, with ``attach()``, or use it
    as a context manager.

    Args:
        judge: a judge, a LlamaIndex LLM, a model's name, or None for the default judge.
        citations: ``"required"`` or ``"ignored"``, as for the evaluators.
        metrics: names of some metrics; None: all six.
        sample_rate: share of the answers to judge, 0-1.
        max_pending: how many answers may wait or be in work; more are dropped and counted.
        sinks: who gets each judgement: ``JsonLinesSink``, or a function of a ``Judgement``.
        seed: makes the sampling repeatable.
        metadata_mode: which of a node's metadata the judge sees in front of its text.

    Raises:
        ConfigurationError: a setting is wrong, or the judge cannot be built.
    """

    _live: LiveJudging = PrivateAttr()
    _judgements: deque[Judgement] = PrivateAttr()
    _root: ContextVar[_Root | None] = PrivateAttr()
    _metadata_mode: MetadataMode = PrivateAttr()
    _spans: _CustomEngineSpans = PrivateAttr()
    _dispatcher: Dispatcher | None = PrivateAttr(default=None)
    _closed: bool = PrivateAttr(default=False)

    def __init__(
        self,
        judge: JudgeSpec | LLM = None,
        *,
        citations: Citations = "required",
        metrics: Iterable[str] | None = None,
        sample_rate: float = 1.0,
        max_pending: int = 1000,
        sinks: Iterable[Sink] = (),
        seed: int | None = None,
        metadata_mode: MetadataMode = MetadataMode.NONE,
    ) -> None:
        super().__init__()
        self._judgements = deque(maxlen=_KEPT)
        self._root = ContextVar("grouse_root", default=None)
        self._metadata_mode = metadata_mode
        self._spans = _CustomEngineSpans(self)
        self._live = LiveJudging(
            judge_of(judge, citations=citations),
            metrics=metrics,
            sample_rate=sample_rate,
            max_pending=max_pending,
            sinks=(self._keep, *sinks),
            seed=seed,
        )

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex knows it."""
        return "GrouseEventHandler"

    @property
    def judgements(self) -> tuple[Judgement, ...]:
        """The last hundred judgements, oldest first; a sink gets them all."""
        return tuple(self._judgements)

    @property
    def counts(self) -> LiveCounts:
        """What became of the answers so far."""
        return self._live.counts

    def attach(self, dispatcher: Dispatcher | None = None) -> Self:
        """Starts to listen; gives back the handler.

        Engines made of ``CustomQueryEngine`` send no events of their own: they are heard through
        a span handler that only this adds.

        Args:
            dispatcher: where to listen; None: to everything in this process.
        """
        if self._dispatcher is None:
            # What began before a detach may have ended unheard: nothing of it must stay.
            self._root = ContextVar("grouse_root", default=None)
            self._dispatcher = dispatcher or get_dispatcher()
            self._dispatcher.add_event_handler(self)
            self._dispatcher.add_span_handler(self._spans)
        return self

    def detach(self) -> None:
        """Stops listening; what was taken is still judged."""
        if self._dispatcher is not None:
            # New lists: the dispatcher may be going through the old ones in another thread.
            self._dispatcher.event_handlers = [
                handler for handler in self._dispatcher.event_handlers if handler is not self
            ]
            self._dispatcher.span_handlers = [
                handler for handler in self._dispatcher.span_handlers if handler is not self._spans
            ]
            self._dispatcher = None

    def flush(self, timeout: float | None = None) -> bool:
        """Waits until everything taken so far is judged; whether it was done in ``timeout`` s."""
        return self._live.flush(timeout)

    def close(self, timeout: float | None = 10.0) -> bool:
        """Stops listening for good, flushes and closes the sinks. The judge stays open."""
        self._closed = True
        self.detach()
        return self._live.close(timeout)

    def __enter__(self) -> Self:
        return self.attach()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close(timeout=None)

    def handle(self, event: BaseEvent, **kwargs: Any) -> None:
        """Takes note of an event, on the engine's own thread: quick, and raises nothing."""
        if self._closed:
            return
        try:
            self._take_note(event)
        except Exception:  # noqa: BLE001  # the dispatcher would swallow it unsaid
            _log.exception("An event of LlamaIndex could not be read for judging")

    def _keep(self, judgement: Judgement) -> None:
        self._judgements.append(judgement)

    def _take_note(self, event: BaseEvent) -> None:
        if isinstance(event, _STARTS):
            self._begin(event.span_id)
            return
        if not isinstance(event, (*_ENDS, RetrievalEndEvent, SpanDropEvent)):
            return
        root = self._root.get()
        if root is None or root.done:
            return
        if isinstance(event, RetrievalEndEvent):
            root.retrieved = event.nodes
        elif event.span_id != root.span_id:
            root.synthesized = root.synthesized or isinstance(event, SynthesizeEndEvent)
        else:
            root.done = True
            if isinstance(event, _ENDS):
                root.synthesized = root.synthesized or isinstance(event, SynthesizeEndEvent)
                self._take(root, event.query, event.response, event.tags)
            root.retrieved = []

    def _begin(self, span_id: str | None) -> None:
        root = self._root.get()
        if root is None or root.done:
            self._root.set(_Root(span_id))

    def _end_custom(self, span_id: str, query: Any, response: Any) -> None:
        root = self._root.get()
        if root is not None and not root.done and root.span_id == span_id:
            root.done = True
            self._take(root, query, response, active_instrument_tags.get())
            root.retrieved = []

    def _take(
        self, root: _Root, query: QueryType, response: RESPONSE_TYPE, tags: Mapping[str, Any]
    ) -> None:
        nodes = response.source_nodes
        if not nodes and not root.synthesized:
            # An engine that writes its own prompt returns no nodes: it used what it retrieved.
            nodes = root.retrieved
        offer = self._offer_for(root, query, nodes, dict(tags))
        streams = StreamingResponse | AsyncStreamingResponse
        if isinstance(response, streams) and response.response_txt is None:
            _tee(response, offer)
        else:
            offer(_text(response))

    def _offer_for(
        self, root: _Root, query: QueryType, nodes: list[NodeWithScore], tags: dict[str, Any]
    ) -> Callable[[str], None]:
        question = query if isinstance(query, str) else query.query_str

        def offer(answer: str) -> None:
            # Built by the offer, and so only for answers that are judged.
            self._live.offer(
                lambda: Sample(
                    input=question,
                    references=references_of(nodes, self._metadata_mode),
                    expected_output=_text_tag(tags, "expected_output"),
                    actual_output=answer,
                    id=_text_tag(tags, "id") or root.span_id,
                    metadata=_plain_tags(tags),
                )
            )

        return offer


class _CustomEngineSpans(BaseSpanHandler[BaseSpan]):
    """Hears of queries to engines that send no events of their own; keeps no span."""

    _handler: GrouseEventHandler = PrivateAttr()

    def __init__(self, handler: GrouseEventHandler) -> None:
        super().__init__()
        self._handler = handler

    @classmethod
    def class_name(cls) -> str:
        return "GrouseSpanHandler"

    def new_span(
        self, id_: str, bound_args: BoundArguments, instance: Any | None = None, *_: Any, **__: Any
    ) -> None:
        if _is_custom_query(id_, instance):
            self._handler._begin(id_)

    def prepare_to_exit_span(
        self,
        id_: str,
        bound_args: BoundArguments,
        instance: Any | None = None,
        result: Any | None = None,
        **kwargs: Any,
    ) -> None:
        if not _is_custom_query(id_, instance):
            return
        try:
            self._handler._end_custom(id_, next(iter(bound_args.arguments.values())), result)
        except Exception:  # noqa: BLE001  # the dispatcher would swallow it unsaid
            _log.exception("An answer of LlamaIndex could not be read for judging")

    def prepare_to_drop_span(
        self, id_: str, bound_args: BoundArguments, *_: Any, **__: Any
    ) -> None:
        """Nothing: the event of it has been seen."""


def _is_custom_query(span_id: str, instance: object) -> bool:
    return isinstance(instance, CustomQueryEngine) and span_id.startswith(
        (f"{type(instance).__name__}.query-", f"{type(instance).__name__}.aquery-")
    )


def _text(response: RESPONSE_TYPE) -> str:
    if isinstance(response, StreamingResponse | AsyncStreamingResponse):
        return response.response_txt or ""
    if isinstance(response, PydanticResponse):
        return str(response)
    return response.response or ""


def _tee(
    response: StreamingResponse | AsyncStreamingResponse, offer: Callable[[str], None]
) -> None:
    """Listens to a stream while its reader reads it; one left early is never offered."""
    if isinstance(response, StreamingResponse):
        response.response_gen = _listened(response.response_gen, offer)
    else:
        response.response_gen = _alistened(response.response_gen, offer)


def _listened(
    stream: Generator[str, None, None], offer: Callable[[str], None]
) -> Generator[str, None, None]:
    said: list[str] = []
    try:
        for token in stream:
            said.append(token)
            yield token
    finally:
        _close(stream)
    offer("".join(map(str, said)))


async def _alistened(
    stream: AsyncGenerator[str, None], offer: Callable[[str], None]
) -> AsyncGenerator[str, None]:
    said: list[str] = []
    try:
        async for token in stream:
            said.append(token)
            yield token
    finally:
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()
    offer("".join(map(str, said)))


def _close(stream: object) -> None:
    close = getattr(stream, "close", None)
    if callable(close):
        close()


def _text_tag(tags: Mapping[str, Any], name: str) -> str | None:
    value = tags.get(name)
    return None if value is None else str(value)


def _plain_tags(tags: Mapping[str, Any]) -> dict[str, Any]:
    """The other tags as a file can hold them."""
    plain = (str, int, float, bool, type(None))
    return {
        str(name): value if isinstance(value, plain) else str(value)
        for name, value in tags.items()
        if name not in ("expected_output", "id")
    }
