"""The benchmark's own figure against the size: a curve a series, a dashed line a ceiling."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from commlens.plot.panel import CeilingStyles, Panel, ceilings
from commlens.plot.style import CEILING_COLOUR, line_style
from commlens.records import Case
from commlens.text import figure_label

_MOST_TICKS = 8
_LETTERS_OF_TICKS = 26  # of all labels
# Where in each power of ten the ticks stand, by how many times its beginning the end of the axis is.
_TICKS: tuple[tuple[float, tuple[float, ...]], ...] = (
    (2, ()),  # may hold none of them
    (5, (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)),
    (30, (1, 2, 5)),
    (math.inf, (1,)),
)


def draw_curves(axes: Axes, panel: Panel, styles: CeilingStyles) -> None:
    case, figure = panel.case, panel.figure
    for memory, ceiling, values in ceilings(panel):
        axes.plot(
            [size for size, _ in values],
            [value for _, value in values],
            color=CEILING_COLOUR,
            linestyle=styles.line(memory, ceiling),
            linewidth=1.3,
            zorder=1.5,
        )
    for series in panel.series:
        points = [(size, record) for record in panel.records_of(series) if (size := case.size(record)) is not None]
        sizes = [size for size, _ in points]
        own = [record.statistics[figure] for _, record in points]
        low = [entry.median if entry.ci_low is None else entry.ci_low for entry in own]
        high = [entry.median if entry.ci_high is None else entry.ci_high for entry in own]
        axes.fill_between(sizes, low, high, color=series.colour, alpha=0.3, linewidth=0, zorder=2)
        axes.plot(sizes, [entry.median for entry in own], zorder=3, **line_style(series))
    axes.set_yscale("log")
    axes.grid(True, which="major")
    axes.set_xlabel(case.size_name)
    axes.set_ylabel(figure_label(figure))
    if case.sizes[0] > 0:
        axes.set_xscale("log", base=2)
        ticks = _ticks_in_bytes(case.sizes) if case.swept is None else _ticks(case)
        axes.xaxis.set_major_locator(FixedLocator(ticks))
    else:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: case.format_size(round(size))))
    axes.xaxis.set_minor_locator(NullLocator())
    low_limit, high_limit = axes.get_ylim()
    span = high_limit / low_limit
    subs = next(subs for limit, subs in _TICKS if span < limit)
    axes.yaxis.set_major_locator(LogLocator(base=10, subs=subs, numticks=12) if subs else MaxNLocator(nbins=6))
    if span < 5:
        axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value)))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _ticks_in_bytes(sizes: Sequence[int]) -> list[float]:
    """Powers of two over the sizes, a whole power of two apart, so that there are at most eight."""
    first, last = math.floor(math.log2(min(sizes))), math.ceil(math.log2(max(sizes)))
    step = next(step for step in (1, 2, 5, 10, 20) if (last - first) / step < _MOST_TICKS)
    start = math.ceil(first / step) * step if step in (5, 10, 20) else first
    return [2.0**power for power in range(start, last + 1, step)]


def _ticks(case: Case) -> list[float]:
    """Those of the sizes themselves whose labels leave each other room on a logarithmic axis."""
    sizes = case.sizes
    most = max(1, _LETTERS_OF_TICKS // max(len(case.format_size(size)) for size in sizes))
    room = (sizes[-1] / sizes[0]) ** (1 / most)
    chosen: list[float] = []
    for size in sizes:
        if not chosen or size / chosen[-1] >= room:
            chosen.append(size)
    return chosen


def _tick(value: float) -> str:
    """A power of ten in as few characters as may be: 0.01, 1000, 10k, 1M."""
    for limit, size, unit in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if value >= limit:
            return f"{value / size:g}{unit}"
    return f"{value:g}" if value >= 1e-4 else f"{value:.9f}".rstrip("0")
