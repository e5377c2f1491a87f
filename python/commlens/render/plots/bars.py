"""Horizontal bars below each other, of one color or of segments, with intervals and numbers.

Axes follow the bars: an interval much longer than they are is cut, with an arrow head where it is,
and a line below the axis says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from commlens.base.text import format_number, format_percent, format_short, labelled, readable_time
from commlens.model import Group, Interval, Metric, Record
from commlens.render.plots.colors import TEXT_COLOR, color_of_text_on
from commlens.render.plots.panel import Panel, joined
from commlens.render.plots.style import (
    BAR_INCHES,
    LETTER_INCHES,
    WIDEST,
    Series,
    label_inches,
    shortened,
)
from commlens.render.plots.ticks import powers, set_ticks

_THICKNESS = 0.62
_MOST = 2.0  # an interval is cut at so many times the longest bar or ceiling
_ROOM_FOR_LINES = 1.05  # length of the axis over that to the last ceiling
_ROOM_ON_SCALE = 1.3  # the same, to the end of a given scale
_LOGARITHMIC_FROM = 20  # ratio of the longest bar to the shortest
_NOTE = "▶ interval is longer than drawn"
_ARROW: dict[str, Any] = {
    "linestyle": "none",
    "color": TEXT_COLOR,
    "markersize": 7,
    "clip_on": False,
}
_SHARE_POINTS = 7.0
_CHARACTER_OF_SHARE_POINTS = 0.62 * _SHARE_POINTS
MARK: dict[str, Any] = {  # of the ceiling of a segment
    "markersize": 4.5,
    "markerfacecolor": TEXT_COLOR,
    "markeredgecolor": "white",
    "markeredgewidth": 0.6,
    "linestyle": "none",
    "clip_on": False,
}


class Segment(NamedTuple):
    """A piece of a bar; marks are ceilings: marker and length from where the piece begins."""

    color: Any
    length: float
    marks: Sequence[tuple[str, float]] = ()
    edge: Any = None  # None: thin and white


class Bar(NamedTuple):
    """A bar with what stands at it. All lengths of a panel are in one unit."""

    name: str
    value: Interval
    segments: Sequence[Segment] = ()  # empty: it is of one color, that of its series
    series: Series | None = None  # whose marker takes the place of the bar on a logarithmic axis
    whole: float = 0.0  # of which segments have shares, which are written into them; 0: none are
    note: str = ""  # behind the number
    is_used: bool = False  # by an application that chooses among the bars
    level: str = ""  # a line separates bars of several


class BarLine(NamedTuple):
    """A ceiling, or what was published."""

    style: Mapping[str, Any]
    value: float
    position: int | None = None  # of the only bar that it is of


def bars_of_records(
    metric: Metric, records: Mapping[Series, Record], groups: Sequence[Group]
) -> list[Bar]:
    """A bar of the metric of each record; `groups` are theirs."""
    return [
        Bar(
            series.label,
            record.statistics[metric.name].scaled(1),
            series=series,
            is_used=any(record in group.used for group in groups),
        )
        for series, record in records.items()
    ]


def ends_of(values: Sequence[Interval], limit: float = 0.0) -> list[float]:
    """Where bars end, with what is drawn of their intervals up to a limit."""
    limit = limit or _MOST * max(value.median for value in values)
    highs = ((value.median, value.ci_high) for value in values)
    return [median if high is None else min(high, limit) for median, high in highs]


@dataclass(frozen=True)
class Bars:
    """The bars of a panel."""

    label: str  # of the axis, without the unit
    unit: str  # of all values; of times, another one may be written
    bars: Sequence[Bar]
    lines: Sequence[BarLine] = ()  # which the axis contains
    scale: float = 0.0  # the longest bar of all panels on the same scale; 0: it has its own

    def panel(self, title: str, details: str, **more: Any) -> Panel:
        """As high as the bars are many, with room for their names."""
        more["height"] = max(1.9, 1.3 + BAR_INCHES * len(self.bars))
        more["label_width"] = 0.35 + label_inches([bar.name for bar in self.bars])
        return Panel(title, self._draw, details, **more)

    @cached_property
    def _values(self) -> list[float]:
        return [*(bar.value.median for bar in self.bars), *(line.value for line in self.lines)]

    @cached_property
    def _limit(self) -> float:
        """Where intervals are cut."""
        return self.scale or _MOST * max(self._values)

    @cached_property
    def _ends(self) -> list[float]:
        return ends_of([bar.value for bar in self.bars], self._limit)

    @cached_property
    def _written(self) -> tuple[str, float]:
        """The unit that is written, and its factor."""
        return readable_time(self.unit, self.scale or max(self._values))

    @cached_property
    def _texts(self) -> list[str]:
        """The number of each bar, with its unit and its note."""
        unit, factor = self._written
        numbers = (f"{format_number(factor * bar.value.median)} {unit}" for bar in self.bars)
        return [
            joined(number.strip() + " (used)" * bar.is_used, bar.note, separator=", ")
            for number, bar in zip(numbers, self.bars)
        ]

    @cached_property
    def _is_logarithmic(self) -> bool:
        """Such an axis has no origin, so that the length of a bar would mean nothing: markers."""
        medians = [bar.value.median for bar in self.bars]
        return (
            all(bar.series for bar in self.bars)
            and 0 < _LOGARITHMIC_FROM * min(medians) < max(medians)
            and max(*self._ends, *self._values) < WIDEST * min(self._values)
        )

    def _draw(self, axes: Axes, width: float) -> None:
        self._set_axes(axes, width)
        points_per_unit = 72 * width / axes.get_xlim()[1]
        for position, bar in enumerate(self.bars):
            if bar.series and self._is_logarithmic:
                style: dict[str, Any] = {**bar.series.style, "markersize": 8, "zorder": 3}
                axes.plot([bar.value.median], [position], **style)
            else:
                _draw_segments(axes, position, bar, points_per_unit)
            if position and self.bars[position - 1].level != bar.level:
                axes.axhline(position - 0.5, color="#C8C8C8", linewidth=0.8, zorder=0.9)
        for line in self.lines:
            if line.position is None:
                axes.axvline(line.value, **{"zorder": 1.5, **line.style})
            else:  # with its marker, if it has any, in the middle of the bar
                ends = line.position - 0.5, line.position, line.position + 0.5
                style = {"zorder": 1.6, "markevery": [1], **line.style}
                axes.plot([line.value] * 3, ends, **style)
        is_cut = [self._draw_interval(axes, *numbered) for numbered in enumerate(self.bars)]
        label = labelled(self.label, self._written[0]) + ", logarithmic" * self._is_logarithmic
        axes.set_xlabel(f"{label}\n{_NOTE}" if any(is_cut) else label)
        for position, (end, text) in enumerate(zip(self._ends, self._texts)):
            axes.annotate(
                text,
                (end, position),
                (10 if self._is_logarithmic else 6, 0),
                textcoords="offset points",
                va="center",
                fontsize=9,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
            )

    def _set_axes(self, axes: Axes, width: float) -> None:
        """With room for the number behind each bar, in axes of `width` inches."""

        def end_of(ends: Sequence[float], lines: Sequence[float]) -> float:
            taken = (min(0.8, (LETTER_INCHES * len(text) + 0.25) / width) for text in self._texts)
            behind = (end / (1 - share) for end, share in zip(ends, taken))
            return max(*behind, _ROOM_FOR_LINES * max(lines, default=0.0))

        if self._is_logarithmic:
            left = 10 ** math.floor(math.log10(0.7 * min(self._values)))
            ends = [math.log(max(length / left, 1)) for length in [*self._ends, *self._values]]
            axes.set_xscale("log")
            axes.set_xlim(left, left * math.exp(end_of(ends, ends)))
        else:
            end = end_of(self._ends, [line.value for line in self.lines])
            axes.set_xlim(0, _ROOM_ON_SCALE * self.scale or end)

        def number(value: float) -> str:
            value *= self._written[1]
            return f"{value:,g}" if value < 1e7 else format_short(value)

        locator = powers(most=6) if self._is_logarithmic else MaxNLocator(nbins=5)
        set_ticks(axes.xaxis, locator, number)
        axes.set_yticks(range(len(self.bars)), [shortened(bar.name) for bar in self.bars])
        for bar, label in zip(self.bars, axes.get_yticklabels()):
            label.set_fontweight("bold" if bar.is_used else "normal")
        axes.set_ylim(len(self.bars) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.grid(True, axis="x")

    def _draw_interval(self, axes: Axes, position: int, bar: Bar) -> bool:
        """Between the left end of the axis and the limit; whether it is cut there."""
        low, high, left = bar.value.ci_low, bar.value.ci_high, axes.get_xlim()[0]
        if low is None or high is None:
            return False
        cuts, ends = (low < left, high > self._limit), (max(low, left), min(high, self._limit))
        style: dict[str, Any] = {
            "marker": "|",
            "markevery": [end for end, is_cut in enumerate(cuts) if not is_cut],
        }
        if bar.whole:  # a white edge makes it visible on a dark part
            edge: dict[str, Any] = {"linewidth": 2.8, "markersize": 8, "markeredgewidth": 2.8}
            axes.plot(ends, [position] * 2, color="white", **edge, **style)
        axes.plot(ends, [position] * 2, color=TEXT_COLOR, linewidth=1.2, markersize=6, **style)
        for end, is_cut, arrow in zip(ends, cuts, "<>"):
            if is_cut:
                axes.plot([end], [position], marker=arrow, **_ARROW)
        return any(cuts)


def _draw_segments(axes: Axes, position: int, bar: Bar, points_per_unit: float) -> None:
    """One after the other, with the share of each in the whole where there is room for it, and not
    where the interval is drawn; with ceilings on the upper edge."""
    left, low, high = 0.0, bar.value.ci_low, bar.value.ci_high
    segments = bar.segments
    if bar.series:
        edge = bar.series.color
        face = (*edge, 0.15 if bar.series.is_open else 1)
        segments = [Segment(face, bar.value.median, edge=edge)]
    for color, length, marks, edge in segments:
        style: dict[str, Any] = {"edgecolor": edge or "white", "linewidth": 1.6 if edge else 0.6}
        axes.barh(position, length, left=left, height=_THICKNESS, color=color, **style)
        if bar.whole:
            share = format_percent(length / bar.whole)
            room = (_CHARACTER_OF_SHARE_POINTS * len(share) + 5) / points_per_unit
            middle = left + length / 2
            is_covered = low is not None and high is not None and low - room < middle < high + room
            if length >= room and not is_covered:
                text = axes.text(middle, position, share, ha="center", va="center_baseline")
                text.set(fontsize=_SHARE_POINTS, color=color_of_text_on(color))
        for marker, place in marks:
            top = position - _THICKNESS / 2
            axes.plot(left + place, top, marker=marker, zorder=4, **MARK)
        left += length
