"""Values of a metric as bars, or as markers where they are far apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from matplotlib.axes import Axes

from commlens.base.text import labelled, readable_time
from commlens.model import Metric, Statistic
from commlens.render.plots.rows import Rows, end_of_axis
from commlens.render.plots.style import WIDEST, Series, line_style
from commlens.render.plots.ticks import powers, set_ticks

_LOGARITHMIC_FROM = 20  # ratio of the longest bar to the shortest
_ROOM_FOR_LINES = 1.05


class BarLine(NamedTuple):
    """A ceiling, or what was published."""

    style: dict[str, Any]
    value: float
    position: int | None = None  # of the only bar that it is of


@dataclass(frozen=True)
class Values:
    """A value of the metric for each series."""

    metric: Metric
    series: Sequence[Series]
    values: Sequence[Statistic]  # of each of them
    lines: Sequence[BarLine]
    used: Sequence[int] = ()  # the positions of what an application would use

    def draw(self, axes: Axes, width: float) -> None:
        """Into axes of so many inches."""
        unit, factor = readable_time(self.metric.unit, max(own.median for own in self.values))
        lines = [own._replace(value=factor * own.value) for own in self.lines]
        bars = [own.scaled(factor) for own in self.values]
        medians = [bar.median for bar in bars]
        low, high = min(medians), max(medians)
        is_logarithmic = 0 < _LOGARITHMIC_FROM * low < high
        least = min([*medians, *(line.value for line in lines)])
        rows = Rows(
            [own.label for own in self.series],
            bars,
            labelled(self.metric.label, unit),
            unit,
            [line.value for line in lines],
            self.used,
        )
        end = max(*rows.ends, *medians, *rows.lines)
        if is_logarithmic and end < WIDEST * least:
            rows = replace(rows, label=f"{rows.label}, logarithmic")
            _set_logarithmic(axes, rows, least, end, width)
        else:
            is_logarithmic = False
            rows.set_axis(axes, width)
        for position, own in enumerate(self.series):
            if is_logarithmic:
                style = {**line_style(own), "markersize": 8, "zorder": 3}
                axes.plot([medians[position]], [position], **style)
            else:
                face = (*own.color, 0.15 if own.filling == "none" else 1)
                rows.draw_bar(axes, position, face, own.color)
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
