"""The judge that the options describe, and the options themselves."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from grouse_adapters.cli.option_groups import takes
from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.core.judge import Judge
from grouse_adapters.core.llm_judge import LLMJudge, Strategy
from grouse_adapters.core.metrics import Citations
from grouse_adapters.core.openai_chat import OpenAIChat
from grouse_adapters.core.prices import Price
from grouse_adapters.core.resolve import resolve_judge

_MODEL = "Model"
_PROMPT = "Prompts"


def _complete_judges(incomplete: str) -> list[str]:
    return [name for name in ("lexical",) if name.startswith(incomplete)]


JudgeOption = Annotated[
    str | None,
    typer.Option(
        "--judge",
        metavar="lexical|MODEL",
        help="The judge: lexical, or a model's name. Default: GROUSE_JUDGE, else lexical.",
        autocompletion=_complete_judges,
    ),
]
BaseUrlOption = Annotated[
    str | None,
    typer.Option(
        "--base-url",
        metavar="URL",
        help="OpenAI-compatible server, up to /v1. Default: OPENAI_BASE_URL, else OpenAI.",
        rich_help_panel=_MODEL,
    ),
]
ApiKeyEnvOption = Annotated[
    str | None,
    typer.Option(
        "--api-key-env",
        metavar="NAME",
        help="Environment variable with the key. Default: OPENAI_API_KEY.",
        rich_help_panel=_MODEL,
    ),
]
TimeoutOption = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        help="Longest time for one call. Default: 120.",
        rich_help_panel=_MODEL,
    ),
]
MaxTokensOption = Annotated[
    int | None,
    typer.Option(
        "--max-tokens",
        metavar="N",
        help="Longest reply. Default: 2048; 16384 for reasoning models.",
        rich_help_panel=_MODEL,
    ),
]
PriceOption = Annotated[
    str | None,
    typer.Option(
        "--price",
        metavar="IN,OUT",
        help="US dollars per million input and output tokens. Default: a kept price table.",
        rich_help_panel=_MODEL,
    ),
]
ConcurrencyOption = Annotated[
    int | None,
    typer.Option(
        "--concurrency",
        metavar="N",
        min=1,
        help="Calls in flight at most. Default: 20.",
        rich_help_panel=_MODEL,
    ),
]
CacheOption = Annotated[
    bool | None,
    typer.Option(
        "--cache/--no-cache",
        help="Keep replies on disk (GROUSE_CACHE names the file). Default: yes.",
        rich_help_panel=_MODEL,
    ),
]
PromptsOption = Annotated[
    str | None,
    typer.Option(
        "--prompts",
        metavar="PACK",
        help="Prompt pack: its name, or its folder. Default: grouse.",
        rich_help_panel=_PROMPT,
    ),
]
StrategyOption = Annotated[
    Strategy | None,
    typer.Option(
        "--strategy",
        metavar="HOW",
        help="per-metric (default): one call per metric; single-call: one for all.",
        rich_help_panel=_PROMPT,
    ),
]
CitationsOption = Annotated[
    Citations,
    typer.Option(
        "--citations",
        metavar="HOW",
        show_default=False,
        help="required (default), or ignored: a statement is faithful when any reference "
        "supports it.",
        rich_help_panel=_PROMPT,
    ),
]
ExpectedAnswerOption = Annotated[
    bool | None,
    typer.Option(
        "--expected-answer/--no-expected-answer",
        help="Show the expected answer to the judge. Default: yes.",
        rich_help_panel=_PROMPT,
    ),
]
JustificationOption = Annotated[
    bool | None,
    typer.Option(
        "--justification/--no-justification",
        help="Ask for a justification with each grade. Default: yes.",
        rich_help_panel=_PROMPT,
    ),
]
ReasoningOption = Annotated[
    bool | None,
    typer.Option(
        "--reasoning/--no-reasoning",
        help="Ask for the checks that lead to the grade. Default: yes.",
        rich_help_panel=_PROMPT,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeOptions:
    """What the options say about the judge; None where an option was not given.

    A command that has them is declared with ``takes_judge``.
    """

    judge: JudgeOption = None
    base_url: BaseUrlOption = None
    api_key_env: ApiKeyEnvOption = None
    timeout: TimeoutOption = None
    max_tokens: MaxTokensOption = None
    price: PriceOption = None
    concurrency: ConcurrencyOption = None
    cache: CacheOption = None
    prompts: PromptsOption = None
    strategy: StrategyOption = None
    citations: CitationsOption = "required"
    expected_answer: ExpectedAnswerOption = None
    justification: JustificationOption = None
    reasoning: ReasoningOption = None


takes_judge = takes(JudgeOptions, "judge_options")
"""Gives a command the options of ``JudgeOptions``."""


@dataclass(frozen=True, slots=True)
class BuiltJudge:
    """A judge and what identifies it in a run's settings."""

    judge: Judge
    model: dict[str, Any]
    strategy: Strategy | None


_CHAT_OPTIONS = ("base_url", "api_key_env", "timeout", "max_tokens")
_PACK_OPTIONS = (
    "concurrency",
    "prompts",
    "strategy",
    "expected_answer",
    "justification",
    "reasoning",
)


def build_judge(options: JudgeOptions) -> BuiltJudge:
    """The judge that the options describe.

    Raises:
        ConfigurationError: options contradict each other, or the judge cannot be built.
    """
    name = options.judge or os.environ.get("GROUSE_JUDGE", "").strip()
    chat = _given(options, _CHAT_OPTIONS)
    pack = _given(options, _PACK_OPTIONS)
    if not name or name.lower() == "lexical":
        model_only = [*chat, *pack, *_given(options, ("price", "cache"))]
        if model_only:
            flags = ", ".join("--" + option.replace("_", "-") for option in model_only)
            raise ConfigurationError(
                f"The lexical judge has no use for {flags}: add --judge MODEL to ask a model."
            )
        judge = resolve_judge(name or None, citations=options.citations)
        return BuiltJudge(judge, model={}, strategy=None)
    if options.price is not None:
        chat["price"] = _price(options.price)
    model = OpenAIChat(name, **chat)
    llm = LLMJudge(
        model, citations=options.citations, cache=options.cache is not False, **_paths(pack)
    )
    return BuiltJudge(llm, dict(model.cache_key()), options.strategy or "per-metric")


def _given(options: JudgeOptions, names: Sequence[str]) -> dict[str, Any]:
    values = {name: getattr(options, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def _paths(pack: dict[str, Any]) -> dict[str, Any]:
    prompts = pack.get("prompts")
    looks_like_path = prompts is not None and (os.sep in prompts or Path(prompts).is_dir())
    return {**pack, "prompts": Path(prompts)} if prompts and looks_like_path else pack


def _price(text: str) -> Price:
    try:
        given, received = (float(part) for part in text.split(","))
    except ValueError:
        raise ConfigurationError(
            f"--price {text!r} is not of the form IN,OUT, e.g. 0.15,0.60."
        ) from None
    if not (0 <= given < math.inf and 0 <= received < math.inf):
        raise ConfigurationError(f"--price {text!r} is no price: give numbers from 0 on.")
    return Price(given, received)
