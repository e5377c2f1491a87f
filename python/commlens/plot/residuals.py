"""How a solve converges: the relative residual after each iteration, a line a variant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter

from commlens.plot.lines import Lines, by_benchmark, first_of
from commlens.plot.style import PANEL_INCHES, Heading, line_style
from commlens.records import Record

_SERIES = "relative_residual"
_MARKERS_A_LINE = 8


@dataclass(frozen=True)
class ResidualsPanel:
    curves: Lines  # of each line one record alone: of the largest problem that all of them have solved

    @property
    def height(self) -> float:
        return PANEL_INCHES[1]

    @property
    def label_width(self) -> float:
        """What stands left of the axes, in inches."""
        return 0.75

    @property
    def heading(self) -> Heading:
        steps = max(len(own[0].series[_SERIES]) for own in self.curves.values())
        words = [f"to iteration {steps:,}"]
        words += ["markers take turns, so that lines upon each other are seen"] if len(self.curves) > 1 else []
        return Heading(f"{first_of(self.curves).benchmark}: convergence", "; ".join(words))

    def draw(self, axes: Axes) -> None:
        longest = 0
        for number, (series, (record, *_)) in enumerate(self.curves.items()):
            values = [value if value is not None and value > 0 else float("nan") for value in record.series[_SERIES]]
            longest = max(longest, len(values))
            step = max(1, len(values) // _MARKERS_A_LINE)
            # Transports that do the same arithmetic have the same residuals: each line's markers stand elsewhere.
            start = number * step // len(self.curves)
            axes.plot(range(1, len(values) + 1), values, zorder=3, markevery=(start, step), **line_style(series))
        axes.set_yscale("log")
        axes.set_xlim(1 - 0.02 * longest, 1.02 * longest)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
        _mark_values(axes)
        axes.grid(True, which="major")
        axes.set_xlabel("iteration")
        axes.set_ylabel("relative residual")


def residuals_panels(records: Sequence[Record]) -> list[ResidualsPanel]:
    """One for each benchmark whose records have residuals."""
    with_values = [record for record in records if any(value for value in record.series.get(_SERIES, []))]
    return [ResidualsPanel(_of_one_size(found)) for found in by_benchmark(with_values)]


def _of_one_size(found: Lines) -> Lines:
    """Residuals of different problems cannot be compared: those of the largest that is in every line, if any is."""
    common = set.intersection(*({_size(record) for record in own} for own in found.values()))
    return {
        series: [max(own, key=lambda record: (_size(record) in common, _size(record)))] for series, own in found.items()
    }


def _mark_values(axes: Axes) -> None:
    low, high = axes.get_ylim()
    few_decades = high < 100 * low
    axes.yaxis.set_major_locator(LogLocator(base=10, subs=(1, 2, 5) if few_decades else (1,), numticks=9))
    if few_decades:
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _size(record: Record) -> float:
    return record.number("dof_per_rank") or 0
