"""Curves of one metric over size with the range of each, named within the panel."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib.axes import Axes

from commlens.base.text import format_bytes, printable
from commlens.render.plots import check_picture, saved, styled
from commlens.render.plots.colors import CEILING_COLOR
from commlens.render.plots.layout import Layout, arranged
from commlens.render.plots.panel import Panel
from commlens.render.plots.ticks import set_metric_axis, set_size_axis

_WIDTH_INCHES, _HEIGHT_INCHES = 7.0, 3.8  # with room for the names
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


def ranges_panel(
    title: str,
    metric: str,
    in_bytes: bool,
    curves: Sequence[SettingsCurve],
    size_name: str = "size",
) -> Panel:
    """Curves of choices of settings, or of the sides of a comparison. The metric is with its unit.

    Ceilings are dashed, what was published is dotted.
    """

    def draw(axes: Axes, width: float) -> None:
        numbers = {True: 0, False: 0}
        for curve in curves:
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
        axes.set_ylabel(metric)
        all_sizes = sorted({point.size for curve in curves for point in curve.points})
        text = format_bytes if in_bytes else "{:g}".format
        set_size_axis(axes, all_sizes, size_name, in_bytes, text)
        set_metric_axis(axes)
        axes.grid(True)
        axes.legend(fontsize=7)

    return Panel(printable(title), draw, height=_HEIGHT_INCHES)


def draw(panels: Sequence[Panel], out: Path) -> None:
    """Draws panels below each other. Raises CommlensError if the picture cannot be written."""
    check_picture(out)
    with styled():
        saved(Layout(arranged(panels, 1), 1, _WIDTH_INCHES).draw(), out)
