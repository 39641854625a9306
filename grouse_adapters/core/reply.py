"""From the text of a reply to grades: generous in reading, strict in judging. Pure functions.

How a reply is laid out does not matter much (fences, prose, thinking, wrappers, other quotes,
numbers as text are all read). What it says does: a value outside the scale, a grade that is only
there for the other answer, two different grades or a reply that was cut off is a ``Failed``.
Reply keys: arXiv 2409.06595, appendix with the prompts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal

from grouse_adapters.core.errors import ConfigurationError, ErrorKind
from grouse_adapters.core.grades import Failed, Grade, Graded, NotApplicable, SentenceCheck
from grouse_adapters.core.metrics import JUDGED_METRICS, Metric, MetricName, Scale
from grouse_adapters.core.reply_json import (
    BLANKS,
    MAX_REPLY,
    NOTHING,
    Piece,
    decode,
    find_json,
    is_open,
    repair,
    well_formed,
    without_thinking,
)
from grouse_adapters.core.reply_slots import (
    Slots,
    find_grades,
    find_justification,
    find_sentences,
    find_slots,
    is_about_another_metric,
    is_witnessed,
    written_value,
)

MAX_RAW_REPLY: Final = 20_000
"""Characters of a reply that ``Failed.raw_reply`` keeps; of a longer one, both ends and a note."""


@dataclass(frozen=True, slots=True)
class ReplyForm:
    """How the replies to a prompt pack look.

    Attributes:
        kind: ``json`` (``{"answer_1": ..., "answer_2": ...}``) or ``result``
            (``feedback ... [RESULT] n``, one answer, as Prometheus 2 writes it).
        results: for ``result``: per metric, what a written result stands for (None: not
            applicable); a result that is not listed is read as the grade itself.
    """

    kind: Literal["json", "result"] = "json"
    results: Mapping[MetricName, Mapping[str, int | None]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReadReply:
    """What one reply says about one metric of the actual answer."""

    grade: Grade
    sentences: tuple[SentenceCheck, ...] = ()


def read_reply(
    text: str,
    metric: Metric,
    *,
    answers: int,
    finish_reason: str | None = None,
    form: ReplyForm = ReplyForm(),
) -> ReadReply:
    """What the reply to a metric's own prompt says about the actual answer.

    No text makes this raise, and its work grows linearly with the text.

    Args:
        text: what the model wrote.
        metric: one of the judged metrics.
        answers: 2 when the prompt showed the expected answer first, else 1. With 2, only what is
            said about ``answer_2`` counts.
        finish_reason: why the model stopped, in the words of its server.
        form: the reply form of the prompt pack.

    Returns:
        ``Graded`` with a value on the metric's scale, ``NotApplicable`` for a null grade, or
        ``Failed`` with one of the kinds ``content_filter``, ``empty_reply``, ``cut_off``,
        ``unreadable``, ``missing_answer``, ``out_of_scale`` and the raw reply. The sentences are
        the faithfulness analysis, empty for the other metrics and for a failed grade.
    """
    source = _Source(text, finish_reason)
    if form.kind == "result":
        return _read_result(source, metric, form.results.get(metric.name, {}))
    return _read_json(source, metric, answers)


def read_single_call(
    text: str,
    *,
    answers: int,
    finish_reason: str | None = None,
    form: ReplyForm = ReplyForm(),
) -> dict[MetricName, ReadReply]:
    """What the reply to the all-metrics prompt says: one entry per judged metric, in table order.

    A metric that cannot be read fails alone. Arguments and outcomes are those of ``read_reply``.

    Raises:
        ConfigurationError: the form is ``result``, which carries one grade only.
    """
    if form.kind == "result":
        raise ConfigurationError(
            "A [RESULT] reply carries one grade: use the per-metric strategy with this prompt pack."
        )
    source = _Source(text, finish_reason)
    return {metric.name: _read_json(source, metric, answers) for metric in JUDGED_METRICS}


_CUT_OFF_REASONS: Final = frozenset({"length", "max_tokens", "max_output_tokens", "model_length"})
_FILTER_REASONS: Final = frozenset({"content_filter", "content_filtered", "safety", "guardrail"})

_MESSAGES: Final[dict[ErrorKind, str]] = {
    "content_filter": "The server's content filter stopped the reply about {metric}: "
    "judge this sample with another model or server.",
    "empty_reply": "The model replied with nothing about {metric}: "
    "try again, or choose another model.",
    "cut_off": "The reply ended before the grade of {metric} was complete: "
    "raise the model's limit of output tokens.",
    "unreadable": "No grade of {metric} can be read in the reply: "
    "choose a model that keeps to the reply form that the prompt asks for.",
    "missing_answer": "The reply gives no grade of {metric} for the answer to judge: "
    "choose a model that keeps to the reply form that the prompt asks for.",
}


@dataclass(frozen=True)
class _Source:
    """A reply, searched once for all metrics that are read from it."""

    text: str
    finish_reason: str | None

    @property
    def cut(self) -> bool:
        """Whether the server says that the model ran out of tokens."""
        return _plain_reason(self.finish_reason) in _CUT_OFF_REASONS

    @cached_property
    def problem(self) -> ErrorKind | None:
        """What makes the reply useless before it is searched."""
        if self.finish_reason and _plain_reason(self.finish_reason) in _FILTER_REASONS:
            return "content_filter"
        if not self.text.strip(BLANKS):
            return "cut_off" if self.cut else "empty_reply"
        return None

    @cached_property
    def _spoken(self) -> tuple[str, bool]:
        return without_thinking(self.text)

    @property
    def spoken(self) -> str:
        """The text without thinking."""
        return self._spoken[0]

    @property
    def ended_thinking(self) -> bool:
        """Whether the reply ended inside the model's thinking."""
        return self._spoken[1]

    @cached_property
    def pieces(self) -> list[Piece]:
        """The JSON in the reply, in order."""
        text = self.text.strip(BLANKS)
        if (fence := _FENCE.match(text)) and text.endswith("```"):
            text = text[fence.end() : -3]
        value = decode(text)
        if isinstance(value, str):  # JSON inside a JSON string
            value = decode(value)
        if isinstance(value, dict | list):
            return [Piece(0, len(self.text), value)]
        return find_json(self.searched)

    @cached_property
    def searched(self) -> str:
        """The text that ``pieces`` refer to when the reply is not JSON as a whole."""
        text = self.spoken
        if len(text) > MAX_REPLY:
            return ""
        if text.count("{{") > 1 and _DOUBLED_BRACES.match(text):
            return text.replace("{{", "{").replace("}}", "}")
        if _PREFILLED.match(text):  # the opening brace was given to the model, not written by it
            return "{" + text
        return text

    @cached_property
    def repaired(self) -> tuple[str, object]:
        """The damaged part of the text and what json-repair reads in it."""
        damaged = (p.start for p in self.pieces if p.damaged and self.mentions(p))
        start = next(damaged, None)
        if start is None:
            return "", NOTHING
        text = self.searched
        region = text[start : max(text.rfind("}"), text.rfind("]")) + 1]
        return region, repair(region)

    def mentions(self, piece: Piece) -> bool:
        """Whether the piece has a key of the reply, so that it was meant as (part of) one."""
        return _REPLY_KEY.search(self.searched, piece.start, piece.end) is not None

    def spills(self, index: int) -> bool:
        """Whether members of the reply follow a piece, which was then closed too early."""
        pieces = self.pieces
        start = pieces[index].end
        if start == len(self.text):
            return False
        end = pieces[index + 1].start if index + 1 < len(pieces) else len(self.text) + 1
        return _QUOTED_REPLY_KEY.search(self.searched, start, end) is not None

    def failed(self, kind: ErrorKind, metric: Metric, message: str | None = None) -> ReadReply:
        message = message or _MESSAGES[kind].format(metric=metric.title.lower())
        return ReadReply(Failed(error_kind=kind, error=message, raw_reply=_kept(self.text)))


_FENCE: Final = re.compile(r"```[\w-]{0,20}")
_DOUBLED_BRACES: Final = re.compile(r"[^{]*\{\{\s*[\"']")
_PREFILLED: Final = re.compile(r"\s*\"\w{1,80}\"\s*:")
_KEYS: Final = (
    r"(?:answer[\s_-]{0,3}[12]|answer[\s_-]{0,3}relevancy|completeness|usefulness|faithfulness)"
)
_REPLY_KEY: Final = re.compile(_KEYS + r"[\"'“”]?\s*[:=：]", re.IGNORECASE)
_QUOTED_REPLY_KEY: Final = re.compile(r"[\"'“]" + _KEYS + r"[\"'“”]\s*[:=：]", re.IGNORECASE)


def _read_json(source: _Source, metric: Metric, answers: int) -> ReadReply:
    if source.problem:
        return source.failed(source.problem, metric)
    outlines = False
    for index in range(len(source.pieces) - 1, -1, -1):
        piece = source.pieces[index]
        if piece.damaged:
            if source.mentions(piece):
                return _read_repaired(source, metric, answers)
            continue
        slots = find_slots(piece.value, metric, answers)
        if slots and not is_about_another_metric(slots, metric):
            earlier = source.pieces[:index]
            if slots.flat and any(p.damaged and source.mentions(p) for p in earlier):
                # An inner object of something broken: nothing shows which answer it is about.
                return _read_repaired(source, metric, answers)
            if source.spills(index):
                return source.failed("unreadable", metric)
            return _read_slots(source, metric, slots)
        if is_open(piece.value) and (source.cut or source.mentions(piece)):
            return source.failed("cut_off", metric)
        outlines = True
    if source.cut or source.ended_thinking or any(is_open(p.value) for p in source.pieces):
        return source.failed("cut_off", metric)
    if not outlines and not source.spoken.strip(BLANKS):
        return source.failed("empty_reply", metric)
    return source.failed("missing_answer" if outlines else "unreadable", metric)


def _read_repaired(source: _Source, metric: Metric, answers: int) -> ReadReply:
    region, value = source.repaired
    slots = find_slots(value, metric, answers)
    if slots and is_witnessed(region, value, metric):
        return _read_slots(source, metric, slots)
    return source.failed("cut_off" if source.cut else "unreadable", metric)


def _read_slots(source: _Source, metric: Metric, slots: Slots) -> ReadReply:
    if slots.open:
        return source.failed("cut_off", metric)
    grades = find_grades(slots, metric)
    if not grades:
        return source.failed("missing_answer", metric)
    found = grades[-1]
    values = {written_value(grade.written, metric.scale) for grade in grades}
    if len(values) > 1:
        return source.failed(
            "unreadable",
            metric,
            f"The reply gives two different grades of {metric.title.lower()}: "
            "judge this sample again, or choose another model.",
        )
    if isinstance(found.written, dict | list):
        return source.failed("unreadable", metric)
    grade = _grade(source, metric, found.written, find_justification(found, metric))
    analysed = metric.name == "faithfulness" and grade.kind != "failed"
    return ReadReply(grade, find_sentences(found) if analysed else ())


def _grade(source: _Source, metric: Metric, written: object, justification: str) -> Grade:
    value = written_value(written, metric.scale)
    if isinstance(value, int):
        return Graded(value=value, justification=justification)
    if value is None:
        fallback = f"{metric.title} applies only when {metric.applies_when}."
        return NotApplicable(reason=justification or fallback)
    return source.failed(
        "out_of_scale",
        metric,
        f"The grade of {metric.title.lower()} is {_shown(written)}, but its scale is "
        f"{metric.scale}: choose a model that keeps to the scale in the prompt.",
    ).grade


_RESULT: Final = re.compile(r"\[\s{0,3}result\s{0,3}\]", re.IGNORECASE)
_WRITTEN_RESULT: Final = re.compile(
    r"[\s*_:=(\[{\"'`<]*+"
    r"([-+]?\d[\d.,]{0,9}+(?:\s{0,3}(?:/|out of)\s{0,3}\d{1,3}+)?+"
    r"(?!\s{0,3}(?:[-–—/]|or|to)\s{0,3}\d)"  # "4 or 5" is no grade
    r"|not applicable|[^\W\d_][\w/]{0,30}+)",
    re.IGNORECASE,
)
_FEEDBACK_LABEL: Final = re.compile(r"[#*\s]{0,20}feedback[*\s]{0,20}:[*\s]{0,20}", re.IGNORECASE)


def _read_result(source: _Source, metric: Metric, results: Mapping[str, int | None]) -> ReadReply:
    if source.problem:
        return source.failed(source.problem, metric)
    text = source.spoken[-MAX_REPLY:]
    marker = max(_RESULT.finditer(text), key=re.Match.start, default=None)
    match = _WRITTEN_RESULT.match(text, marker.end()) if marker else None
    # Whole only when something follows: `4` may have been about to become `4.5`.
    if (source.cut and (match is None or match.end() == len(text))) or source.ended_thinking:
        return source.failed("cut_off", metric)
    if marker is None or match is None:
        return source.failed("unreadable", metric)
    label = _FEEDBACK_LABEL.match(text)
    feedback = well_formed(text[label.end() if label else 0 : marker.start()].strip(BLANKS + "*#"))
    return ReadReply(_grade(source, metric, _mapped(match[1], results), feedback))


def _mapped(written: str, results: Mapping[str, int | None]) -> object:
    written = written.strip(" .,")
    meanings = {key.strip().casefold(): value for key, value in results.items()}
    value = written_value(written, _RESULT_SCALE)
    for key in (written.casefold(), str(value)):
        if key in meanings:
            return meanings[key]
    return written


_RESULT_SCALE: Final = Scale(tuple(range(1000)))


def _plain_reason(reason: str | None) -> str:
    return (reason or "").strip().casefold().replace("-", "_")


def _shown(written: object) -> str:
    text = written if isinstance(written, str) else repr(written)
    text = " ".join(well_formed(text[:40]).split())
    return f"'{text}'" if len(text) < 30 else f"'{text[:30]}...'"


def _kept(text: str) -> str:
    text = well_formed(text)
    if len(text) <= MAX_RAW_REPLY:
        return text
    half = MAX_RAW_REPLY // 2
    left_out = len(text) - 2 * half
    return f"{text[:half]}\n[... {left_out} characters left out ...]\n{text[-half:]}"
