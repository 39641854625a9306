"""The matrices of a meta-evaluation as a picture (arXiv 2409.06595, figure 2)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from grouse_adapters.core.errors import ConfigurationError, MissingExtraError
from grouse_adapters.core.metrics import METRIC_NAMES
from grouse_adapters.meta.conditions import Outcome
from grouse_adapters.meta.matrix import Matrix
from grouse_adapters.meta.report import MetaReport, TestResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS: Final[dict[Outcome, str]] = {
    "passed": "#2f6fb5",
    "failed": "#c8372d",
    "unreadable": "#ef9b20",
}
_LABELS: Final[dict[Outcome, str]] = {
    "passed": "passed",
    "failed": "failed",
    "unreadable": "no usable grade",
}
_ACROSS: Final = 3
_SQUARE: Final = 0.24  # inches, while they fit
_NARROWEST_PANEL: Final = 2.5
_WIDEST_PANEL: Final = 9.0
_NAMED_SETS: Final = 40
_DPI: Final = 160


def write_matrices(
    paths: Sequence[Path], results: Sequence[TestResult], report: MetaReport
) -> None:
    """Draws one matrix per metric, test types by sets, into each of ``paths``.

    The ending of a path says the format (``.png``, ``.svg``, ``.pdf``). Any number of types and
    sets: squares shrink once a panel would be wider than 9 inches.

    Raises:
        MissingExtraError: matplotlib is not installed.
        ConfigurationError: a file cannot be written.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError(
            "plot", "needs matplotlib, which is not installed", subject="The picture"
        ) from None
    matrices = [matrix for name in METRIC_NAMES if (matrix := Matrix.of(results, name))]
    figure = Figure()
    _draw(figure, matrices, report)
    for path in paths:
        try:
            # without a date or a random id, the same run gives the same bytes
            metadata = {"Date": None} if path.suffix == ".svg" else None
            figure.savefig(path, dpi=_DPI, metadata=metadata)
        except OSError as error:
            raise ConfigurationError(
                f"{path} cannot be written ({error.strerror or error}): choose another place."
            ) from None


def _draw(figure: Figure, matrices: Sequence[Matrix], report: MetaReport) -> None:
    from matplotlib import rcParams

    rcParams["svg.hashsalt"] = "grouse"
    rcParams["hatch.linewidth"] = 0.6
    across = min(_ACROSS, len(matrices)) or 1
    down = -(-len(matrices) // across)
    columns = max(len(matrix.sets) for matrix in matrices)
    rows = len(matrices[0].types)
    panel_width = min(_WIDEST_PANEL, max(_NARROWEST_PANEL, columns * _SQUARE))
    panel_height = max(1.2, rows * _SQUARE)
    longest = max(len(name) for name in matrices[0].types)
    names = 0.3 + longest * 0.075
    sets = 0.25 + (
        min(1.6, max(len(name) for name in matrices[0].sets) * 0.07)
        if columns <= _NAMED_SETS
        else 0.1
    )
    head, legend, gap = 1.0, 0.55, 0.3
    width = names + across * panel_width + (across - 1) * gap + 0.3
    height = head + down * (panel_height + sets) + (down - 1) * 0.45 + legend
    figure.set_size_inches(width, height)
    for place, matrix in enumerate(matrices):
        row, column = divmod(place, across)
        left = names + column * (panel_width + gap)
        top = height - head - row * (panel_height + 0.45 + sets)
        axes = figure.add_axes(
            (
                left / width,
                (top - panel_height) / height,
                panel_width / width,
                panel_height / height,
            )
        )
        _panel(axes, matrix, report, first=column == 0)
    figure.text(
        0.15 / width,
        1 - 0.3 / height,
        f"{_plain(report.judge)} on {_plain(report.source)}",
        size=13,
        weight="bold",
        va="center",
    )
    figure.text(0.15 / width, 1 - 0.58 / height, _subtitle(report), size=9, va="center")
    _legend(figure, 0.15 / width, 0.28 / height)


def _panel(axes: Axes, matrix: Matrix, report: MetaReport, *, first: bool) -> None:
    from matplotlib.patches import Rectangle

    for y, squares in enumerate(matrix.rows):
        for x, square in enumerate(squares):
            if square is None:
                continue
            hatched: dict[str, Any] = (
                {"hatch": "////", "edgecolor": "#ffffff"} if square.skipped else {}
            )
            axes.add_patch(
                Rectangle(
                    (x + 0.06, y + 0.06),
                    0.88,
                    0.88,
                    facecolor=COLOURS[square.outcome],
                    linewidth=0,
                    **hatched,
                )
            )
            if square.outcome != "passed" and len(matrix.sets) <= _NAMED_SETS:
                sign = "×" if square.outcome == "failed" else "!"
                axes.text(x + 0.5, y + 0.52, sign, color="white", size=8, ha="center", va="center")
    axes.set_xlim(0, len(matrix.sets))
    axes.set_ylim(len(matrix.types), 0)
    named = len(matrix.sets) <= _NAMED_SETS
    axes.set_xticks([x + 0.5 for x in range(len(matrix.sets))] if named else [])
    axes.set_xticklabels(
        [_plain(name, 22) for name in matrix.sets] if named else [], rotation=90, size=7
    )
    if not named:
        axes.set_xlabel(f"{len(matrix.sets):,} sets", size=7)
    axes.set_yticks([y + 0.5 for y in range(len(matrix.types))])
    axes.set_yticklabels([_plain(name) for name in matrix.types] if first else [], size=8)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    rate = report.pass_rate.get(matrix.metric.name)
    shown = "" if rate is None else f"  {rate:.2f} %"
    axes.set_title(f"{matrix.metric.title}{shown}", size=10, loc="left")


def _legend(figure: Figure, x: float, y: float) -> None:
    from matplotlib.patches import Patch

    handles = [Patch(facecolor=COLOURS[key], label=label) for key, label in _LABELS.items()]
    handles.append(
        Patch(facecolor="#8a8f98", edgecolor="#ffffff", hatch="////", label="no call needed")
    )
    figure.legend(
        handles=handles,
        loc="center left",
        bbox_to_anchor=(x, y),
        ncols=4,
        fontsize=8,
        frameon=False,
    )


def _subtitle(report: MetaReport) -> str:
    total = report.pass_rate.get("total")
    parts = [f"{report.tests:,} tests in {report.sets:,} set{'s' if report.sets != 1 else ''}"]
    if total is not None:
        interval = report.pass_rate_interval.get("total")
        between = f" (95 %: {interval[0]:.2f} to {interval[1]:.2f})" if interval else ""
        parts.insert(0, f"{total:.2f} % passed{between}")
    floor = report.floors.get("refusal_only")
    if floor and floor.pass_rate.get("total") is not None:
        parts.append(f"reading refusals only passes {floor.pass_rate['total']:.2f} %")
    return " · ".join(parts)


def _plain(text: str, longest: int = 60) -> str:
    """Foreign text without what matplotlib would read as mathematics, and not too long."""
    plain = " ".join(text.split()).replace("$", r"\$")
    return plain if len(plain) <= longest else plain[: longest - 1] + "…"
