"""The main metric at a single size: a bar per series, or a marker where they are far apart."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
from matplotlib.typing import ColorType

from commlens.plot.panel import CeilingStyles, Panel, ceilings
from commlens.plot.style import (
    CEILING_COLOR,
    LETTER_INCHES,
    PANEL_INCHES,
    TEXT_COLOR,
    WIDEST,
    Series,
    line_style,
    shortened,
)
from commlens.records import Interval
from commlens.text import format_number, format_short, labelled, readable_time

THICKNESS = 0.62
USED = " (used)"  # at the candidate that an application would use
_ROOM_FOR_LABELS = 1.22  # length of the axis over that of the longest bar

_LOGARITHMIC_FROM = 20  # ratio of the longest bar to the shortest


def draw_bars(axes: Axes, panel: Panel, styles: CeilingStyles) -> None:
    metric, series = panel.metric, panel.series
    statistics = [panel.records_of(own)[0].statistics[metric.name] for own in series]
    unit, factor = readable_time(metric.unit, max(own.median for own in statistics))
    bars = [own.scaled(factor) for own in statistics]
    lines = [
        (styles.line(memory, ceiling), factor * points[0][1])
        for memory, ceiling, points in ceilings(panel)
    ]
    used = [position for position, own in enumerate(series) if panel.is_used(own)]
    units = [unit + (USED if position in used else "") for position in range(len(bars))]
    letters = max(len(_number(bar.median, text)) for bar, text in zip(bars, units))
    room = max(_ROOM_FOR_LABELS, room_for(letters, panel.label_width))
    is_logarithmic = _set_axis(axes, bars, [value for _, value in lines], room)
    for position, (own, bar) in enumerate(zip(series, bars)):
        if is_logarithmic:
            draw_marker(axes, position, bar, units[position], own)
        else:
            face = (*own.color, 0.15 if own.filling == "none" else 1)
            draw_bar(axes, position, bar, units[position], face, own.color)
    for dashes, value in lines:
        axes.axvline(value, color=CEILING_COLOR, linestyle=dashes, linewidth=1.3, zorder=1.5)
    name_bars(axes, [own.label for own in series], used)
    axes.set_xlabel(labelled(metric.label, unit) + (", logarithmic" if is_logarithmic else ""))


def _set_axis(axes: Axes, bars: Sequence[Interval], lines: Sequence[float], room: float) -> bool:
    """True if the axis is logarithmic, as where the shortest bar would be too short to see."""
    medians = [bar.median for bar in bars]
    least = min([*medians, *lines])
    end = max(*map(end_of, bars), *medians, *lines)
    is_logarithmic = 0 < _LOGARITHMIC_FROM * min(medians) < max(medians) and end < WIDEST * least
    if not is_logarithmic:
        axes.set_xlim(0, room * end)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
        return False
    axes.set_xscale("log")
    # A logarithmic axis has no origin, so that the length of a bar would mean nothing: markers.
    left = 10 ** math.floor(math.log10(0.7 * least))
    axes.set_xlim(left, left * (end / left) ** room)
    axes.xaxis.set_major_locator(LogLocator(base=10, numticks=6))
    axes.xaxis.set_minor_formatter(NullFormatter())
    return True


def room_for(letters: int, label_width: float) -> float:
    """Length of the axis over that of the longest bar, with so many letters behind the bar.

    `label_width` is that of the names before the bars, in inches.
    """
    taken = (LETTER_INCHES * letters + 0.15) / (PANEL_INCHES[0] - label_width - 0.2)
    return 1 / (1 - min(0.8, taken))


def end_of(bar: Interval) -> float:
    return bar.median if bar.ci_high is None else bar.ci_high


def _number(value: float, unit: str) -> str:
    return f"{format_number(value)} {unit}".strip()


def draw_bar(
    axes: Axes, position: int, bar: Interval, unit: str, face: ColorType, edge: ColorType
) -> None:
    """A bar with its interval and its number."""
    axes.barh(position, bar.median, height=THICKNESS, color=face, edgecolor=edge, linewidth=1.6)
    draw_interval(axes, position, bar)
    write_number(axes, position, end_of(bar), _number(bar.median, unit))


def draw_marker(axes: Axes, position: int, value: Interval, unit: str, series: Series) -> None:
    """The same by the series' marker, for a logarithmic axis."""
    style = {**line_style(series), "markersize": 8, "zorder": 3}
    axes.plot([value.median], [position], **style)
    draw_interval(axes, position, value)
    write_number(axes, position, end_of(value), _number(value.median, unit), points=10)


def draw_interval(axes: Axes, position: int, bar: Interval) -> None:
    if bar.ci_low is not None and bar.ci_high is not None:
        ends = [bar.ci_low, bar.ci_high]
        axes.plot(ends, [position] * 2, color=TEXT_COLOR, linewidth=1.2, marker="|", markersize=6)


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
