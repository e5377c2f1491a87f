"""How a solve converges: the relative residual after each iteration, a line per variant."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from commlens.model import Record
from commlens.render.plots.content import Content
from commlens.render.plots.lines import Lines, by_benchmark, lines_panel
from commlens.render.plots.panel import Panel
from commlens.render.plots.style import power_of_ten
from commlens.render.plots.ticks import powers, set_ticks

ORDER = 5
_SERIES = "relative_residual"
_MARKERS_PER_LINE = 8


def panels(content: Content) -> Iterator[Panel]:
    """A panel for each benchmark whose records have residuals."""
    with_values = [record for record in content.records if any(record.series.get(_SERIES, []))]
    for lines in by_benchmark(with_values, content):
        curves = _of_common_size(lines)
        steps = max(len(line[0].series[_SERIES]) for line in curves.values())
        details = f"to iteration {steps:,}"
        if len(curves) > 1:
            details += "; markers alternate, so that identical lines are visible"
        yield lines_panel(curves, "convergence", partial(_draw, curves, steps), details)


def _of_common_size(lines: Lines) -> Lines:
    """Residuals of different problems cannot be compared: the largest that all lines have."""
    common = set.intersection(*({_size(record) for record in line} for line in lines.values()))
    return {
        series: [max(line, key=lambda record: (_size(record) in common, _size(record)))]
        for series, line in lines.items()
    }


def _size(record: Record) -> float:
    return record.number("dof_per_rank") or 0


def _draw(curves: Lines, steps: int, axes: Axes, width: float) -> None:
    """A gap where a residual is zero or no number."""
    for number, (series, (record, *_)) in enumerate(curves.items()):
        values = [
            value if value is not None and value > 0 else float("nan")
            for value in record.series[_SERIES]
        ]
        step = max(len(curves), len(values) // _MARKERS_PER_LINE)
        # The same arithmetic over another transport has the same residuals.
        every = number * step // len(curves), step
        axes.plot(range(1, len(values) + 1), values, zorder=3, markevery=every, **series.style)
    axes.set_yscale("log")
    axes.set_xlim(1 - 0.02 * steps, 1.02 * steps)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    low, high = axes.get_ylim()
    few_decades = high < 100 * low
    subs = (1, 2, 5) if few_decades else (1,)
    set_ticks(axes.yaxis, powers(*subs), "{:g}".format if few_decades else power_of_ten)
    axes.grid(True, which="major")
    axes.set_xlabel("iteration")
    axes.set_ylabel("relative residual")
