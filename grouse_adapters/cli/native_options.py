"""Options for the model that a framework's own metrics ask."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Annotated, Final

import typer

from grouse_adapters.cli.judge_options import (
    ApiKeyEnvOption,
    BaseUrlOption,
    JudgeOptions,
    TimeoutOption,
)
from grouse_adapters.cli.option_groups import takes
from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.core.openai_server import checked_address, find_key
from grouse_adapters.native.runners import EMBEDDING_MODEL, ModelAccess

CONCURRENCY: Final = 20
_MODEL: Final = "Model"

ModelOption = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help="The model that the metrics ask, as the server knows it.",
        rich_help_panel=_MODEL,
    ),
]
EmbeddingModelOption = Annotated[
    str,
    typer.Option(
        "--embedding-model",
        metavar="NAME",
        help=f"The model for embeddings, RAGAS only. Default: {EMBEDDING_MODEL}.",
        show_default=False,
        rich_help_panel=_MODEL,
    ),
]
MaxTokensOption = Annotated[
    int | None,
    typer.Option(
        "--max-tokens",
        metavar="N",
        min=1,
        help="Longest reply. Default: the framework's own.",
        rich_help_panel=_MODEL,
    ),
]
ConcurrencyOption = Annotated[
    int,
    typer.Option(
        "--concurrency",
        metavar="N",
        min=1,
        help=f"Tests under way, and calls in flight, at most. Default: {CONCURRENCY}.",
        show_default=False,
        rich_help_panel=_MODEL,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeModelOptions:
    """What the options say about the model; None where an option was not given."""

    model: ModelOption = None
    embedding_model: EmbeddingModelOption = EMBEDDING_MODEL
    base_url: BaseUrlOption = None
    api_key_env: ApiKeyEnvOption = None
    timeout: TimeoutOption = None
    max_tokens: MaxTokensOption = None
    concurrency: ConcurrencyOption = CONCURRENCY

    def access(self) -> ModelAccess:
        """The model and how to reach it.

        Raises:
            ConfigurationError: no model is named, there is no key, or an option makes no sense.
        """
        if not self.model or not self.model.strip():
            raise ConfigurationError(
                "Native metrics ask a model: name it with --model, as the server knows it."
            )
        if self.timeout is not None and not self.timeout > 0:
            raise ConfigurationError("--timeout must be greater than 0.")
        address = checked_address(self.base_url or os.environ.get("OPENAI_BASE_URL"))
        access = ModelAccess(
            model=self.model.strip(),
            embedding_model=self.embedding_model,
            base_url=address,
            key=find_key(None, self.api_key_env, needed=address is None),
            max_tokens=self.max_tokens,
        )
        return access if self.timeout is None else replace(access, timeout=self.timeout)

    def judge(self, name: str) -> JudgeOptions:
        """A judge on the same server; the lexical one needs none."""
        if name.strip().lower() == "lexical":
            return JudgeOptions(judge=name)
        return JudgeOptions(
            judge=name,
            base_url=self.base_url,
            api_key_env=self.api_key_env,
            timeout=self.timeout,
            concurrency=self.concurrency,
        )


takes_native_model = takes(NativeModelOptions, "model_options")
"""Gives a command the options of ``NativeModelOptions``."""
