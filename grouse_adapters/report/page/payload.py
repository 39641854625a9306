"""The data inside a page: JSON that no parser of HTML can misread, in blocks read when needed.

A page holds two scripts of JSON per block of samples: short rows, which are read when the page
opens, and details, which are read when one of the block's samples is opened.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from grouse_adapters.core.grades import Failed, Grade, Graded, Judgement, NotApplicable
from grouse_adapters.core.metrics import METRIC_NAMES, METRICS
from grouse_adapters.core.sample import Sample
from grouse_adapters.report.page.sentences import marks

_ESCAPES: Final = str.maketrans(
    {character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029\ufeff"}
)
_BLOCK_SAMPLES: Final = 64
_BLOCK_CHARACTERS: Final = 200_000
_ROW_CHARACTERS: Final = 160

Row = list[Any]
Detail = dict[str, Any]


def script_json(value: object) -> str:
    """JSON to stand between ``<script type="application/json">`` and ``</script>``.

    Outside of strings JSON has none of the escaped characters, so escaping them everywhere keeps
    the meaning, and no tag, comment or line separator is left for HTML or scripts to see.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Half a surrogate pair, which a model can write and UTF-8 cannot hold.
    return text.translate(_ESCAPES).encode("utf-8", "replace").decode("utf-8")


@dataclass(frozen=True, slots=True)
class Block:
    """JSON of some samples: what lists show of them, and everything else."""

    rows: str
    details: str


class Texts:
    """Each text of a block once: the tests of a set share question and references."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self.characters = 0

    def number(self, text: str | None) -> int | None:
        """Where the text stands in ``all``; None for None."""
        if text is None:
            return None
        if text not in self._numbers:
            self._numbers[text] = len(self._numbers)
            self.characters += len(text)
        return self._numbers[text]

    def all(self) -> list[str]:
        """The texts in the order of their numbers."""
        return list(self._numbers)


class Blocks:
    """Collects rows and details until a block is full."""

    def __init__(self) -> None:
        self.texts = Texts()
        self._rows: list[Row] = []
        self._details: list[Detail] = []

    @property
    def is_full(self) -> bool:
        """Whether it is time to ``take`` the block; details stay quick to read."""
        return len(self._rows) >= _BLOCK_SAMPLES or self.texts.characters >= _BLOCK_CHARACTERS

    def add(self, row: Row, detail: Detail) -> None:
        """One sample; the detail's texts are numbers of ``texts``."""
        self._rows.append(row)
        self._details.append(detail)

    def take(self) -> Iterator[Block]:
        """The block, if it holds anything; the next one starts empty."""
        if self._rows:
            details = {"texts": self.texts.all(), "details": self._details}
            yield Block(script_json(self._rows), script_json(details))
        self.texts, self._rows, self._details = Texts(), [], []


def metric_facts() -> list[dict[str, Any]]:
    """The six metrics as the page shows them, in table order."""
    return [
        {
            "name": metric.name,
            "title": metric.title,
            "short": metric.short,
            "scale": str(metric.scale),
            "low": metric.scale.values[0],
            "top": metric.scale.values[-1],
            "better": metric.better_if,
        }
        for metric in (METRICS[name] for name in METRIC_NAMES)
    ]


def one_line(text: str) -> str:
    """The start of a text for a list."""
    plain = " ".join(text[: 4 * _ROW_CHARACTERS].split())
    return plain if len(plain) <= _ROW_CHARACTERS else f"{plain[: _ROW_CHARACTERS - 1]}…"


def codes(judgement: Judgement | None) -> str:
    """One character per metric: the grade, ``-`` not applicable, ``!`` failed, blank not asked."""
    grades: Mapping[Any, Grade] = {} if judgement is None else judgement.grades
    return "".join(_code(grades.get(name)) for name in METRIC_NAMES)


def _code(grade: Grade | None) -> str:
    if grade is None:
        return " "
    if isinstance(grade, Graded):
        return str(grade.value)
    return "-" if isinstance(grade, NotApplicable) else "!"


def sample_detail(sample: Sample, texts: Texts) -> Detail:
    """What the page shows of a sample; texts by number."""
    return {
        "question": texts.number(sample.input),
        "references": [texts.number(reference) for reference in sample.references],
        "expected": texts.number(sample.expected_output),
        "answer": texts.number(sample.actual_output),
        "metadata": named_values(sample.metadata.items(), texts),
    }


def named_values(items: Iterable[tuple[str, Any]], texts: Texts) -> list[list[int | None]]:
    """Names and values, both as texts: no number of the caller's loses a digit on the way."""
    return [[texts.number(str(name)), texts.number(_shown(value))] for name, value in items]


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str, indent=None)


def judgement_detail(judgement: Judgement | None, texts: Texts) -> Detail | None:
    """What the page shows of a judgement; texts by number."""
    if judgement is None:
        return None
    return {
        "grades": [_grade_detail(judgement.grades.get(name), texts) for name in METRIC_NAMES],
        "marks": [
            [*mark[:3], *(texts.number(text) for text in mark[3:])]
            for mark in marks(judgement.sample.actual_output, judgement.sentences)
        ],
        "facts": named_values(_facts(judgement), texts),
    }


def _grade_detail(grade: Grade | None, texts: Texts) -> Detail | None:
    if grade is None:
        return None
    if isinstance(grade, Failed):
        return {
            "kind": grade.kind,
            "cause": texts.number(grade.error_kind.replace("_", " ")),
            "why": texts.number(grade.error),
            "raw": texts.number(grade.raw_reply),
        }
    why = grade.justification if isinstance(grade, Graded) else grade.reason
    return {"kind": grade.kind, "why": texts.number(why.strip() or None)}


def _facts(judgement: Judgement) -> Iterator[tuple[str, str]]:
    yield "Judge", judgement.judge
    if judgement.llm_calls or judgement.cached_calls:
        calls = f"{judgement.llm_calls:,}"
        if judgement.cached_calls:
            calls += f", and {judgement.cached_calls:,} from the cache"
        yield "Calls", calls
        usage = judgement.usage
        yield "Tokens", f"{usage.input_tokens:,} in, {usage.output_tokens:,} out"
    if judgement.llm_calls:
        cost = judgement.cost
        yield "Cost", "price unknown" if cost is None else f"${cost:.4f}"
    if judgement.prompt_fingerprint is not None:
        yield "Fingerprint", judgement.prompt_fingerprint
