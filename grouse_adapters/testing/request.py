"""What a judge's request asks for, as far as a fake model must know to answer it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from grouse_adapters.core.errors import ConfigurationError
from grouse_adapters.core.metrics import JUDGED_METRICS, JsonSchema, MetricName


@dataclass(frozen=True, slots=True)
class ScriptedRequest:
    """A prompt, and what a script sees in it.

    Attributes:
        prompt: the text of all messages.
        schema: JSON schema of the wanted reply, None when the caller sent none.
        metrics: the metrics that are asked for: one, or all four in a single call; empty when the
            prompt is not a judge's.
        answers: how many answers the prompt shows, 1 or 2; the last one is the one to judge.
    """

    prompt: str
    schema: JsonSchema | None = None
    metrics: tuple[MetricName, ...] = ()
    answers: int = 2

    @property
    def metric(self) -> MetricName | None:
        """The metric asked for; None when it is not exactly one."""
        return self.metrics[0] if len(self.metrics) == 1 else None

    @classmethod
    def read(cls, prompt: str, schema: JsonSchema | None = None) -> ScriptedRequest:
        """Finds out what is asked: from the schema, else from the reply keys in the prompt."""
        metrics, answers = _asked_by_schema(schema) if schema else ((), 2)
        if not metrics:
            metrics, answers = _asked_by_text(prompt)
        return cls(prompt=prompt, schema=schema, metrics=metrics, answers=answers)


def _asked_by_schema(schema: JsonSchema) -> tuple[tuple[MetricName, ...], int]:
    properties = _properties(schema, schema)
    answers = [properties[name] for name in ("answer_1", "answer_2") if name in properties]
    if answers:
        fields = _properties(answers[-1], schema)
        asked = [metric.name for metric in JUDGED_METRICS if metric.grade_key in fields]
        return tuple(asked[:1]), len(answers)
    asked = [
        metric.name
        for metric in JUDGED_METRICS
        if "answer_1" in _properties(properties.get(metric.name), schema)
    ]
    if not asked:
        return (), 2
    return tuple(asked), len(_properties(properties[asked[0]], schema))


_QUOTED_LINE: Final = re.compile(r"^[ \t]*\|[ \t]?", re.MULTILINE)
_QUOTED_LINES: Final = re.compile(r"^[ \t]*\|.*$", re.MULTILINE)
_REPLY_KEY: Final = re.compile(
    rf"[\"'`]({'|'.join(metric.grade_key for metric in JUDGED_METRICS)})[\"'`]"
)


def _asked_by_text(prompt: str) -> tuple[tuple[MetricName, ...], int]:
    instructions = _QUOTED_LINES.sub("", prompt)
    answers = 2 if "answer_2" in instructions else 1
    named = dict.fromkeys(match[1] for match in _REPLY_KEY.finditer(instructions))
    if "answer_1" not in instructions or not named:
        return (), answers
    if len(named) == len(JUDGED_METRICS):
        return tuple(metric.name for metric in JUDGED_METRICS), answers
    # The instructions come first: a key that only the sample mentions comes later.
    first = next(iter(named))
    return tuple(metric.name for metric in JUDGED_METRICS if metric.grade_key == first), answers


def _resolved(node: Any, root: JsonSchema) -> Any:
    """Follows one local ``$ref``, as pydantic writes them."""
    if isinstance(node, Mapping) and str(node.get("$ref", "")).startswith("#/$defs/"):
        return root.get("$defs", {}).get(node["$ref"].removeprefix("#/$defs/"))
    return node


def _properties(node: Any, root: JsonSchema) -> Mapping[str, Any]:
    found = _resolved(node, root)
    properties = found.get("properties") if isinstance(found, Mapping) else None
    return properties if isinstance(properties, Mapping) else {}


def without_unknown_keys(value: Any, node: Any, root: JsonSchema) -> Any:
    """``value`` without the keys that a schema does not know; whole where there is no schema."""
    node = _resolved(node, root)
    properties = _properties(node, root)
    if isinstance(value, dict) and properties:
        return {
            key: without_unknown_keys(item, properties[key], root)
            for key, item in value.items()
            if key in properties
        }
    if isinstance(value, list) and isinstance(node, Mapping):
        return [without_unknown_keys(item, node.get("items"), root) for item in value]
    return value


class KeyFinder:
    """Which of many keys a text holds, in time that hardly grows with the number of keys."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._keys = {_flat(key): key for key in keys}
        if "" in self._keys:
            raise ConfigurationError("A key of the script is empty: use default=... for the rest.")
        self._width = min((*map(len, self._keys), 24)) if self._keys else 0
        self._starts: dict[str, list[str]] = {}
        for flat in self._keys:
            self._starts.setdefault(flat[: self._width], []).append(flat)
        self._possible = self._pattern()

    def find(self, text: str) -> str | None:
        """The key that ends last in ``text``, of those the longest; None when none occurs."""
        if not self._keys:
            return None
        found = self._last(_flat(_QUOTED_LINE.sub("", text))) or self._last(_flat(text))
        return None if found is None else self._keys[found]

    def _last(self, text: str) -> str | None:
        best: tuple[int, int, str] | None = None
        width, starts = self._width, self._starts
        for possible in self._possible.finditer(text):
            at = possible.start()
            for key in starts.get(text[at : at + width], ()):
                if text.startswith(key, at):
                    found = (at + len(key), len(key), key)
                    best = found if best is None else max(best, found)
        return None if best is None else best[2]

    def _pattern(self) -> re.Pattern[str]:
        """Where a key may start, by its first characters: skims a text far faster than a loop."""
        first, *rest = [
            f"[{''.join(map(re.escape, sorted({start[place] for start in self._starts})))}]"
            for place in range(min(self._width, 4))
        ] or [r"(?!)"]
        return re.compile(f"{first}(?={''.join(rest)})")


def _flat(text: str) -> str:
    return " ".join(text.split())
