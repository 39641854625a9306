"""The parts of a scenario that hold statements or other text, each with its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from grouse_adapters.meta.scenarios.model import Scenario, Tag, Wording
from grouse_adapters.meta.scenarios.problems import Place, Problem

Check = Callable[[Scenario], Iterator[Problem]]
"""One look at a scenario."""

GAP: Final = "TODO"
"""A text that begins with this word is still to be written."""


@dataclass(frozen=True, slots=True)
class Part:
    """One wording and what its statements may cite."""

    place: Place
    wording: Wording
    tags: tuple[Tag, ...]

    def statements(self) -> Iterator[tuple[Place, str, str]]:
        """(place, id, text) of each statement."""
        for id, text in self.wording.statements.items():
            yield (*self.place, "statements", id), id, text


def parts(scenario: Scenario) -> Iterator[Part]:
    """All wordings, in the order of the format's description."""
    yield Part(("answer",), scenario.answer, ("relevant",))
    for number, wording in enumerate(scenario.paraphrases):
        yield Part(("paraphrases", number), wording, ("relevant",))
    yield Part(("related",), scenario.related, ("related",))
    for number, wording in enumerate(scenario.related.paraphrases):
        yield Part(("related", "paraphrases", number), wording, ("related",))
    yield Part(("off_topic",), scenario.off_topic, ("off-topic",))
    yield Part(("partial", "expected"), scenario.partial.expected, ("relevant",))
    yield Part(("partial", "actual"), scenario.partial.actual, ("relevant",))
    yield Part(("absurd", "expected"), scenario.absurd.expected, ("relevant", "absurd"))
    yield Part(("absurd", "actual"), scenario.absurd.actual, ("relevant", "absurd"))
    related = scenario.absurd_related
    yield Part(("absurd_related", "expected"), related.expected, ("related", "absurd"))
    yield Part(("absurd_related", "actual"), related.actual, ("related", "absurd"))
    yield Part(("superfluous",), scenario.superfluous, ("related",))


def spoiled(scenario: Scenario) -> Iterator[tuple[Place, str]]:
    """The texts of types 15 and 16."""
    if scenario.unsupported.text is not None:
        yield ("unsupported", "text"), scenario.unsupported.text
    yield ("distorted", "text"), scenario.distorted.text


def texts(scenario: Scenario) -> Iterator[tuple[Place, str]]:
    """Everything that an author writes out."""
    yield ("question",), scenario.question
    yield ("refusal",), scenario.refusal
    if scenario.domain is not None:
        yield ("domain",), scenario.domain
    for key, reference in scenario.references.items():
        yield ("references", key, "text"), reference.text
    for part in parts(scenario):
        if part.wording.opening is not None:
            yield (*part.place, "opening"), part.wording.opening
        for place, _, text in part.statements():
            yield place, text
    yield from spoiled(scenario)
