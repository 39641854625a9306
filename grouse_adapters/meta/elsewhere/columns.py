"""Which column of a table holds which metric."""

from __future__ import annotations

from collections.abc import Sequence

from grouse_adapters.core.errors import InputError
from grouse_adapters.core.metrics import METRICS, Metric, MetricName
from grouse_adapters.meta.elsewhere.judged import ReadingOptions, Table


def choose_columns(
    table: Table, options: ReadingOptions, *, strict: bool
) -> tuple[dict[MetricName, str], list[str]]:
    """The column of each metric, in table order, and what the user should know.

    A metric is found under ``grouse_faithfulness``, else under ``faithfulness`` in any spelling
    (``Faithfulness``, ``answer relevancy``) or the paper's short name (``F``, upper case). Our own
    name wins, since RAGAS and DeepEval have metrics of the other names.

    Args:
        strict: whether a column that the options name must be there.

    Raises:
        InputError: no metric is found, a named column is missing, or two columns fit alike.
    """
    found: dict[MetricName, str] = {}
    notes: list[str] = []
    for metric in METRICS.values():
        wanted = options.columns.get(metric.name)
        if wanted == "":
            continue
        if wanted is not None and wanted in table.columns:
            found[metric.name] = wanted
            continue
        if wanted is not None and strict:
            raise InputError(
                f"{table.path} has no column {wanted!r}, which --column {metric.name} names: it "
                f"has {_listed(table.columns)}."
            )
        ours = [name for name in table.columns if name == metric.key]
        others = [name for name in table.columns if _plain(name, metric)]
        if ours:
            found[metric.name] = ours[0]
            notes += [
                f"{table.path}: {metric.name} is read from {ours[0]!r}, not from {name!r}."
                for name in others
            ]
        elif len(others) > 1:
            raise InputError(
                f"{table.path} has {len(others)} columns that may hold {metric.name} "
                f"({_listed(others)}): say which with --column {metric.name}=NAME."
            )
        elif others:
            found[metric.name] = others[0]
    if not found:
        raise InputError(
            f"{table.path} has no column for a metric ({_listed(table.columns)}): name one, e.g. "
            "--column faithfulness=NAME."
        )
    return found, notes


def _plain(name: str, metric: Metric) -> bool:
    plain = "_".join(name.replace("-", " ").replace("_", " ").split()).casefold()
    return name.strip() == metric.short or plain == metric.name


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:8])
    return f"{shown}, ..." if len(names) > 8 else shown or "no column of grades"
