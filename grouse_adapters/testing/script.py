"""What a fake model answers: told grades become the reply that a judge model would write."""

from __future__ import annotations

import inspect
import json
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from grouse_adapters.core.chat import ChatReply
from grouse_adapters.core.errors import ConfigurationError, InputError
from grouse_adapters.core.metrics import (
    CRITERIA,
    JUDGED_METRICS,
    METRICS,
    JsonSchema,
    Metric,
    MetricName,
)
from grouse_adapters.testing.request import KeyFinder, ScriptedRequest, without_unknown_keys

Reply = str | Mapping[str, Any] | ChatReply | BaseException
"""One answer: text, an object (sent as JSON), a whole ``ChatReply``, or an error to raise."""

ReplyFunction = Callable[[str, JsonSchema | None], Reply | Awaitable[Reply]]
"""``(prompt, schema) -> reply``; may be async."""

Replies = str | ChatReply | BaseException | Mapping[str, Reply] | Sequence[Reply] | ReplyFunction
"""What a fake model answers.

- text, a ``ChatReply`` or an exception: the same to every call;
- a list: one reply per call, in order;
- a mapping: the reply under the key that occurs in the prompt (as ``Script`` looks for keys);
- a function ``(prompt, schema)``; a ``Script`` is one.
"""

Grades = Mapping[str, int | None] | Mapping[MetricName, int | None]
"""Told grades of one sample in each metric's own unit; None or left out: not applicable."""

_BEST: Final = object()
_SENTENCE: Final = "A sentence of the answer."


class Script:
    """Told grades, as a function ``(prompt, schema) -> reply`` that both fakes take.

    Args:
        grades: per key, the grades of the samples whose prompts hold that key; or a function of
            the request that gives the grades (None: no grades for it). A key is a piece of the
            sample, best the actual answer: every prompt shows it, whereas faithfulness shows no
            question. Line breaks, runs of spaces and a ``| `` in front of a quoted line do not
            matter. When several keys occur, the one that ends last in the prompt counts (the
            answer to judge is shown last), and of those the longest.
        default: grades where no key occurs, and of metrics that the found grades leave out.
        otherwise: answer to prompts that ask for no metric, e.g. those of a RAG pipeline that
            talks to the same server; a reply or a function ``(prompt, schema)``.
        justification: text of every justification.

    Raises:
        ConfigurationError: a metric is unknown or derived, or a grade is off its scale.
    """

    def __init__(
        self,
        grades: Mapping[str, Grades] | Callable[[ScriptedRequest], Grades | None] | None = None,
        *,
        default: Grades | None = None,
        otherwise: Replies | None = None,
        justification: str = "Told by the script.",
    ) -> None:
        self._grades_for = grades if callable(grades) else None
        self._by_key: dict[str, dict[str, int | None]] = {}
        if grades is not None and not callable(grades):
            self._by_key = {key: _checked(told) for key, told in grades.items()}
        self._keys = KeyFinder(self._by_key)
        self._default = None if default is None else _checked(default)
        self._otherwise = None if otherwise is None else ReplySource(otherwise)
        self._justification = justification

    @classmethod
    def from_file(cls, path: str | Path) -> Script:
        """A script from a JSON file: ``{"grades": {key: {metric: grade}}, "default": {...},
        "otherwise": "text", "justification": "text"}``, every part optional.

        Raises:
            InputError: the file cannot be read or is not of that form.
            ConfigurationError: as for the constructor.
        """
        try:
            told = json.loads(Path(path).read_text(encoding="utf-8-sig"))
        except OSError as error:
            raise InputError(f"The script {path} cannot be read: {error.strerror}.") from None
        except ValueError as error:
            raise InputError(f"The script {path} is not JSON: {error}.") from None
        parts = {"grades", "default", "otherwise", "justification"}
        if not isinstance(told, dict) or not set(told) <= parts:
            raise InputError(
                f"The script {path} must be an object whose keys are of: "
                f"{', '.join(sorted(parts))}."
            )
        grades = told.get("grades")
        if grades is not None and not isinstance(grades, dict):
            raise InputError(f"'grades' in the script {path} must map keys to grades.")
        return cls(
            grades,
            default=told.get("default"),
            otherwise=told.get("otherwise"),
            justification=str(told.get("justification", "Told by the script.")),
        )

    def grades(self, request: ScriptedRequest) -> dict[str, int | None]:
        """The told grades of the sample that the request shows.

        Raises:
            ConfigurationError: none were told.
        """
        if self._grades_for is not None:
            given = self._grades_for(request)
            found = None if given is None else _checked(given)
        else:
            key = self._keys.find(request.prompt)
            found = None if key is None else self._by_key[key]
        if found is None and self._default is None:
            raise ConfigurationError(
                f"The script has no grades for the prompt that ends {request.prompt[-80:]!r}: "
                "add a key that occurs in it, or a default."
            )
        return {**(self._default or {}), **(found or {})}

    async def __call__(self, prompt: str, schema: JsonSchema | None = None) -> Reply:
        """The reply with the told grades.

        Raises:
            ConfigurationError: the script says nothing about such a prompt.
        """
        request = ScriptedRequest.read(prompt, schema)
        if not request.metrics:
            if self._otherwise is None:
                raise ConfigurationError(
                    f"No metric is asked for in the prompt that ends {prompt[-80:]!r}: "
                    "tell the script what to answer with otherwise=..."
                )
            return await self._otherwise.reply(prompt, schema)
        return self.reply(request)

    def reply(self, request: ScriptedRequest) -> dict[str, Any]:
        """The reply to a judge's request, keys as its schema wants them.

        Raises:
            ConfigurationError: no grades were told for it.
        """
        told = self.grades(request)
        replies = {
            name: grades_reply(
                name,
                told.get(name),
                justification=self._justification,
                answers=request.answers,
                refuses=told.get("answer_relevancy") is None,
            )
            for name in request.metrics
        }
        reply = replies[request.metrics[0]] if len(request.metrics) == 1 else replies
        kept: dict[str, Any] = without_unknown_keys(reply, request.schema, request.schema or {})
        return kept


def grades_reply(
    metric: MetricName,
    second: int | None,
    *,
    first: Any = _BEST,
    justification: str = "Told by the script.",
    answers: int = 2,
    refuses: bool = True,
) -> dict[str, Any]:
    """A judge's whole reply about one metric: ``{"answer_1": {...}, "answer_2": {...}}``.

    Args:
        metric: one of the four judged metrics.
        second: grade of the answer to judge, in the metric's own unit; None: not applicable.
        first: grade of the expected answer; unless given the best one, or None where ``second``
            is None.
        justification: text of both justifications.
        answers: 1 when the prompt shows only the answer to judge, which then is ``answer_1``.
        refuses: whether the answer refuses, for usefulness (the others' grades say it).

    Raises:
        ConfigurationError: the metric is unknown or derived, or a grade is off its scale.
    """
    row = METRICS[_checked_name(metric)]
    if first is _BEST:
        first = None if second is None else row.scale.values[-1]
    graded = [second] if answers == 1 else [first, second]
    return {
        f"answer_{number}": _answer(row, _checked_grade(row, grade), justification, refuses)
        for number, grade in enumerate(graded, start=1)
    }


def _answer(metric: Metric, grade: int | None, justification: str, refuses: bool) -> dict[str, Any]:
    values: dict[str, Any] = {
        "answer_affirms_no_document_answers": (
            refuses or grade is not None if metric.name == "usefulness" else grade is None
        ),
        "answer_contains_related_information": grade is not None,
        "answer_only_asserts_no_document_answers": grade is None,
        "content_analysis_sentence_by_sentence": [] if grade is None else [_sentence(grade)],
    }
    by_role: dict[str, Any] = {"justification": justification, "grade": grade}
    return {
        field.name: by_role[field.role] if field.role in by_role else values[field.name]
        for field in metric.reply_fields
    }


def _sentence(grade: int) -> dict[str, Any]:
    # An unfaithful sentence here has a citation, the right one, that it does not keep to.
    return {"sentence": _SENTENCE, **dict.fromkeys(CRITERIA, True), CRITERIA[-1]: grade == 1}


def _checked(grades: Grades) -> dict[str, int | None]:
    if not isinstance(grades, Mapping):
        raise ConfigurationError(f"Grades must map metrics to numbers or null, not {grades!r}.")
    checked: dict[str, int | None] = {}
    for name, grade in grades.items():
        metric = METRICS[_checked_name(name)]
        checked[metric.name] = _checked_grade(metric, grade)
    return checked


def _checked_name(name: str) -> MetricName:
    metric = METRICS.get(name)  # type: ignore[call-overload]  # may be a user's spelling mistake
    if metric is None or not metric.judged:
        names = ", ".join(metric.name for metric in JUDGED_METRICS)
        raise ConfigurationError(f"A script grades {names}, not {name!r}.")
    checked: MetricName = metric.name
    return checked


def _checked_grade(metric: Metric, grade: int | None) -> int | None:
    if grade is None:
        return None
    if grade not in metric.scale.values:
        raise ConfigurationError(
            f"A grade for {metric.name} is {metric.scale} or null, not {grade!r}; to test odd "
            "replies answer with text of your own."
        )
    return int(grade)


class ReplySource:
    """Asks ``Replies`` for the answer to one call; safe to share between threads."""

    def __init__(self, replies: Replies) -> None:
        if isinstance(replies, Mapping) and {"answer_1", "answer_2"} & set(replies):
            raise ConfigurationError(
                "A mapping of replies has pieces of prompts as its keys: to answer every call "
                "with one object, give a function that returns it."
            )
        self._replies = replies
        self._keys = KeyFinder(replies if isinstance(replies, Mapping) else ())
        self._given = 0
        self._lock = threading.Lock()

    async def reply(self, prompt: str, schema: JsonSchema | None) -> Reply:
        """The next answer.

        Raises:
            ConfigurationError: a list of replies is used up, no key of a mapping occurs in the
                prompt, or the answer is no ``Reply``.
        """
        replies = self._replies
        answer: object
        if isinstance(replies, str | ChatReply | BaseException):
            answer = replies
        elif isinstance(replies, Mapping):
            answer = self._matching(replies, prompt)
        elif callable(replies):
            answer = replies(prompt, schema)
            if inspect.isawaitable(answer):
                answer = await answer
        else:
            answer = self._next(replies)
        if not isinstance(answer, str | Mapping | ChatReply | BaseException):
            raise ConfigurationError(
                f"A scripted reply must be text, a mapping, a ChatReply or an exception, "
                f"not {type(answer).__name__}."
            )
        return answer

    def _matching(self, replies: Mapping[str, Reply], prompt: str) -> Reply:
        key = self._keys.find(prompt)
        if key is None:
            raise ConfigurationError(
                f"No key of the script occurs in the prompt that ends {prompt[-80:]!r}: add one."
            )
        return replies[key]

    def _next(self, replies: Sequence[Reply]) -> Reply:
        with self._lock:
            if self._given >= len(replies):
                raise ConfigurationError(
                    f"The script has {len(replies)} replies and this is call {self._given + 1}: "
                    "give more replies, or a function."
                )
            self._given += 1
            return replies[self._given - 1]


def reply_text(reply: str | Mapping[str, Any] | ChatReply) -> str:
    """What the model writes: the text itself, or the object as JSON."""
    if isinstance(reply, ChatReply):
        return reply.text
    return reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)


def token_count(text: str) -> int:
    """A rough count, four characters a token, as the fakes report usage."""
    return -(-len(text) // 4)
