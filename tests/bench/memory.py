"""Whether memory stays flat over a long stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from .clients import UnfairError
from .processes import run_task

STREAMS: Final = {
    "LLMJudge.judge_many": "stream_llm",
    "evaluate --judge lexical": "evaluate_lexical",
}


@dataclass(frozen=True, slots=True)
class MemoryFigures:
    """Peak memory in MB per number of samples; each one was a process of its own."""

    stream: str
    peaks: dict[int, float]

    @property
    def growth(self) -> float:
        """Peak over the most samples in parts of the peak over the fewest."""
        return self.peaks[max(self.peaks)] / self.peaks[min(self.peaks)]


def measure_memory(counts: Sequence[int], *, tell: Callable[[str], None]) -> list[MemoryFigures]:
    """Raises ``UnfairError`` when a stream did not judge all its samples."""
    figures = []
    for stream, task in STREAMS.items():
        peaks = {}
        for count in counts:
            tell(f"{count} samples through {stream}")
            told = run_task(task, str(count))
            if told["judged"] != count:
                raise UnfairError(f"{stream} judged {told['judged']} of {count} samples.")
            peaks[count] = told["peak_mb"]
        figures.append(MemoryFigures(stream, peaks))
    return figures
