"""Where in a reply's JSON the judge speaks about the actual answer, and what it says there.

Layouts differ (wrappers, lists, other spellings of a key, metrics inside answers or answers inside
metrics), but one rule holds: with two answers, only what is said about the second one counts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from grouse_adapters.core.grades import SentenceCheck
from grouse_adapters.core.metrics import CRITERIA, JUDGED_METRICS, Metric, Scale
from grouse_adapters.core.reply_json import BLANKS, INVISIBLE, is_open, members, well_formed


@lru_cache(maxsize=2048)
def canonical(key: str) -> str:
    """``key`` without case, spaces, dashes, underscores: how keys are compared."""
    return "".join(c for c in unicodedata.normalize("NFKC", key).casefold() if c.isalnum())


MAX_KEY: Final = 80
_MAX_WRAPPERS: Final = 4
_ANSWER_1: Final = "answer1"
_ANSWER_2: Final = "answer2"
_ONLY_ANSWER: Final = (_ANSWER_1, "answer", _ANSWER_2)
_GRADE_WORDS: Final = ("grade", "score", "value", "rating")
_METRIC_KEYS: Final = frozenset(canonical(m.grade_key) for m in JUDGED_METRICS)
_ANALYSIS_KEYS: Final = frozenset(
    canonical(f.name) for m in JUDGED_METRICS for f in m.reply_fields if f.role == "analysis"
)


@dataclass(frozen=True, slots=True)
class Slots:
    """Where a reply speaks about the actual answer; more than one when keys repeat.

    Attributes:
        found: what stands there: an object, or the grade itself.
        flat: whether the object was taken without a key that says which answer it is about.
        of_metric: whether a slot stands directly under the metric's name, so that null is a grade.
    """

    found: tuple[object, ...] = ()
    flat: bool = False
    of_metric: bool = False

    def __bool__(self) -> bool:
        return bool(self.found)

    @property
    def open(self) -> bool:
        """Whether the text ended inside one of them."""
        return any(is_open(slot) for slot in self.found)


def members_under(node: object, *wanted: str) -> list[object]:
    """The values in ``node`` whose canonical key is wanted; none when it is not an object."""
    if not isinstance(node, dict):
        return []
    return [v for k, v in members(node) if len(k) <= MAX_KEY and canonical(k) in wanted]


def find_slots(value: object, metric: Metric, answers: int) -> Slots:
    """The slots closest to the surface; wrappers are looked through, other metrics are not."""
    grade_key = canonical(metric.grade_key)
    nodes, of_metric = [value], False
    for _ in range(_MAX_WRAPPERS):
        keyed = [slot for node in nodes for slot in _keyed_slots(node, grade_key, answers)]
        if keyed:
            return Slots(tuple(keyed), of_metric=of_metric)
        flat = [slot for node in nodes for slot in _flat_slots(node, grade_key, answers)]
        if flat:
            return Slots(tuple(flat), flat=True, of_metric=of_metric)
        named = _containers(v for node in nodes for v in members_under(node, grade_key))
        of_metric = bool(named)
        skipped = (_METRIC_KEYS | _ANALYSIS_KEYS | {_ANSWER_1}) if not named else frozenset()
        nodes = named or [child for node in nodes for child in _inside(node, skipped)]
    return Slots()


def _keyed_slots(node: object, grade_key: str, answers: int) -> list[object]:
    if isinstance(node, list):
        return [slot for item in node for slot in _keyed_slots_of(item, grade_key, answers)]
    return _keyed_slots_of(node, grade_key, answers)


def _keyed_slots_of(node: object, grade_key: str, answers: int) -> list[object]:
    if not isinstance(node, dict):
        return []
    if answers == 2:
        return members_under(node, _ANSWER_2)
    for key in _ONLY_ANSWER:
        values = members_under(node, key)
        # Next to a grade, text under such a key is the answer itself, quoted.
        if _containers(values) or (values and key != "answer" and not _graded(node, grade_key)):
            return values
    return []


def _flat_slots(node: object, grade_key: str, answers: int) -> list[object]:
    if isinstance(node, list):
        whole = len(node) == answers and all(isinstance(item, dict) for item in node)
        return [node[-1]] if whole and _graded(node[-1], grade_key) else []
    return [node] if answers == 1 and _graded(node, grade_key) else []


def _graded(node: object, grade_key: str) -> bool:
    values = members_under(node, grade_key)
    return len(_containers(values)) < len(values)


def _containers(values: Iterable[object]) -> list[object]:
    return [value for value in values if isinstance(value, dict | list)]


def _inside(node: object, skipped: frozenset[str]) -> list[object]:
    if isinstance(node, list):
        return _containers(node) if len(node) == 1 else []
    if not isinstance(node, dict):
        return []
    return _containers(
        [v for k, v in members(node) if len(k) > MAX_KEY or canonical(k) not in skipped]
    )


@dataclass(frozen=True, slots=True)
class Found:
    """A grade as written, and the objects around it, the closest first."""

    written: object
    holders: tuple[dict[str, object], ...]


def find_grades(slots: Slots, metric: Metric) -> list[Found]:
    """Every grade of ``metric`` in the slots: more than one when keys repeat."""
    return [found for slot in slots.found for found in _grades_in(slot, metric, slots.of_metric)]


def _grades_in(slot: object, metric: Metric, of_metric: bool) -> list[Found]:
    if isinstance(slot, list) and len(slot) == 1:
        slot = slot[0]
    if not isinstance(slot, dict | list):
        # `"answer_2": null` may as well mean that there is no such answer.
        empty = written_value(slot, metric.scale) is None
        return [] if empty and not of_metric else [Found(slot, ())]
    grade_key = canonical(metric.grade_key)
    level: list[tuple[tuple[dict[str, object], ...], bool]] = (
        [((slot,), of_metric)] if isinstance(slot, dict) else []
    )
    for _ in range(_MAX_WRAPPERS):
        found: list[Found] = []
        below: list[tuple[tuple[dict[str, object], ...], bool]] = []
        for holders, named in level:
            keys = (grade_key, *_GRADE_WORDS) if named else (grade_key,)
            for value in members_under(holders[0], *keys):
                if isinstance(value, dict):
                    below.append(((value, *holders), True))
                else:
                    found.append(Found(value, holders))
        if found:
            return found
        level = below or [
            ((child, *holders), False)
            for holders, _ in level
            for child in _inside(holders[0], _METRIC_KEYS | _ANALYSIS_KEYS)
            if isinstance(child, dict)
        ]
    return []


def is_about_another_metric(slots: Slots, metric: Metric) -> bool:
    """Whether the slots grade other metrics only, as in a reply with one object per metric."""
    others = _METRIC_KEYS - {canonical(metric.grade_key)}
    return not find_grades(slots, metric) and any(members_under(s, *others) for s in slots.found)


class _OffScale:
    """The type of ``OFF_SCALE``."""


OFF_SCALE: Final = _OffScale()
"""What stands in place of a grade that is none on the metric's scale."""

# An empty text or "NaN" is no null: a judge that said nothing has failed.
_NULLS: Final = frozenset({"null", "none", "n/a", "na", "n.a.", "not applicable", "nil"})
_BOOLEANS: Final = {"true": 1, "yes": 1, "false": 0, "no": 0}
_NUMBER: Final = re.compile(
    r"\+?(\d{1,3})(?:[.,]0{0,9})?(?:\s{0,3}(?:/|out of)\s{0,3}(\d{1,3})(?:[.,]0{0,9})?)?"
)
_MAX_WRITTEN: Final = 40


def written_value(written: object, scale: Scale) -> int | _OffScale | None:
    """A grade as the judge wrote it on the scale; None for null, ``OFF_SCALE`` for anything else.

    Booleans are grades of a 0-1 scale only. "4/5" counts when the scale ends at 5.
    """
    if isinstance(written, bool):
        return int(written) if scale.values == (0, 1) else OFF_SCALE
    if isinstance(written, str):
        return _text_value(written, scale)
    if written is None:
        return None
    if isinstance(written, float):
        if not written.is_integer():
            return OFF_SCALE
        written = int(written)
    return written if isinstance(written, int) and written in scale.values else OFF_SCALE


def _text_value(written: str, scale: Scale) -> int | _OffScale | None:
    if len(written) > _MAX_WRITTEN:
        return OFF_SCALE
    text = unicodedata.normalize("NFKC", written).strip(_AROUND).casefold()
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text] if scale.values == (0, 1) else OFF_SCALE
    number = _NUMBER.fullmatch(text)
    if number is None or (number[2] and int(number[2]) != scale.values[-1]):
        return OFF_SCALE
    value = int(number[1])
    return value if value in scale.values else OFF_SCALE


_AROUND: Final = " \t\r\n\"'`*" + INVISIBLE
_WITNESS: Final = (
    r"(?<![^\W_])(?<!_){key}[\"'“”]?\s*(?:[:：]|=>?)(?!\s*[\[{{])([^,;，；}}\]\n]{{0,80}})"
)


@lru_cache(maxsize=8)
def _witness(key: str) -> re.Pattern[str]:
    return re.compile(_WITNESS.format(key=key.replace("_", r"[\s_-]{0,3}")), re.IGNORECASE)


def is_witnessed(text: str, value: object, metric: Metric) -> bool:
    """Whether every grade of ``metric`` in a repaired value stands in ``text``, and no other.

    json-repair drops repeated keys, and where a value is missing or unreadable it makes one up.
    """
    stated = [
        written_value(match[1], metric.scale)
        for match in _witness(metric.grade_key).finditer(text)
        if match[1].strip(_AROUND)
    ]
    read = [written_value(w, metric.scale) for w in _all_grades(value, canonical(metric.grade_key))]
    return stated == read


def _all_grades(value: object, grade_key: str) -> list[object]:
    grades: list[object] = []
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            grades.extend(
                v for v in members_under(node, grade_key) if not isinstance(v, dict | list)
            )
            stack.extend(reversed(node.values()))
        elif isinstance(node, list):
            stack.extend(reversed(node))
    return grades


def find_justification(found: Found, metric: Metric) -> str:
    """What the judge says to explain a grade, "" when it says nothing."""
    keys = (canonical(f"{metric.grade_key}_justification"), "justification", "explanation")
    for holder in found.holders:
        for key in keys:
            for value in members_under(holder, key):
                if isinstance(value, str):
                    return well_formed(value.strip(BLANKS))
    return ""


_ANALYSIS: Final = canonical("content_analysis_sentence_by_sentence")
_CHECKS: Final = {
    canonical(criterion): name
    for criterion, name in zip(
        CRITERIA, ("has_citation", "citation_is_right", "is_supported"), strict=True
    )
}


def find_sentences(found: Found) -> tuple[SentenceCheck, ...]:
    """The faithfulness analysis next to a grade; what is odd in it is passed over."""
    for holder in found.holders:
        for analysis in members_under(holder, _ANALYSIS):
            items = list(analysis.values()) if isinstance(analysis, dict) else analysis
            if isinstance(items, list):
                return tuple(check for item in items if (check := _sentence(item)))
    return ()


def _sentence(item: object) -> SentenceCheck | None:
    if not isinstance(item, dict):
        return None
    said = {canonical(key): value for key, value in members(item) if len(key) <= MAX_KEY}
    text = said.get("sentence")
    if not isinstance(text, str) or not text.strip(BLANKS):
        return None
    checks: dict[str, bool | None] = {}
    for criterion, name in _CHECKS.items():
        value = written_value(said.get(criterion), _YES_NO)
        checks[name] = bool(value) if isinstance(value, int) else None
    return SentenceCheck(sentence=well_formed(text.strip(BLANKS)), **checks)


_YES_NO: Final = Scale((0, 1))
