"""Values of a metric as bars, or as markers where they are far apart."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from matplotlib.axes import Axes

from commlens.base.text import labelled, readable_time
from commlens.model import Group, Metric, Record, Statistic
from commlens.render.plots.panel import Panel
from commlens.render.plots.rows import Rows, end_of_axis, rows_size
from commlens.render.plots.style import WIDEST, Series
from commlens.render.plots.ticks import powers, set_ticks

_LOGARITHMIC_FROM = 20  # ratio of the longest bar to the shortest
_ROOM_FOR_LINES = 1.05


class BarLine(NamedTuple):
    """A ceiling, or what was published."""

    style: dict[str, Any]
    value: float
    position: int | None = None  # of the only bar that it is of


def bars_panel(
    title: str,
    details: str,
    metric: Metric,
    bars: Mapping[Series, Record],
    lines: Sequence[BarLine],
    groups: Sequence[Group],
    **more: Any,
) -> Panel:
    """A panel of the metric of each record, with ceilings and the like; `groups` are theirs."""
    records = bars.values()
    used = [
        place
        for place, record in enumerate(records)
        if any(record in group.used for group in groups)
    ]
    values = [record.statistics[metric.name] for record in records]
    draw = partial(_draw, metric, list(bars), values, lines, used)
    return Panel(title, draw, details, **rows_size([series.label for series in bars]), **more)


def _draw(
    metric: Metric,
    series: Sequence[Series],
    values: Sequence[Statistic],
    lines: Sequence[BarLine],
    used: Sequence[int],
    axes: Axes,
    width: float,
) -> None:
    unit, factor = readable_time(metric.unit, max(own.median for own in values))
    lines = [own._replace(value=factor * own.value) for own in lines]
    bars = [own.scaled(factor) for own in values]
    medians = [bar.median for bar in bars]
    least = min([*medians, *(line.value for line in lines)])
    label = labelled(metric.label, unit)
    rows = Rows(
        [own.label for own in series], bars, label, unit, [line.value for line in lines], used
    )
    end = max(*rows.ends, *medians, *rows.lines)
    is_logarithmic = 0 < _LOGARITHMIC_FROM * min(medians) < max(medians) and end < WIDEST * least
    if is_logarithmic:
        rows = replace(rows, label=f"{label}, logarithmic")
        _set_logarithmic(axes, rows, least, end, width)
    else:
        rows.set_axis(axes, width)
    for position, own in enumerate(series):
        if is_logarithmic:
            style = {**own.style, "markersize": 8, "zorder": 3}
            axes.plot([medians[position]], [position], **style)
        else:
            rows.draw_bar(axes, position, (*own.color, 0.15 if own.is_open else 1), own.color)
    for line in lines:
        _draw_line(axes, line)
    rows.finish(axes, points=10 if is_logarithmic else 6)


def _set_logarithmic(axes: Axes, rows: Rows, least: float, end: float, width: float) -> None:
    """A logarithmic axis has no origin, so that the length of a bar would mean nothing: markers."""
    axes.set_xscale("log")
    left = 10 ** math.floor(math.log10(0.7 * least))
    logs = [math.log(max(one / left, 1)) for one in [*rows.ends, end]]
    right = end_of_axis(logs, [*rows.texts, ""], width)
    axes.set_xlim(left, left * math.exp(max(right, _ROOM_FOR_LINES * logs[-1])))
    set_ticks(axes.xaxis, powers(most=6), str)


def _draw_line(axes: Axes, line: BarLine) -> None:
    """At all bars, or at one with a marker in its middle."""
    if line.position is None:
        axes.axvline(line.value, zorder=1.5, **line.style)
    else:
        ends = line.position - 0.45, line.position, line.position + 0.45
        axes.plot([line.value] * 3, ends, zorder=1.6, markevery=[1], **line.style)
