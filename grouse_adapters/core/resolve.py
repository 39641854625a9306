"""Which judge is meant: equal specifications give one judge per process."""

from __future__ import annotations

import os
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Final

from grouse_adapters.core.chat import ChatModel
from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.core.judge import Judge

JudgeSpec = Judge | ChatModel | str | None
"""A judge, a chat model, a model's name (or ``"lexical"``), or None for the default judge."""

_KEPT: Final = 32
_judges: OrderedDict[Hashable, tuple[Judge, Any]] = OrderedDict()
_lock = threading.Lock()
_warned = False


Adapt = Callable[[Any], ChatModel | None]
"""Makes a chat model of a framework's own model object; None when it is no such object."""


def resolve_judge(
    spec: JudgeSpec | object = None, *, adapt: Adapt | None = None, **settings: Any
) -> Judge:
    """The judge that ``spec`` means, the same one for the same ``spec`` and ``settings``.

    None means the judge named by ``GROUSE_JUDGE``, else the lexical judge, with one warning.

    Args:
        spec: a judge is given back as it is; a name, a chat model or a framework's model object
            gets a judge of its own.
        adapt: how a framework's door makes a chat model of that framework's model objects.
        settings: settings of ``LLMJudge`` (or ``LexicalJudge``), e.g. ``citations="ignored"``.

    Raises:
        ConfigurationError: the specification is of another kind, or a setting is wrong.
    """
    if isinstance(spec, Judge):
        if settings:
            raise ConfigurationError(
                "A finished judge takes no further settings: give them when it is built."
            )
        return spec
    if spec is None:
        spec = os.environ.get("GROUSE_JUDGE", "").strip() or _lexical_by_default()
    if isinstance(spec, str):
        return _one_per_key(
            ("name", spec, os.environ.get("OPENAI_BASE_URL"), _frozen(settings)),
            lambda: _named(spec, settings),
            keep=None,
        )
    key = ("model", id(spec), _frozen(settings))
    return _one_per_key(key, lambda: _of_model(spec, adapt, settings), keep=spec)


def _of_model(spec: object, adapt: Adapt | None, settings: dict[str, Any]) -> Judge:
    from grouse_adapters.core.llm_judge import LLMJudge

    chat = spec if isinstance(spec, ChatModel) else adapt(spec) if adapt else None
    if chat is None:
        raise ConfigurationError(
            "judge must be a judge, a chat model, a model's name or None, not "
            f"{type(spec).__name__}."
        )
    return LLMJudge(chat, **settings)


def _named(name: str, settings: dict[str, Any]) -> Judge:
    if name.lower() == "lexical":
        from grouse_adapters.lexical import LexicalJudge

        return LexicalJudge(**settings)
    from grouse_adapters.core.llm_judge import LLMJudge

    return LLMJudge(name, **settings)


def _lexical_by_default() -> str:
    global _warned
    with _lock:
        first, _warned = not _warned, True
    if first:
        warnings.warn(
            "No judge was named, so the embedded lexical judge is used: it reads structure and "
            "words, not meaning. Name a model with judge=... or in GROUSE_JUDGE.",
            UserWarning,
            stacklevel=3,
        )
    return "lexical"


def _one_per_key(key: Hashable, build: Callable[[], Judge], keep: Any) -> Judge:
    """``keep`` holds the model object, so that its id stays its own."""
    with _lock:
        found = _judges.get(key)
        if found is None or found[0].closed:
            found = _judges[key] = (build(), keep)
        _judges.move_to_end(key)
        while len(_judges) > _KEPT:
            _judges.popitem(last=False)
        return found[0]


def _frozen(settings: dict[str, Any]) -> Hashable:
    return tuple(
        (name, value if isinstance(value, Hashable) else id(value))
        for name, value in sorted(settings.items())
    )
