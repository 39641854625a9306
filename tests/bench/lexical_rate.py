"""Samples per second of the lexical judge, which works in one thread."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from grouse_adapters import LexicalJudge, Sample, read_samples

from .made_samples import REFERENCES, WORDS, make_samples
from .processes import ROOT

_FILES: Final = ("tests/data/unit_tests_dev.jsonl", "examples/samples.jsonl")
_MADE: Final = 200


@dataclass(frozen=True, slots=True)
class LexicalFigures:
    """One set of samples.

    Attributes:
        source: where they come from.
        samples: how many there are.
        words: words of all fields of a sample, on average.
        first: samples per second of the first pass, which meets every word for the first time.
        later: median samples per second of the passes after it.
    """

    source: str
    samples: int
    words: float
    first: float
    later: float


def time_lexical(*, passes: int) -> list[LexicalFigures]:
    """Judges each set ``1 + passes`` times, each set with a new judge."""
    sets = {name: list(read_samples(ROOT / name)) for name in _FILES}
    sets[f"made up: {REFERENCES} x {WORDS} words"] = list(make_samples(_MADE))
    figures = []
    for source, samples in sets.items():
        with LexicalJudge() as judge:
            first, *later = [_rate(judge, samples) for _ in range(1 + passes)]
        words = statistics.mean(_words(sample) for sample in samples)
        figures.append(LexicalFigures(source, len(samples), words, first, statistics.median(later)))
    return figures


def _rate(judge: LexicalJudge, samples: Sequence[Sample]) -> float:
    start = time.perf_counter()
    done = sum(1 for _ in judge.judge_many(samples))
    return done / (time.perf_counter() - start)


def _words(sample: Sample) -> int:
    texts = (*sample.references, sample.input, sample.expected_output or "", sample.actual_output)
    return sum(len(text.split()) for text in texts)
