"""Curves of one metric over size, one for each choice of settings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from commlens.base.text import format_bytes, printable
from commlens.render.plots import check_ending, saved, styled
from commlens.render.plots.colors import CEILING_COLOR
from commlens.render.plots.curves import set_metric_axis

_PANEL_INCHES = (7.0, 4.4)
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#555555", "#E69F00")
_MARKERS = "os^DvP"
_LONGEST = 90


class Point(NamedTuple):
    size: int
    value: float
    low: float
    high: float


class SettingsCurve(NamedTuple):
    label: str
    points: Sequence[Point]
    is_published: bool = False
    is_ceiling: bool = False


class CurvesPanel(NamedTuple):
    title: str
    metric: str  # with its unit
    in_bytes: bool
    curves: Sequence[SettingsCurve]


def draw(panels: Sequence[CurvesPanel], out: Path) -> None:
    """Raises CommlensError where the picture cannot be written."""
    check_ending(out)
    width, height = _PANEL_INCHES
    with styled():
        figure = Figure(figsize=(width, height * len(panels)), layout="constrained")
        for axes, panel in zip(figure.subplots(len(panels), 1, squeeze=False)[:, 0], panels):
            _draw_panel(axes, panel)
        saved(figure, out)


def _draw_panel(axes: Axes, panel: CurvesPanel) -> None:
    numbers = {True: 0, False: 0}
    for curve in panel.curves:
        sizes = [point.size for point in curve.points]
        values = [point.value for point in curve.points]
        label = printable(curve.label)[:_LONGEST]
        if curve.is_ceiling:
            axes.plot(sizes, values, color=CEILING_COLOR, linestyle="--", label=label)
            continue
        number = numbers[curve.is_published] % len(_COLORS)
        numbers[curve.is_published] += 1
        axes.plot(
            sizes, values, label=label, color=_COLORS[number], marker=_MARKERS[number],
            markersize=4, linestyle=":" if curve.is_published else "-",
        )  # fmt: skip
        low, high = [point.low for point in curve.points], [point.high for point in curve.points]
        axes.fill_between(sizes, low, high, color=_COLORS[number], alpha=0.25, linewidth=0)
    axes.set_title(printable(panel.title)[:120], fontsize=9, loc="left")
    axes.set_ylabel(panel.metric)
    sizes = [point.size for curve in panel.curves for point in curve.points]
    if min(sizes, default=0) > 0:
        axes.set_xscale("log", base=2)
        axes.set_xlim(min(sizes) / 1.4, max(sizes) * 1.4)
    if panel.in_bytes:
        axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: format_bytes(round(size))))
    axes.set_xlabel("size")
    set_metric_axis(axes)
    axes.grid(True)
    axes.legend(fontsize=7)
