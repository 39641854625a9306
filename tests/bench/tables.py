"""The figures as tables."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from .cached import CachedFigures
from .calls import ClientFigures
from .clients import JUDGE, LEAN_SDK, SDK
from .lexical_rate import LexicalFigures
from .limits import LimitFigures
from .memory import MemoryFigures
from .starting import PACKAGE, StartFigures

AIM = 0.8
"""Of the bare SDK's rate, which the judge should reach."""


def calls_table(figures: Sequence[ClientFigures], latency: float) -> Table:
    """Clients side by side; the ratio says what part of a client's rate the judge reaches."""
    table = _table(
        f"1. Calls through the judge and the bare SDK (server answers after {latency * 1000:g} ms)",
        "client",
        "limit",
        "calls",
        "calls/s",
        "lowest-highest",
        "CPU ms/call",
        "in flight",
        "judge / client",
        caption=f"judge / client: calls/s, median of the rounds; aim against {SDK}: {AIM:g}.\n"
        f"{LEAN_SDK}: the reply schema goes in extra_body, as the judge sends it.",
    )
    for one in figures:
        judge = next(
            other for other in figures if (other.client, other.limit) == (JUDGE, one.limit)
        )
        ratio = judge.rate_against(one)
        shown = "" if one is judge else f"{ratio:.2f}"
        if one.client == SDK:
            shown = f"[{'green' if ratio >= AIM else 'red'}]{shown}[/]"
        table.add_row(
            one.client,
            str(one.limit),
            str(one.calls),
            f"{one.rate:.0f}",
            f"{min(one.rates):.0f}-{max(one.rates):.0f}",
            f"{one.cpu_ms:.2f}",
            str(one.in_flight),
            shown,
            end_section=one.client == LEAN_SDK,
        )
    return table


def limits_table(figures: Sequence[LimitFigures]) -> Table:
    """Limit against the most calls that the server had at once."""
    table = _table("2. Calls in flight against the limit", "limit", "calls", "most in flight", "")
    for one in figures:
        exact = one.in_flight == one.limit
        verdict = "[green]exact[/]" if exact else "[red]not exact[/]"
        table.add_row(str(one.limit), str(one.calls), str(one.in_flight), verdict)
    return table


def start_table(figures: StartFigures) -> Table:
    """Imports and first judgements."""
    table = _table(
        "3. Start (fresh processes, medians)",
        "",
        "wall s",
        "CPU s",
        "modules added",
        "",
        caption=_loaded(figures),
    )
    for name, seconds in figures.imports.items():
        table.add_row(
            f"import {name}",
            f"{seconds['wall']:.2f}",
            f"{seconds['cpu']:.2f}",
            str(figures.modules[name]),
        )
    table.add_section()
    for name, seconds in figures.firsts.items():
        call = f"first call at {seconds['call']:.2f} s" if "call" in seconds else ""
        table.add_row(
            f"process start to first judgement, {name}",
            f"{seconds['wall']:.2f}",
            f"{seconds['cpu']:.2f}",
            "",
            call,
        )
    table.add_row("of which Python alone", "", f"{figures.interpreter:.2f}")
    return table


def _loaded(figures: StartFigures) -> str:
    there = [name for name, loaded in figures.loaded.items() if loaded]
    absent = [name for name, loaded in figures.loaded.items() if not loaded]
    lines = []
    if there:
        lines.append(f"[red]Loaded by import {PACKAGE}: {', '.join(there)}.[/]")
    lines.append(f"Not loaded by import {PACKAGE}: {', '.join(absent) or 'none'}.")
    return "\n".join(lines)


def cached_table(figures: CachedFigures) -> Table:
    """The run that filled the cache and the one that used it."""
    table = _table(
        f"4. The same {figures.samples} samples twice with a cache",
        "",
        "calls at the server",
        "from the cache",
        "samples/s",
    )
    table.add_row("first", str(figures.calls[0]), "0", f"{figures.rates[0]:.0f}")
    again = str(figures.calls[1])
    table.add_row(
        "again",
        f"[red]{again}[/]" if figures.calls[1] else f"[green]{again}[/]",
        str(figures.cached_calls),
        f"{figures.rates[1]:.0f}",
    )
    return table


def memory_table(figures: Sequence[MemoryFigures]) -> Table:
    """Peak memory per length of the stream."""
    counts = sorted(figures[0].peaks)
    table = _table(
        "5. Peak memory (MB)", "stream", *(f"{count:,} samples" for count in counts), "growth"
    )
    for one in figures:
        peaks = (f"{one.peaks[count]:.0f}" for count in counts)
        table.add_row(one.stream, *peaks, f"{one.growth:.2f} x")
    return table


def lexical_table(figures: Sequence[LexicalFigures]) -> Table:
    """Samples per second of the lexical judge."""
    table = _table(
        "6. Lexical judge, one thread",
        "samples",
        "number",
        "words each",
        "first pass, samples/s",
        "later passes",
    )
    for one in figures:
        table.add_row(
            one.source,
            str(one.samples),
            f"{one.words:.0f}",
            f"{one.first:.0f}",
            f"{one.later:.0f}",
        )
    return table


def _table(title: str, *columns: str, caption: str | None = None) -> Table:
    table = Table(title=title, title_justify="left", caption=caption, caption_justify="left")
    for place, column in enumerate(columns):
        table.add_column(column, justify="right" if place else "left")
    return table
