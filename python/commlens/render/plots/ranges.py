"""Curves of one metric over size with the range of each, named within the panel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib.axes import Axes

from commlens.base.text import printable
from commlens.render.plots import check_ending, saved, styled
from commlens.render.plots.colors import CEILING_COLOR
from commlens.render.plots.heading import Heading
from commlens.render.plots.layout import Layout, arranged
from commlens.render.plots.panel import Panel
from commlens.render.plots.ticks import set_byte_ticks, set_metric_axis

_WIDTH_INCHES = 7.0
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#555555", "#E69F00")
_MARKERS = "os^DvP"
_LONGEST = 90  # characters of a name


class Point(NamedTuple):
    """A value at a size, and the range around it."""

    size: int
    value: float
    low: float
    high: float


class SettingsCurve(NamedTuple):
    """A line of the panel."""

    label: str
    points: Sequence[Point]
    is_published: bool = False
    is_ceiling: bool = False


@dataclass(frozen=True)
class RangesPanel(Panel):
    """Curves of choices of settings, or of the sides of a comparison."""

    title: str
    metric: str  # with its unit
    in_bytes: bool
    curves: Sequence[SettingsCurve]
    size_name: str = "size"

    @property
    def height(self) -> float:
        """With room for the names."""
        return 3.8

    @property
    def heading(self) -> Heading:
        """The title."""
        return Heading(printable(self.title), "")

    def draw(self, axes: Axes, width: float) -> None:
        """Ceilings are dashed, what was published is dotted."""
        numbers = {True: 0, False: 0}
        for curve in self.curves:
            sizes, values, low, high = zip(*curve.points)
            style: dict[str, Any] = {"label": printable(curve.label)[:_LONGEST]}
            if curve.is_ceiling:
                axes.plot(sizes, values, color=CEILING_COLOR, linestyle="--", **style)
                continue
            number = numbers[curve.is_published] % len(_COLORS)
            numbers[curve.is_published] += 1
            style.update(color=_COLORS[number], marker=_MARKERS[number], markersize=4)
            axes.plot(sizes, values, linestyle=":" if curve.is_published else "-", **style)
            axes.fill_between(sizes, low, high, color=_COLORS[number], alpha=0.25, linewidth=0)
        axes.set_ylabel(self.metric)
        set_sizes(axes, [point.size for curve in self.curves for point in curve.points])
        if self.in_bytes:
            set_byte_ticks(axes.xaxis)
        axes.set_xlabel(self.size_name)
        set_metric_axis(axes)
        axes.grid(True)
        axes.legend(fontsize=7)


def set_sizes(axes: Axes, sizes: Sequence[int]) -> None:
    """A logarithmic axis with room for the outermost markers."""
    if min(sizes, default=0) > 0:
        axes.set_xscale("log", base=2)
        axes.set_xlim(min(sizes) / 1.4, max(sizes) * 1.4)


def draw(panels: Sequence[Panel], out: Path) -> None:
    """Draws panels below each other. Raises CommlensError if the picture cannot be written."""
    check_ending(out)
    with styled():
        saved(Layout(arranged(panels, 1), 1, _WIDTH_INCHES).draw(), out)
