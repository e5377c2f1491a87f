"""The main metric at a single size: a bar per series, or a marker where they are far apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
from matplotlib.typing import ColorType

from commlens.base.text import format_number, format_short, labelled, readable_time
from commlens.model import Interval, Metric, Statistic
from commlens.render.plots.colors import CEILING_COLOR
from commlens.render.plots.intervals import draw_interval, end_of, label_axis, limit_of
from commlens.render.plots.panel import CeilingStyles, Panel, ceilings
from commlens.render.plots.published import PublishedStyles
from commlens.render.plots.style import (
    LETTER_INCHES,
    PANEL_INCHES,
    WIDEST,
    Series,
    line_style,
    shortened,
)

THICKNESS = 0.62
USED = " (used)"  # at the candidate that an application would use
_ROOM_FOR_LINES = 1.05  # length of the axis over that to the last ceiling

_LOGARITHMIC_FROM = 20  # ratio of the longest bar to the shortest


class BarCeiling(NamedTuple):
    dashes: tuple[int, tuple[float, ...]]
    value: float
    position: int | None = None  # of the only bar that it is of


class BarMark(NamedTuple):
    """What was published, beside a bar."""

    style: dict[str, Any]
    value: float
    position: int


@dataclass(frozen=True)
class Bars:
    """Values of one metric."""

    metric: Metric
    series: Sequence[Series]
    values: Sequence[Statistic]  # of each of them
    ceilings: Sequence[BarCeiling]
    label_width: float  # of what stands left of the axes, in inches
    used: Sequence[int] = ()  # the positions of what an application would use
    marks: Sequence[BarMark] = ()

    def draw(self, axes: Axes) -> None:
        unit, factor = readable_time(self.metric.unit, max(own.median for own in self.values))
        bars = [own.scaled(factor) for own in self.values]
        lines = [own._replace(value=factor * own.value) for own in self.ceilings]
        units = [unit + (USED if position in self.used else "") for position in range(len(bars))]
        texts = [_number(bar.median, unit) for bar, unit in zip(bars, units)]
        marks = [own._replace(value=factor * own.value) for own in self.marks]
        values = [line.value for line in lines] + [mark.value for mark in marks]
        limit = limit_of([*(bar.median for bar in bars), *values])
        is_logarithmic = _set_axis(axes, bars, limit, values, texts, self.label_width)
        for position, (own, bar) in enumerate(zip(self.series, bars)):
            if is_logarithmic:
                draw_marker(axes, position, bar, limit, units[position], own)
            else:
                face = (*own.color, 0.15 if own.filling == "none" else 1)
                draw_bar(axes, position, bar, limit, units[position], face, own.color)
        for line in lines:
            _draw_ceiling(axes, line)
        for mark in marks:
            ends = mark.position - 0.45, mark.position, mark.position + 0.45
            axes.plot([mark.value] * 3, ends, zorder=1.6, markevery=[1], **mark.style)
        name_bars(axes, [own.label for own in self.series], self.used)
        kind = ", logarithmic" if is_logarithmic else ""
        label_axis(axes, labelled(self.metric.label, unit) + kind, bars, limit)


def draw_bars(axes: Axes, panel: Panel, styles: CeilingStyles, published: PublishedStyles) -> None:
    metric, series = panel.metric, panel.series
    lines = [
        BarCeiling(styles.line(memory, ceiling), points[0][1])
        for memory, ceiling, points in ceilings(panel)
    ]
    values = [panel.records_of(own)[0].statistics[metric.name] for own in series]
    used = [position for position, own in enumerate(series) if panel.is_used(own)]
    marks = [
        BarMark(
            published.style(one.figure), one.figure.value, series.index(panel.series_of(record))
        )
        for one in published.beside(panel)
        if (record := one.record) is panel.records_of(panel.series_of(record))[0]
    ]
    Bars(metric, series, values, lines, panel.label_width, used, marks).draw(axes)


def _draw_ceiling(axes: Axes, ceiling: BarCeiling) -> None:
    style: dict[str, Any] = {"color": CEILING_COLOR, "linestyle": ceiling.dashes, "linewidth": 1.3}
    if ceiling.position is None:
        axes.axvline(ceiling.value, zorder=1.5, **style)
    else:
        ends = ceiling.position - 0.45, ceiling.position + 0.45
        axes.plot([ceiling.value] * 2, ends, zorder=1.5, **style)


def _set_axis(
    axes: Axes,
    bars: Sequence[Interval],
    limit: float,
    lines: Sequence[float],
    texts: Sequence[str],
    label_width: float,
) -> bool:
    """True if the axis is logarithmic, as where the shortest bar would be too short to see."""
    medians = [bar.median for bar in bars]
    least, ends = min([*medians, *lines]), [end_of(bar, limit) for bar in bars]
    end, width = max(*ends, *medians, *lines), PANEL_INCHES[0] - label_width - 0.2
    is_logarithmic = 0 < _LOGARITHMIC_FROM * min(medians) < max(medians) and end < WIDEST * least
    if not is_logarithmic:
        room = _ROOM_FOR_LINES * max(lines, default=0.0)
        axes.set_xlim(0, max(room, end_of_axis(ends, texts, width)))
        axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
        return False
    axes.set_xscale("log")
    # A logarithmic axis has no origin, so that the length of a bar would mean nothing: markers.
    left = 10 ** math.floor(math.log10(0.7 * least))
    powers = [math.log(max(one / left, 1)) for one in [*ends, end]]
    right = end_of_axis(powers, [*texts, ""], width)
    axes.set_xlim(left, left * math.exp(max(right, _ROOM_FOR_LINES * powers[-1])))
    axes.xaxis.set_major_locator(LogLocator(base=10, numticks=6))
    axes.xaxis.set_minor_formatter(NullFormatter())
    return True


def end_of_axis(ends: Sequence[float], texts: Sequence[str], width: float) -> float:
    """Such that behind each bar there is room for its text, in axes of `width` inches."""
    taken = (min(0.8, (LETTER_INCHES * len(text) + 0.25) / width) for text in texts)
    return max(end / (1 - share) for end, share in zip(ends, taken))


def _number(value: float, unit: str) -> str:
    return f"{format_number(value)} {unit}".strip()


def draw_bar(
    axes: Axes,
    position: int,
    bar: Interval,
    limit: float,
    unit: str,
    face: ColorType,
    edge: ColorType,
) -> None:
    """A bar with its interval up to `limit`, and its number."""
    axes.barh(position, bar.median, height=THICKNESS, color=face, edgecolor=edge, linewidth=1.6)
    draw_interval(axes, position, bar, limit)
    write_number(axes, position, end_of(bar, limit), _number(bar.median, unit))


def draw_marker(
    axes: Axes, position: int, value: Interval, limit: float, unit: str, series: Series
) -> None:
    """The same by the series' marker, for a logarithmic axis."""
    style = {**line_style(series), "markersize": 8, "zorder": 3}
    axes.plot([value.median], [position], **style)
    draw_interval(axes, position, value, limit)
    write_number(axes, position, end_of(value, limit), _number(value.median, unit), points=10)


def write_number(axes: Axes, position: int, end: float, text: str, points: float = 6) -> None:
    """Right of the bar that ends there."""
    axes.annotate(
        text,
        (end, position),
        (points, 0),
        textcoords="offset points",
        va="center",
        fontsize=9,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
    )


def name_bars(axes: Axes, names: Sequence[str], used: Sequence[int] = ()) -> None:
    axes.set_yticks(range(len(names)), list(map(shortened, names)))
    for position in used:
        axes.get_yticklabels()[position].set_fontweight("bold")
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{value:,g}" if value < 1e7 else format_short(value))
    )
    axes.grid(True, axis="x")
