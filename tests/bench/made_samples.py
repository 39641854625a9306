"""Samples of the size that RAG systems produce, made up on the spot and never twice the same."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Final

from grouse_adapters import Sample

REFERENCES: Final = 5
WORDS: Final = 100
"""Words of a reference."""

_WORDS: Final = [
    "harbour",
    "ferry",
    "timetable",
    "winter",
    "morning",
    "ticket",
    "island",
    "crossing",
    "luggage",
    "passenger",
    "captain",
    "storm",
    "delay",
    "refund",
    "office",
    "window",
    "bicycle",
    "weekend",
    "summer",
    "bridge",
    "coast",
    "lighthouse",
    "keeper",
    "anchor",
    "current",
    "tide",
    "cargo",
    "fuel",
    "engine",
    "repair",
    "crew",
    "shift",
    "safety",
    "drill",
    "jacket",
    "signal",
    "radio",
    "weather",
    "forecast",
    "wind",
    "north",
    "channel",
    "depth",
    "pilot",
    "quay",
    "mooring",
    "rope",
    "freight",
    "customs",
    "paper",
    "inspection",
    "quarter",
    "season",
    "reduced",
    "school",
    "group",
    "reserve",
    "deck",
    "cabin",
    "meal",
    "kitchen",
    "water",
    "tank",
]
_JOINTS: Final = [
    "and",
    "of",
    "the",
    "with",
    "for",
    "before",
    "after",
    "near",
    "under",
    "without",
    "between",
    "during",
]

_numbers = itertools.count(1)


def make_samples(
    count: int, *, references: int = REFERENCES, length: int = WORDS
) -> Iterator[Sample]:
    """``count`` new samples: references of ``length`` words, an expected and an actual answer.

    Every sample of a process is another one, so that no judge can answer from its memory; what a
    number gives is the same in every process.
    """
    for number in itertools.islice(_numbers, count):
        words = random.Random(number)
        passages = tuple(_passage(words, length) for _ in range(references))
        yield Sample(
            id=f"made-{number}",
            input=f"{_sentence(words, 12).rstrip('.')} on line {number}?",
            references=passages,
            expected_output=_answer(words, passages),
            actual_output=_answer(words, passages),
        )


def _passage(words: random.Random, length: int) -> str:
    sentences = []
    while length > 0:
        size = min(length, words.randint(9, 16))
        sentences.append(_sentence(words, size))
        length -= size
    return " ".join(sentences)


def _sentence(words: random.Random, size: int) -> str:
    chosen = [words.choice(_JOINTS if place % 3 == 2 else _WORDS) for place in range(size)]
    return f"{' '.join(chosen).capitalize()}."


def _answer(words: random.Random, passages: tuple[str, ...]) -> str:
    said = []
    for number in sorted(words.sample(range(1, len(passages) + 1), min(3, len(passages)))):
        sentence = words.choice(passages[number - 1].split(". "))
        said.append(f"{sentence.rstrip('.')} [{number}].")
    return " ".join(said)
