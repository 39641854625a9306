"""Statements told rightly and with one fact changed, against one passage each.

``pairs.jsonl`` was written for this: half a page of noisy passage, an expected statement, a
faithful paraphrase and a distorted one. The judge was developed on one part; of the other only
the counts below were ever looked at, so they are what to expect elsewhere.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from grouse_adapters.core.grades import Graded
from grouse_adapters.core.sample import Sample
from grouse_adapters.lexical.grader import LexicalGrader

PAIRS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parent / "pairs.jsonl").read_text(encoding="utf-8").splitlines()
]
AROUND = {
    "en": (
        "Ferry notes. The crossing takes an hour and a half; tickets are sold on deck. Mind the "
        "step.",
        "Choir rehearsal on Thursday; tenors wanted. Sheet music at the parish office.",
    ),
    "fr": (
        "Le bac traverse en une heure et demie ; billets à bord. Attention à la marche.",
        "Répétition de la chorale jeudi ; on cherche des ténors. Partitions au bureau.",
    ),
}
QUESTIONS = {"en": "What is known?", "fr": "Que sait-on ?"}


def judged(pair: dict[str, Any], wording: str) -> int:
    before, after = AROUND[pair["language"]]
    sample = Sample(
        input=QUESTIONS[pair["language"]],
        references=(before, pair["reference"], after),
        expected_output=f"{pair['expected'][:-1]} [2].",
        actual_output=f"{pair[wording][:-1]} [2].",
    )
    grades, _ = LexicalGrader().grade(sample, ("faithfulness",))
    grade = grades["faithfulness"]
    assert isinstance(grade, Graded)
    return grade.value


@pytest.mark.parametrize(
    ("part", "pairs", "faithful", "distorted"),
    [("developed", 53, 53, 39), ("held out", 20, 20, 12)],
)
def test_told_rightly_and_changed(part: str, pairs: int, faithful: int, distorted: int) -> None:
    chosen = [pair for pair in PAIRS if pair["part"] == part]
    found: Counter[str] = Counter()
    for pair in chosen:
        found["faithful"] += judged(pair, "faithful") == 1
        found["distorted"] += judged(pair, "distorted") == 0
    assert (len(chosen), dict(found)) == (pairs, {"faithful": faithful, "distorted": distorted})
