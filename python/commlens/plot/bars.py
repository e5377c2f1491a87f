"""The benchmark's own figure at a single size: a bar a series, a dashed line a ceiling."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
from matplotlib.typing import ColorType

from commlens.plot.panel import CeilingStyles, Panel, ceilings
from commlens.plot.style import CEILING_COLOUR, TEXT_COLOUR
from commlens.records import Statistic
from commlens.text import figure_label, figure_unit, format_number, readable_figure

THICKNESS = 0.62
_ROOM_FOR_LABELS = 1.22  # how many times the longest bar the axis is

_LOGARITHMIC_FROM = 20  # how many times the shortest bar the longest is


def draw_bars(axes: Axes, panel: Panel, styles: CeilingStyles) -> None:
    bars = [(series, panel.records_of(series)[0].statistics[panel.figure]) for series in panel.series]
    lines = [(styles.line(memory, ceiling), points[0][1]) for memory, ceiling, points in ceilings(panel)]
    medians = [own.median for _, own in bars]
    figure, factor = readable_figure(panel.figure, max(medians))
    values = [factor * value for value in [*medians, *(value for _, value in lines)]]
    ends = [factor * (own.median if own.ci_high is None else own.ci_high) for _, own in bars]
    is_logarithmic = 0 < _LOGARITHMIC_FROM * min(medians) < max(medians) and min(values) > 0
    if is_logarithmic:
        axes.set_xscale("log")
        # A bar of a logarithmic axis has no natural beginning: a whole power of ten leaves each a length to be seen.
        left = 10 ** math.floor(math.log10(0.7 * min(values)))
        axes.set_xlim(left, left * (max(values + ends) / left) ** _ROOM_FOR_LABELS)
        axes.xaxis.set_major_locator(LogLocator(base=10, numticks=6))
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_xlim(0, _ROOM_FOR_LABELS * max(values + ends))
        axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
    for position, (series, own) in enumerate(bars):
        face = (*series.colour, 0.15 if series.filling == "none" else 1)
        draw_bar(axes, position, scaled(own, factor), figure_unit(figure), face, series.colour)
    for dashes, value in lines:
        axes.axvline(factor * value, color=CEILING_COLOUR, linestyle=dashes, linewidth=1.3, zorder=1.5)
    name_bars(axes, [series.label for series, _ in bars])
    axes.set_xlabel(figure_label(figure) + (", logarithmic" if is_logarithmic else ""))


def scaled(own: Statistic, factor: float) -> Statistic:
    low, high = (None if end is None else factor * end for end in (own.ci_low, own.ci_high))
    return Statistic(factor * own.median, low, high)


def draw_bar(axes: Axes, position: int, own: Statistic, unit: str, face: ColorType, edge: ColorType) -> None:
    """A bar with its interval and its number."""
    axes.barh(position, own.median, height=THICKNESS, color=face, edgecolor=edge, linewidth=1.6)
    end = own.median if own.ci_high is None else own.ci_high
    draw_interval(axes, position, own)
    write_number(axes, position, end, f"{format_number(own.median)} {unit}".strip())


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


def name_bars(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.grid(True, axis="x")
