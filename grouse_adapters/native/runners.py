"""The native metrics that can be run: frameworks, variants, and what each runner offers."""

from __future__ import annotations

import importlib
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeVar

from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.core.openai_server import NO_KEY
from grouse_adapters.core.sample import Sample
from grouse_adapters.native.rows import NATIVE_METRICS, Framework, NativeMetric

if TYPE_CHECKING:
    from grouse_adapters.native.model_http import Account, ModelHttp

T = TypeVar("T", bound=str)

VARIANTS: Final[Mapping[Framework, tuple[str, ...]]] = MappingProxyType(
    {"ragas": ("collections", "legacy"), "deepeval": ("with-reason", "without-reason")}
)
"""The variants of each framework's metrics; the first is what its documentation shows."""

EMBEDDING_MODEL: Final = "text-embedding-3-small"
"""What RAGAS asks for embeddings unless told otherwise."""


class Part(NamedTuple):
    """One native metric in one variant: what is run, and reported, on its own."""

    framework: Framework
    metric: NativeMetric
    variant: str

    @property
    def embeds(self) -> bool:
        """Whether it asks for embeddings."""
        return self.framework == "ragas" and self.metric == "answer_relevancy"

    def __str__(self) -> str:
        return f"{self.framework} {self.metric} {self.variant}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAccess:
    """The model that the metrics ask, as a user of the framework would name it.

    Attributes:
        model: its name on the server.
        embedding_model: the model for embeddings.
        base_url: the server's address, up to ``/v1``; None: OpenAI.
        key: the API key.
        max_tokens: longest reply; None: what the framework asks for by itself.
        timeout: seconds for one attempt of a call.
    """

    model: str
    embedding_model: str = EMBEDDING_MODEL
    base_url: str | None = None
    key: str = field(default=NO_KEY, repr=False)
    max_tokens: int | None = None
    timeout: float = 120.0

    @property
    def place(self) -> str:
        """The server, as users know it."""
        return self.base_url or "OpenAI"


class Said(NamedTuple):
    """What a metric said.

    Attributes:
        score: 0-1 as a rule; None, or no number, when it gave none.
        reason: the framework's own reasoning.
    """

    score: float | None
    reason: str | None = None


class NativeRunner(Protocol):
    """One native metric, ready to run. Use it on one event loop."""

    async def score(self, sample: Sample, account: Account) -> Said:
        """Scores a sample; raises whatever the framework raises.

        Args:
            sample: question, references and answer; shown as the framework shows them.
            account: what the model replied by then, for reasoning that the framework keeps to
                itself.
        """
        ...


def parts(
    frameworks: Sequence[Framework],
    *,
    metrics: Sequence[str] = (),
    variants: Sequence[str] = (),
) -> tuple[Part, ...]:
    """What to run, framework by framework.

    Args:
        frameworks: whose metrics.
        metrics: by name; none: both.
        variants: by name, or ``all``; a framework none of whose variants is named runs its first.

    Raises:
        ConfigurationError: a metric is no native metric, or a variant is of none of them.
    """
    known = [name for framework in frameworks for name in VARIANTS[framework]]
    chosen_metrics = _chosen("metric", metrics, NATIVE_METRICS) or NATIVE_METRICS
    chosen = tuple(known) if "all" in variants else _chosen("variant", variants, known)
    return tuple(
        Part(framework, metric, variant)
        for framework in frameworks
        for metric in chosen_metrics
        for variant in [name for name in VARIANTS[framework] if name in chosen]
        or VARIANTS[framework][:1]
    )


def build_runner(part: Part, access: ModelAccess, http: ModelHttp) -> NativeRunner:
    """Imports the framework and builds its metric. Call ``settle`` before.

    Raises:
        MissingExtraError: the framework is not installed, or in a version that does not fit.
    """
    importlib.import_module(f"grouse_adapters.{part.framework}")  # its door checks the version
    if part.framework == "ragas":
        from grouse_adapters.native.ragas_runner import RagasRunner

        return RagasRunner.build(part, access, http)
    from grouse_adapters.native.deepeval_runner import DeepEvalRunner

    return DeepEvalRunner(part, access, http)


def framework_versions(frameworks: Sequence[Framework]) -> dict[Framework, str]:
    """The installed versions.

    Raises:
        MissingExtraError: one is not installed, or in a version that does not fit.
    """
    for framework in frameworks:
        importlib.import_module(f"grouse_adapters.{framework}")
    return {framework: version(framework) for framework in frameworks}


def settle(folder: Path) -> None:
    """Tells the frameworks how to behave here; they read it when they are imported.

    No telemetry, no ``.env`` files, no files where the user stands, no time limit on a test, since
    waiting out a rate limit takes what it takes. Calls are repeated in ``ModelHttp`` alone.

    Args:
        folder: where DeepEval may keep what it keeps.
    """
    os.environ.update(
        RAGAS_DO_NOT_TRACK="true",
        DEEPEVAL_TELEMETRY_OPT_OUT="1",
        DEEPEVAL_DISABLE_DOTENV="1",
        DEEPEVAL_DISABLE_LEGACY_KEYFILE="1",
        DEEPEVAL_CACHE_FOLDER=str(folder),
        DEEPEVAL_DISABLE_TIMEOUTS="1",
        DEEPEVAL_RETRY_MAX_ATTEMPTS="1",
    )
    # What they log about a failed call is in the row; without a handler Python would print it.
    for name in ("ragas", "instructor", "deepeval", "langchain_openai"):
        logging.getLogger(name).addHandler(logging.NullHandler())


def _chosen(what: str, given: Sequence[T] | Sequence[str], known: Sequence[T]) -> tuple[T, ...]:
    unknown = [name for name in given if name not in known]
    if unknown:
        raise ConfigurationError(
            f"{unknown[0]!r} is no {what} of a native metric here: use {', '.join(known)}."
        )
    return tuple(name for name in known if name in given)
