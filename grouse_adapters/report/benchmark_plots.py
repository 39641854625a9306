"""A benchmark as a picture: matrices, and native scores against annotators' means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from grouse_adapters.core.errors import ConfigurationError, MissingExtraError
from grouse_adapters.native.panels import BenchmarkView, Grid, Panel, made_with
from grouse_adapters.native.report import BenchmarkReport
from grouse_adapters.native.rules import Verdict
from grouse_adapters.report.console import harmless
from grouse_adapters.report.plots import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_GREY: Final = "#b4b9c0"
_FACES: Final[Mapping[Verdict, str]] = {
    "success": COLOURS["passed"],
    "failure": COLOURS["failed"],
    "not_scored": COLOURS["unreadable"],
    "error": COLOURS["unreadable"],
    "nothing_to_rate": _GREY,
}
_SIGNS: Final[Mapping[Verdict, str]] = {"failure": "×", "not_scored": "!", "error": "!"}
_ACROSS: Final = 4
_SQUARE: Final = 0.22  # inches, while they fit
_WIDEST_SQUARE: Final = 0.4
_NARROWEST: Final = 2.9
_WIDEST: Final = 7.0
_SCATTER: Final = 2.6
_NAMED_SETS: Final = 40
_DPI: Final = 160


def write_benchmark_plots(paths: Sequence[Path], view: BenchmarkView) -> None:
    """Draws a matrix and a scatter per run, and the judge's matrices, into each of ``paths``.

    The ending of a path says the format (``.png``, ``.svg``, ``.pdf``).

    Args:
        paths: the files.
        view: the benchmark.

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
    figure = Figure()
    _draw(figure, view)
    for path in paths:
        try:
            # without a date or a random id, the same run gives the same bytes
            metadata = {"Date": None} if path.suffix == ".svg" else None
            figure.savefig(path, dpi=_DPI, metadata=metadata)
        except OSError as error:
            raise ConfigurationError(
                f"{path} cannot be written ({error.strerror or error}): choose another place."
            ) from None


def _draw(figure: Figure, view: BenchmarkView) -> None:
    from matplotlib import rcParams

    report, panels = view.report, view.panels

    rcParams["svg.hashsalt"] = "grouse"
    rcParams["hatch.linewidth"] = 0.6
    grids = [Grid.of(panel, view.tests) for panel in panels]
    types = grids[0].types if grids else []
    sets = grids[0].sets if grids else []
    across = max(1, min(_ACROSS, len(panels)))
    wide = min(_WIDEST, max(_NARROWEST, len(sets) * _SQUARE))
    tall = max(1.0, len(types) * _SQUARE)
    names = 0.35 + max((len(name) for name in types), default=0) * 0.07
    named = len(sets) <= _NAMED_SETS
    under = 0.2 + (min(1.5, max(map(len, sets), default=0) * 0.065) if named else 0.15)
    head, gap, foot = 1.15, 0.55, 0.55
    blocks = [panels[at : at + across] for at in range(0, len(panels), across)]
    heights = [
        0.5 + tall + under + (_SCATTER + 0.75 if any(p.run for p in block) else 0.1)
        for block in blocks
    ]
    width = max(names + across * wide + (across - 1) * gap + 0.3, 8.0)
    height = head + sum(heights) + foot
    figure.set_size_inches(width, height)

    def axes_at(left: float, top: float, x: float, y: float) -> Axes:
        """Inches from the upper left corner, and the size."""
        return figure.add_axes((left / width, (height - top - y) / height, x / width, y / height))

    for place, panel in enumerate(panels):
        row, column = divmod(place, across)
        left = names + column * (wide + gap)
        top = head + sum(heights[:row]) + 0.5
        matrix = axes_at(left, top, min(wide, len(sets) * _WIDEST_SQUARE), tall)
        _matrix(matrix, panel, grids[place], first=column == 0, named=named)
        if panel.run is not None:
            side = min(_SCATTER, wide)
            plot = axes_at(left, top + tall + under + 0.15, side, side)
            _scatter(plot, panel, report.threshold, first=column == 0)
    _words(figure, report, width, height)
    _legend(figure, width, height)


def _matrix(axes: Axes, panel: Panel, grid: Grid, *, first: bool, named: bool) -> None:
    from matplotlib.patches import Rectangle

    for y, squares in enumerate(grid.rows):
        for x, square in enumerate(squares):
            if square is None or square.verdict not in _FACES:
                continue
            hatched: dict[str, Any] = (
                {"hatch": "////", "edgecolor": "#ffffff"}
                if square.verdict == "nothing_to_rate"
                else {}
            )
            axes.add_patch(
                Rectangle(
                    (x + 0.06, y + 0.06),
                    0.88,
                    0.88,
                    facecolor=_FACES[square.verdict],
                    linewidth=0,
                    **hatched,
                )
            )
            if named and (sign := _SIGNS.get(square.verdict)):
                axes.text(x + 0.5, y + 0.52, sign, color="white", size=8, ha="center", va="center")
    axes.set_xlim(0, len(grid.sets))
    axes.set_ylim(len(grid.types), 0)
    axes.set_xticks([x + 0.5 for x in range(len(grid.sets))] if named else [])
    axes.set_xticklabels(
        [_plain(name, 22) for name in grid.sets] if named else [], rotation=90, size=7
    )
    if not named:
        axes.set_xlabel(f"{len(grid.sets):,} sets", size=7)
    axes.set_yticks([y + 0.5 for y in range(len(grid.types))])
    axes.set_yticklabels([_plain(name) for name in grid.types] if first else [], size=8)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_title(f"{_plain(panel.title)}\n{_rate(panel)}", size=9, loc="left")


def _rate(panel: Panel) -> str:
    if panel.rate is None:
        return "nothing is rated"
    if panel.run is None:
        return f"{panel.rate:.2f} % of the rated tests passed"
    interval = panel.run.interval
    between = f" (95 %: {interval[0]:.0f} to {interval[1]:.0f})" if interval else ""
    return f"{panel.rate:.2f} % success{between}"


def _scatter(axes: Axes, panel: Panel, threshold: float, *, first: bool) -> None:
    """Points at the same place are one, larger: its area grows with their number."""
    found = Counter(
        (result.share, result.native, result.verdict)
        for result in panel.results
        if result.difference is not None
    )
    ends = [-0.05, 1.05]
    axes.fill_between(
        ends,
        [end - threshold for end in ends],
        [end + threshold for end in ends],
        color="#2f6fb5",
        alpha=0.1,
        linewidth=0,
    )
    axes.plot(ends, ends, color="#8a8f98", linewidth=0.8)
    lowest = 0.0
    for (share, native, verdict), count in found.items():
        if share is None or native is None:
            continue
        lowest = min(lowest, float(native))
        axes.scatter(
            [float(share)],
            [float(native)],
            s=14 + 9 * (count - 1),
            color=_FACES[verdict],
            alpha=0.75,
            linewidth=0.4,
            edgecolor="white",
            clip_on=False,
            zorder=3,
        )
    axes.set_xlim(-0.05, 1.05)
    axes.set_ylim(lowest - 0.05, 1.05)
    ticks = [0, 0.25, 0.5, 0.75, 1]
    axes.set_xticks(ticks)
    axes.set_yticks(ticks)
    axes.tick_params(labelsize=7, length=2)
    axes.set_xlabel("annotators' mean", size=8)
    if first:
        axes.set_ylabel("native score", size=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    run = panel.run
    if run is not None and run.mae is not None:
        rank = "" if run.spearman is None else f", Spearman {run.spearman:.2f}"
        axes.set_title(f"mean error {run.mae:.3f}{rank}", size=8, loc="left")


def _words(figure: Figure, report: BenchmarkReport, width: float, height: float) -> None:
    left = 0.15 / width
    human = report.annotations == "human"
    figure.text(
        left,
        1 - 0.25 / height,
        report.notice,
        size=9,
        va="center",
        weight="normal" if human else "bold",
        color="#1c2126" if human else "#9a4d00",
    )
    figure.text(
        left,
        1 - 0.52 / height,
        f"The frameworks' own metrics on {_plain(report.source)}",
        size=13,
        weight="bold",
        va="center",
    )
    sets = f"{report.sets:,} set{'s' if report.sets != 1 else ''}"
    parts = [
        *map(_plain, made_with(report)),
        f"{report.tests:,} tests in {sets}",
        f"success: less than {report.threshold:g} from the annotators' mean",
    ]
    figure.text(left, 1 - 0.78 / height, " · ".join(parts), size=8, va="center")


def _legend(figure: Figure, width: float, height: float) -> None:
    from matplotlib.patches import Patch

    handles = [
        Patch(facecolor=_FACES["success"], label="success"),
        Patch(facecolor=_FACES["failure"], label="failure"),
        Patch(facecolor=_FACES["error"], label="not scored, or error (a failure)"),
        Patch(facecolor=_GREY, edgecolor="#ffffff", hatch="////", label="nothing to rate"),
    ]
    figure.legend(
        handles=handles,
        loc="center left",
        bbox_to_anchor=(0.15 / width, 0.25 / height),
        ncols=4,
        fontsize=8,
        frameon=False,
    )


def _plain(text: str, longest: int = 60) -> str:
    """Foreign text without what matplotlib would read as mathematics, and not too long."""
    plain = harmless(text).replace("$", r"\$")
    return plain if len(plain) <= longest else plain[: longest - 1] + "…"
