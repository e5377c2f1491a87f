"""The main metric against size: a curve per series, a dashed line per ceiling."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import (
    FixedLocator,
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    NullFormatter,
    NullLocator,
)

from commlens.base.text import labelled
from commlens.model import Group
from commlens.render.plots.colors import CEILING_COLOR
from commlens.render.plots.panel import CeilingStyles, Panel, ceilings, is_in_bytes
from commlens.render.plots.published import PublishedStyles
from commlens.render.plots.style import WIDEST, line_style

_MAX_TICKS = 8
_LETTERS_OF_TICKS = 26  # of all labels
# Ticks within each power of ten, by the ratio of the axis' end to its beginning.
_TICKS: tuple[tuple[float, tuple[float, ...]], ...] = (
    (2, ()),  # can contain none of them
    (5, (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)),
    (30, (1, 2, 5)),
    (math.inf, (1,)),
)


def draw_curves(
    axes: Axes, panel: Panel, styles: CeilingStyles, published: PublishedStyles
) -> None:
    for figure, curve in published.curves(panel):
        style = published.style(figure)
        if figure.transport in panel.theme.transports:
            color, _ = panel.theme.transports[figure.transport]
            style.update(markerfacecolor=color, markeredgecolor=color)
        axes.plot(*zip(*curve), zorder=1.6, **style)
    for memory, ceiling, points in ceilings(panel):
        axes.plot(
            [size for size, _ in points],
            [value for _, value in points],
            color=CEILING_COLOR,
            linestyle=styles.line(memory, ceiling),
            linewidth=1.3,
            zorder=1.5,
        )
    for series in panel.series:
        records = [record for record in panel.records_of(series) if record.size is not None]
        sizes = [record.size or 0 for record in records]
        own = [record.statistics[panel.metric.name] for record in records]
        low, high = zip(*(entry.drawn for entry in own))
        axes.fill_between(sizes, low, high, color=series.color, alpha=0.3, linewidth=0, zorder=2)
        medians = [entry.median for entry in own]
        axes.plot(sizes, medians, zorder=3, label=series.label, **line_style(series))
    axes.grid(True, which="major")
    _set_size_axis(axes, panel.group)
    set_metric_axis(axes)
    axes.set_ylabel(labelled(panel.metric.label, panel.metric.unit))


def _set_size_axis(axes: Axes, group: Group) -> None:
    axes.set_xlabel(group.size_name)
    if group.sizes[0] > 0:
        axes.set_xscale("log", base=2)
        ticks = _ticks_in_bytes(group.sizes) if is_in_bytes(group) else _ticks(group)
        axes.xaxis.set_major_locator(FixedLocator(ticks))
    else:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: group.format_size(round(size))))
    axes.xaxis.set_minor_locator(NullLocator())


def set_metric_axis(axes: Axes) -> None:
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    if high > WIDEST * low:  # of a few odd values; the others would be a line
        low = high / WIDEST
        axes.set_ylim(low, high)
    span = high / low
    subs = next(subs for limit, subs in _TICKS if span < limit)
    locator = LogLocator(base=10, subs=subs, numticks=12) if subs else MaxNLocator(nbins=6)
    axes.yaxis.set_major_locator(locator)
    if span < 5:
        axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value)))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _ticks_in_bytes(sizes: Sequence[int]) -> list[float]:
    """Powers of two over the sizes, a whole power of two apart: at most eight."""
    first, last = math.floor(math.log2(min(sizes))), math.ceil(math.log2(max(sizes)))
    step = next(step for step in (1, 2, 5, 10, 20) if (last - first) / step < _MAX_TICKS)
    start = math.ceil(first / step) * step if step in (5, 10, 20) else first
    return [2.0**power for power in range(start, last + 1, step)]


def _ticks(group: Group) -> list[float]:
    """Those sizes whose labels do not overlap on a logarithmic axis."""
    sizes = group.sizes
    count = max(1, _LETTERS_OF_TICKS // max(len(group.format_size(size)) for size in sizes))
    room = (sizes[-1] / sizes[0]) ** (1 / count)
    chosen: list[float] = []
    for size in sizes:
        if not chosen or size / chosen[-1] >= room:
            chosen.append(size)
    return chosen


def _tick(value: float) -> str:
    """A power of ten in as few characters as possible: 0.01, 1000, 10k, 1M."""
    for limit, size, unit in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if value >= limit:
            return f"{value / size:g}{unit}"
    return f"{value:g}" if value >= 1e-4 else f"{value:.9f}".rstrip("0")
