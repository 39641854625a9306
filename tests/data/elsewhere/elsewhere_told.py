"""The samples whose grades stand in the files of this folder, and the grades that were told.

Needs nothing but Python, so that the paper's own package can be driven from its own environment.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from reference_cases import JUDGED, reply, sample

HERE: Final = Path(__file__).resolve().parent
FAILED: Final = "failed"
GARBAGE: Final = "The second answer looks fine to me."

TOLD: Final[dict[int, tuple[Any, ...]]] = {
    # relevancy, completeness, usefulness, faithfulness; then the derived two
    501: (5, 5, None, 1, None, None),
    502: (4, 3, None, 0, None, None),
    503: (None, None, None, None, 1, 1),
    504: (None, None, 1, 1, 1, 1),
    505: (None, 1, None, None, 0, None),
    506: (2, None, None, 1, None, 0),
    507: (3, 5, None, FAILED, None, None),
    508: (FAILED, 4, FAILED, FAILED, FAILED, FAILED),
    509: (1, 2, None, 0, None, None),
    510: (None, None, 0, 1, 1, 1),
}
NATIVE: Final[dict[int, int]] = {501: 3, 502: 2, 506: 3, 507: 3, 508: 0, 509: 1}
"""How many of three statements the frameworks' own faithfulness finds supported; 3 where unsaid."""


def samples() -> list[dict[str, Any]]:
    """The samples, each with an id."""
    return [
        {
            "id": f"bridge-{number}",
            **sample(
                number,
                refuses=told[0] is None,
                answerable=told[1] is not None,
                adds=told[2] is not None,
            ),
        }
        for number, told in TOLD.items()
    ]


def bridge(text: str) -> int:
    """The number of the bridge that a prompt is about; 0 when it names none."""
    return int((re.findall(r"Bridge (\d+)", text) or [0])[-1])


def written(number: int, metric: str) -> str:
    """What the model writes when it is asked about a metric of a sample."""
    grade = TOLD[number][JUDGED.index(metric)]
    return GARBAGE if grade == FAILED else reply(metric, grade)


def write_samples() -> None:
    """Writes ``samples.jsonl``, which the files here are about, and ``told.json``, their grades."""
    lines = (json.dumps(row) + "\n" for row in samples())
    (HERE / "samples.jsonl").write_text("".join(lines), encoding="utf-8")
    told = (f' "bridge-{number}": {json.dumps(grades)}' for number, grades in TOLD.items())
    text = "{\n" + ",\n".join(told) + "\n}\n"
    (HERE / "told.json").write_text(text, encoding="utf-8")
