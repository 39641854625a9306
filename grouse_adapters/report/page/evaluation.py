"""The page of an evaluation: every sample with its answer, sentence by sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from grouse_adapters.core.grades import Judgement
from grouse_adapters.core.metrics import METRIC_NAMES
from grouse_adapters.report.aggregates import Report
from grouse_adapters.report.page.assemble import write_page
from grouse_adapters.report.page.figures import means, spending
from grouse_adapters.report.page.payload import (
    Block,
    Blocks,
    codes,
    judgement_detail,
    metric_facts,
    one_line,
    sample_detail,
)


def write_evaluation_page(
    path: str | Path, rows: Iterable[Judgement], report: Report, *, title: str
) -> None:
    """Writes the page of an evaluation as one HTML file that fetches nothing.

    Args:
        path: the file; replaced whole or not at all.
        rows: the judgements, read once, in the order in which they are listed.
        report: the figures of these judgements.
        title: e.g. the name of the file of samples.

    Raises:
        ConfigurationError: the file cannot be written. One sentence.
    """
    facts = [("Judge", report.judge), ("Samples", f"{report.samples:,}")]
    if report.failed_samples:
        facts.append(("With a failed grade", f"{report.failed_samples:,}"))
    write_page(
        path,
        "evaluation",
        title=title,
        head={"facts": facts + spending(report), "means": means(report)},
        data={
            "metrics": metric_facts(),
            "asked": [name in report.metrics for name in METRIC_NAMES],
        },
        blocks=_blocks(rows),
    )


def _blocks(rows: Iterable[Judgement]) -> Iterator[Block]:
    blocks = Blocks()
    for judgement in rows:
        detail = sample_detail(judgement.sample, blocks.texts)
        detail["runs"] = [judgement_detail(judgement, blocks.texts)]
        name = judgement.id or judgement.sample.id or ""
        blocks.add([name, one_line(judgement.sample.input), codes(judgement)], detail)
        if blocks.is_full:
            yield from blocks.take()
    yield from blocks.take()
