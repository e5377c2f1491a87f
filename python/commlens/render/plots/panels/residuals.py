"""How a solve converges: the relative residual after each iteration, a line per variant."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from commlens.model import Record
from commlens.render.plots.content import Content
from commlens.render.plots.heading import Heading
from commlens.render.plots.lines import Lines, LinesPanel, by_benchmark, first_of
from commlens.render.plots.style import line_style, power_of_ten
from commlens.render.plots.ticks import powers, set_ticks

ORDER = 5
_SERIES = "relative_residual"
_MARKERS_PER_LINE = 8


@dataclass(frozen=True)
class ResidualsPanel(LinesPanel):
    """The residuals of a benchmark."""

    curves: Lines  # one record per line: of the largest problem that all lines have

    @property
    def heading(self) -> Heading:
        """To which iteration."""
        steps = max(len(own[0].series[_SERIES]) for own in self.curves.values())
        words = [f"to iteration {steps:,}"]
        if len(self.curves) > 1:
            words.append("markers alternate, so that identical lines are visible")
        return Heading(f"{first_of(self.curves).benchmark}: convergence", "; ".join(words))

    def draw(self, axes: Axes, width: float) -> None:
        """A gap where a residual is zero or no number."""
        longest = 0
        for number, (series, (record, *_)) in enumerate(self.curves.items()):
            values = [
                value if value is not None and value > 0 else float("nan")
                for value in record.series[_SERIES]
            ]
            longest = max(longest, len(values))
            step = max(len(self.curves), len(values) // _MARKERS_PER_LINE)
            # The same arithmetic over another transport has the same residuals.
            every = number * step // len(self.curves), step
            iterations = range(1, len(values) + 1)
            axes.plot(iterations, values, zorder=3, markevery=every, **line_style(series))
        axes.set_yscale("log")
        axes.set_xlim(1 - 0.02 * longest, 1.02 * longest)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
        _set_ticks(axes)
        axes.grid(True, which="major")
        axes.set_xlabel("iteration")
        axes.set_ylabel("relative residual")


def panels(content: Content) -> list[ResidualsPanel]:
    """A panel for each benchmark whose records have residuals."""
    with_values = [record for record in content.records if any(record.series.get(_SERIES, []))]
    return [
        ResidualsPanel(_of_one_size(found)) for found in by_benchmark(with_values, content.theme)
    ]


def _of_one_size(found: Lines) -> Lines:
    """Residuals of different problems cannot be compared: the largest that all lines have."""
    common = set.intersection(*({_size(record) for record in own} for own in found.values()))
    return {
        series: [max(own, key=lambda record: (_size(record) in common, _size(record)))]
        for series, own in found.items()
    }


def _set_ticks(axes: Axes) -> None:
    low, high = axes.get_ylim()
    few_decades = high < 100 * low
    subs = (1, 2, 5) if few_decades else (1,)
    text = "{:g}".format if few_decades else power_of_ten
    set_ticks(axes.yaxis, powers(*subs), text)


def _size(record: Record) -> float:
    return record.number("dof_per_rank") or 0
