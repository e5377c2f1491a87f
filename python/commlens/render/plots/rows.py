"""Horizontal bars below each other: their axis, their intervals, their numbers and their names.

Axes follow the bars: an interval much longer than they are is cut, with an arrow head where it is,
and a line below the axis says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from commlens.base.text import format_number, format_short
from commlens.model import Interval
from commlens.render.plots.colors import TEXT_COLOR
from commlens.render.plots.style import BAR_INCHES, LETTER_INCHES, label_inches, shortened
from commlens.render.plots.ticks import set_ticks

THICKNESS = 0.62
USED = " (used)"  # at the candidate that an application would use
_MOST = 2.0  # an interval is cut at so many times the longest bar or ceiling
_ROOM_FOR_LINES = 1.05  # length of the axis over that to the last ceiling
_NOTE = "▶ interval is longer than drawn"
_ARROW: dict[str, Any] = {
    "linestyle": "none",
    "color": TEXT_COLOR,
    "markersize": 7,
    "clip_on": False,
}


def rows_size(names: Sequence[str]) -> dict[str, Any]:
    """The size of a panel of so many bars, with room for their names, in inches."""
    height = max(1.9, 1.3 + BAR_INCHES * len(names))
    return {"height": height, "label_width": 0.35 + label_inches(names)}


def end_of(bar: Interval, limit: float) -> float:
    """Of the bar and what is drawn of its interval."""
    return bar.median if bar.ci_high is None else min(bar.ci_high, limit)


def limit_of(values: Sequence[float]) -> float:
    """Where intervals are cut, beside bars and ceilings of these values."""
    return _MOST * max(values)


def scaled(bar: Interval, factor: float) -> Interval:
    """In units of which one has `factor`."""
    low, high = (None if end is None else factor * end for end in (bar.ci_low, bar.ci_high))
    return Interval(factor * bar.median, low, high)


@dataclass(frozen=True)
class Rows:
    """Bars with what stands at them, in the unit of the axis."""

    names: Sequence[str]
    bars: Sequence[Interval]
    label: str  # of the axis
    unit: str
    lines: Sequence[float] = ()  # ceilings and the like, which the axis contains
    used: Sequence[int] = ()  # positions of what an application would use
    notes: Sequence[str] = ()  # behind the numbers; empty: none
    given_limit: float = 0.0  # of intervals; 0: as the bars and lines require

    @cached_property
    def limit(self) -> float:
        """Where intervals are cut."""
        return self.given_limit or limit_of([*(bar.median for bar in self.bars), *self.lines])

    @property
    def texts(self) -> list[str]:
        """The number of each bar, with its unit and its note."""
        texts = [f"{format_number(bar.median)} {self.unit}".strip() for bar in self.bars]
        texts = [text + USED * (place in self.used) for place, text in enumerate(texts)]
        notes = self.notes or [""] * len(texts)
        return [", ".join(filter(None, both)) for both in zip(texts, notes)]

    @property
    def ends(self) -> list[float]:
        """Where bars and intervals end."""
        return [end_of(bar, self.limit) for bar in self.bars]

    def set_axis(self, axes: Axes, width: float, end: float | None = None) -> float:
        """A linear axis of so many inches, with room for all; returns where it ends."""
        if end is None:
            room = _ROOM_FOR_LINES * max(self.lines, default=0.0)
            end = max(room, end_of_axis(self.ends, self.texts, width))
        axes.set_xlim(0, end)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
        return end

    def draw_bar(self, axes: Axes, position: int, face: Any, edge: Any) -> None:
        """A bar of one color."""
        median = self.bars[position].median
        axes.barh(position, median, height=THICKNESS, color=face, edgecolor=edge, linewidth=1.6)

    def finish(self, axes: Axes, has_halo: bool = False, points: float = 6) -> None:
        """Intervals and numbers, names, and the axis' label with a note where one is cut.

        Numbers stand so many points right of the bars.
        """
        for position, (bar, end, text) in enumerate(zip(self.bars, self.ends, self.texts)):
            self._draw_interval(axes, position, bar, has_halo)
            axes.annotate(
                text,
                (end, position),
                (points, 0),
                textcoords="offset points",
                va="center",
                fontsize=9,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
            )
        self._write_names(axes)
        is_cut = any(any(self._cuts(axes, bar)) for bar in self.bars)
        axes.set_xlabel(f"{self.label}\n{_NOTE}" if is_cut else self.label)

    def _write_names(self, axes: Axes) -> None:
        axes.set_yticks(range(len(self.names)), list(map(shortened, self.names)))
        for position in self.used:
            axes.get_yticklabels()[position].set_fontweight("bold")
        axes.set_ylim(len(self.names) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        set_ticks(
            axes.xaxis, None, lambda value: f"{value:,g}" if value < 1e7 else format_short(value)
        )
        axes.grid(True, axis="x")

    def _draw_interval(self, axes: Axes, position: int, bar: Interval, has_halo: bool) -> None:
        """From the left end of the axis, which must be set, to the limit.

        A halo is a white edge, which makes it visible on a dark part.
        """
        if bar.ci_low is None or bar.ci_high is None:
            return
        cuts = self._cuts(axes, bar)
        ends = [max(bar.ci_low, axes.get_xlim()[0]), min(bar.ci_high, self.limit)]
        style: dict[str, Any] = {
            "marker": "|",
            "markevery": [end for end, is_cut in enumerate(cuts) if not is_cut],
        }
        if has_halo:
            edge: dict[str, Any] = {"linewidth": 2.8, "markersize": 8, "markeredgewidth": 2.8}
            axes.plot(ends, [position] * 2, color="white", **edge, **style)
        axes.plot(ends, [position] * 2, color=TEXT_COLOR, linewidth=1.2, markersize=6, **style)
        for end, is_cut, arrow in zip(ends, cuts, "<>"):
            if is_cut:
                axes.plot([end], [position], marker=arrow, **_ARROW)

    def _cuts(self, axes: Axes, bar: Interval) -> tuple[bool, bool]:
        """Whether its lower and its upper end are beyond what is drawn."""
        if bar.ci_low is None or bar.ci_high is None:
            return False, False
        return bar.ci_low < axes.get_xlim()[0], bar.ci_high > self.limit


def end_of_axis(ends: Sequence[float], texts: Sequence[str], width: float) -> float:
    """Such that behind each bar there is room for its text, in axes of `width` inches."""
    taken = (min(0.8, (LETTER_INCHES * len(text) + 0.25) / width) for text in texts)
    return max(end / (1 - share) for end, share in zip(ends, taken))
