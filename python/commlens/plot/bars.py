"""The benchmark's own figure at a single size: a bar a series, a dashed line a ceiling."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
from matplotlib.typing import ColorType

from commlens.plot.panel import CeilingStyles, Panel, ceilings
from commlens.plot.style import CEILING_COLOUR, LETTER_INCHES, PANEL_INCHES, TEXT_COLOUR
from commlens.records import Statistic
from commlens.text import figure_label, figure_unit, format_number, format_short, readable_figure

THICKNESS = 0.62
USED = " (used)"  # at the candidate that an application would use
_ROOM_FOR_LABELS = 1.22  # how many times the longest bar the axis is

_LOGARITHMIC_FROM = 20  # how many times the shortest bar the longest is


def draw_bars(axes: Axes, panel: Panel, styles: CeilingStyles) -> None:
    bars = [(series, panel.records_of(series)[0].statistics[panel.figure]) for series in panel.series]
    lines = [(styles.line(memory, ceiling), points[0][1]) for memory, ceiling, points in ceilings(panel)]
    medians = [own.median for _, own in bars]
    figure, factor = readable_figure(panel.figure, max(medians))
    values = [factor * value for value in [*medians, *(value for _, value in lines)]]
    ends = [factor * (own.median if own.ci_high is None else own.ci_high) for _, own in bars]
    used = [position for position, series in enumerate(panel.series) if panel.is_used(series)]
    units = [figure_unit(figure) + (USED if position in used else "") for position in range(len(bars))]
    longest = max(len(_number(own.median * factor, unit)) for (_, own), unit in zip(bars, units, strict=True))
    room = max(_ROOM_FOR_LABELS, room_for(longest, panel.label_width))
    is_logarithmic = 0 < _LOGARITHMIC_FROM * min(medians) < max(medians) and min(values) > 0
    if is_logarithmic:
        axes.set_xscale("log")
        # A bar of a logarithmic axis has no natural beginning: a whole power of ten leaves each a length to be seen.
        left = 10 ** math.floor(math.log10(0.7 * min(values)))
        axes.set_xlim(left, left * (max(values + ends) / left) ** room)
        axes.xaxis.set_major_locator(LogLocator(base=10, numticks=6))
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_xlim(0, room * max(values + ends))
        axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
    for position, (series, own) in enumerate(bars):
        face = (*series.colour, 0.15 if series.filling == "none" else 1)
        draw_bar(axes, position, scaled(own, factor), units[position], face, series.colour)
    for dashes, value in lines:
        axes.axvline(factor * value, color=CEILING_COLOUR, linestyle=dashes, linewidth=1.3, zorder=1.5)
    name_bars(axes, [series.label for series, _ in bars], used)
    axes.set_xlabel(figure_label(figure) + (", logarithmic" if is_logarithmic else ""))


def room_for(letters: int, label_width: float) -> float:
    """How many times the longest bar the axis is, for so many letters behind it and names of `label_width` inches."""
    return 1 / (1 - (LETTER_INCHES * letters + 0.15) / (PANEL_INCHES[0] - label_width - 0.2))


def _number(value: float, unit: str) -> str:
    return f"{format_number(value)} {unit}".strip()


def scaled(own: Statistic, factor: float) -> Statistic:
    low, high = (None if end is None else factor * end for end in (own.ci_low, own.ci_high))
    return Statistic(factor * own.median, low, high)


def draw_bar(axes: Axes, position: int, own: Statistic, unit: str, face: ColorType, edge: ColorType) -> None:
    """A bar with its interval and its number."""
    axes.barh(position, own.median, height=THICKNESS, color=face, edgecolor=edge, linewidth=1.6)
    end = own.median if own.ci_high is None else own.ci_high
    draw_interval(axes, position, own)
    write_number(axes, position, end, _number(own.median, unit))


def draw_interval(axes: Axes, position: int, own: Statistic) -> None:
    if own.ci_low is not None and own.ci_high is not None:
        ends = [own.ci_low, own.ci_high]
        axes.plot(ends, [position] * 2, color=TEXT_COLOUR, linewidth=1.2, marker="|", markersize=6)


def write_number(axes: Axes, position: int, end: float, text: str) -> None:
    """Right of the bar that ends there."""
    axes.annotate(
        text,
        (end, position),
        (6, 0),
        textcoords="offset points",
        va="center",
        fontsize=9,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
    )


def name_bars(axes: Axes, names: Sequence[str], used: Sequence[int] = ()) -> None:
    axes.set_yticks(range(len(names)), names)
    for position in used:
        axes.get_yticklabels()[position].set_fontweight("bold")
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{value:,g}" if value < 1e7 else format_short(value))
    )
    axes.grid(True, axis="x")
