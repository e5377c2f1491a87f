"""Columns of records that several tables have: what was measured, and metrics in one notation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from commlens.base.text import format_number, format_value, labelled, memory_name
from commlens.model import Group, Metric, Record, Statistic
from commlens.model.results import LaunchesStatistic
from commlens.render.table import Column


def place_columns(group: Group) -> list[Column[Record]]:
    """What each record measured; a size stands at the first of its records alone."""
    columns: list[Column[Record]] = []
    if group.sizes:
        size = Column[Record](
            group.size_name,
            lambda record: record.size,
            format=group.format_size,
            once=lambda record: record.size,
        )
        columns.append(size)
    columns.append(Column("transport", lambda record: record.transport, left=True))
    columns.append(Column("memory", lambda record: memory_name(record.memory), left=True))
    if group.variant:
        columns.append(Column(group.variant.title, lambda record: record.variant_value, left=True))
    if group.start_labels:
        columns.append(Column("launch", group.start_label, left=True))
    return columns


def metric_columns(
    metric: Metric, records: Sequence[Record], optional: bool = False
) -> list[Column[Record]]:
    """The medians, their confidence intervals and the numbers of samples or launches.

    An interval is over launches where there are several, and all that too few of them gave.
    """

    def statistic(record: Record) -> Statistic | None:
        return record.statistics.get(metric.name)

    def median(record: Record) -> float | None:
        result = statistic(record)
        return None if result is None else result.median

    # With an exponent everywhere, or nowhere.
    largest = max((abs(median(record) or 0) for record in records), default=0)
    text = partial(format_value, unit=metric.unit, largest=largest)
    return [
        Column(metric.label, median, metric.unit, text, optional=optional),
        Column("95% CI", statistic, format=partial(_interval, text), style="dim"),
        Column("n", statistic, format=_count, style="dim"),
    ]


def _interval(text: Callable[[float], str], statistic: Statistic) -> str:
    ends, note = (statistic.ci_low, statistic.ci_high), ""
    if ends[0] is None and isinstance(statistic, LaunchesStatistic):
        ends, note = (statistic.min, statistic.max), " (range)"
    texts = [text(end) for end in ends if end is not None]
    return (" to ".join(texts) or "too few samples") + note


def _count(statistic: Statistic) -> str:
    ending = " launches" if isinstance(statistic, LaunchesStatistic) else ""
    return f"{statistic.count:,}{ending}"


def time_column(
    title: str, seconds: Callable[[Record], float | None], unit: str, factor: float
) -> Column[Record]:
    """Times, given in seconds and shown in `unit`, of which a second has `factor`."""
    head = labelled(title, unit) if "\n" in title else f"{title}\n({unit})"
    return Column(head, seconds, format=lambda time: format_number(factor * time))
