"""Columns that several tables have: what was measured, and numbers in one notation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from commlens.base.text import format_number, format_value, labelled, memory_name
from commlens.model import Group, LaunchesStatistic, Metric, Record, Statistic
from commlens.render.show.grid import Column

NOTHING = "-"
_Found = TypeVar("_Found")


def place_columns(group: Group, records: Sequence[Record]) -> list[Column]:
    """What each record measured; a size stands at the first of its records alone."""
    columns = []
    if group.sizes:
        columns.append(Column(group.size_name, _sizes(group, records), repeats=True))
    columns.append(Column("transport", [record.transport for record in records], left=True))
    columns.append(Column("memory", [memory_name(record.memory) for record in records], left=True))
    if group.variant:
        values = [record.variant_value for record in records]
        columns.append(Column(group.variant.title, values, left=True))
    if group.start_labels:
        labels = [group.start_label(record) for record in records]
        columns.append(Column("start", labels, left=True))
    return columns


def _sizes(group: Group, records: Iterable[Record]) -> list[str]:
    cells = []
    before: int | None = -1
    for record in records:
        size = record.size
        if size == before:
            cells.append("")
        else:
            cells.append(NOTHING if size is None else group.format_size(size))
        before = size
    return cells


def cells(found: Iterable[_Found | None], text: Callable[[_Found], str]) -> list[str]:
    """The texts of what there is, `-` for the rest."""
    return [NOTHING if one is None else text(one) for one in found]


def metric_column(metric: Metric, records: Sequence[Record]) -> Column:
    """The medians."""
    medians = [
        record.statistics[metric.name].median if metric.name in record.statistics else None
        for record in records
    ]
    largest = max((abs(median) for median in medians if median is not None), default=0)
    texts = cells(medians, lambda median: format_value(median, metric.unit, largest))
    return Column(labelled(metric.label, metric.unit), texts)


def interval_column(metric: Metric, records: Sequence[Record]) -> Column:
    """The confidence intervals of the medians: over launches where there are several, and all that
    too few of them gave."""
    own = [record.statistics.get(metric.name) for record in records]
    largest = max((abs(one.median) for one in own if one is not None), default=0)

    def text(one: Statistic) -> str:
        ends, note = (one.ci_low, one.ci_high), ""
        if ends[0] is None and isinstance(one, LaunchesStatistic):
            ends, note = (one.min, one.max), " (range)"
        texts = [format_value(end, metric.unit, largest) for end in ends if end is not None]
        return (" to ".join(texts) or "too few samples") + note

    texts = cells(own, text)
    return Column("95% CI", texts, style="dim")


def count_column(metric: Metric, records: Sequence[Record]) -> Column:
    """The numbers of samples, or of launches."""
    own = (record.statistics.get(metric.name) for record in records)
    texts = cells(
        own, lambda one: f"{one.count:,}{' launches' if isinstance(one, LaunchesStatistic) else ''}"
    )
    return Column("n", texts, style="dim")


def time_column(head: str, seconds: Sequence[float | None], factor: float) -> Column:
    return Column(head, cells(seconds, lambda time: format_number(factor * time)))
