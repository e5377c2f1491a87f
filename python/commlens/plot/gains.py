"""What one variant is worth over another, against the number of ranks: a curve a transport and problem."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from commlens.plot.style import PANEL_INCHES, QUIET_COLOUR, Heading, Series, line_style, series_order
from commlens.records import Case
from commlens.scaling import Pair, Scaling, is_oversubscribed, pairs, scalings

_CROWDED_COLOUR = "#F1F1F1"


@dataclass(frozen=True)
class GainsPanel:
    """Of one benchmark, and of one variant over the first."""

    scalings: Sequence[Scaling]
    before: str
    after: str

    @property
    def height(self) -> float:
        return PANEL_INCHES[1]

    @property
    def label_width(self) -> float:
        """What stands left of the axes, in inches."""
        return 0.75

    @property
    def heading(self) -> Heading:
        common = dict.fromkeys(self._common)
        details = ", ".join(f"{name} {self.scalings[0].settings[name]}" for name in common)
        crowded = "grey: more ranks than cores" if self._crowded else ""
        title = f"{self.scalings[0].cases[0].benchmark}: {self.after} over {self.before}"
        return Heading(title, "; ".join(filter(None, ["by the medians", crowded, details])))

    @cached_property
    def curves(self) -> dict[Series, list[Pair]]:
        """What is compared by line, in the order in which transports are always shown."""
        memories = {record.memory for scaling in self.scalings for case in scaling.cases for record in case.records}
        curves: dict[Series, list[Pair]] = {}
        for number, scaling in enumerate(self.scalings):
            for case in scaling.cases:
                for pair in pairs(case):
                    record = pair.after
                    size = case.format_size(case.size(record) or 0) if case.is_sweep else ""
                    words = [self._apart(scaling), size, case.variants.get(record.run, "")]
                    memory = record.memory if len(memories) > 1 else ""
                    series = Series(record.transport, memory, ", ".join(filter(None, words)), number)
                    if record.variant_value == self.after:
                        curves.setdefault(series, []).append(pair)
        return {series: curves[series] for series in sorted(curves, key=series_order)}

    def draw(self, axes: Axes) -> None:
        counts = sorted({pair.after.ranks for own in self.curves.values() for pair in own})
        axes.axhline(0, color=QUIET_COLOUR, linewidth=0.9, zorder=1.6)
        for series, own in self.curves.items():
            gains: dict[int, list[float]] = {}
            for pair in own:
                gains.setdefault(pair.after.ranks, []).append(100 * pair.gain)
            points = sorted((ranks, median(values)) for ranks, values in gains.items())
            axes.plot(*zip(*points, strict=True), zorder=3, **line_style(series))
        axes.set_xscale("log", base=2)
        # Room to the left and to the right of the outermost markers, which a logarithmic axis of one count has none of.
        axes.set_xlim(counts[0] / 1.2, counts[-1] * 1.2)
        self._shade(axes, counts)
        axes.xaxis.set_major_locator(FixedLocator(counts))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda ranks, _: f"{ranks:,.0f}"))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_locator(MaxNLocator(nbins=6))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}%"))
        axes.grid(True, which="major")
        axes.set_xlabel("ranks")
        axes.set_ylabel("speed-up")

    def _shade(self, axes: Axes, counts: Sequence[int]) -> None:
        """From half way, on the axis, between the last number of ranks that has cores for all and the next."""
        if self._crowded:
            first = min(self._crowded)
            before = max((count for count in counts if count < first), default=first / 1.44)
            axes.axvspan(math.sqrt(before * first), axes.get_xlim()[1], color=_CROWDED_COLOUR, zorder=0.5)

    @property
    def _crowded(self) -> set[int]:
        """The numbers of ranks for which there were too few cores, from the first on."""
        return {pair.after.ranks for own in self.curves.values() for pair in own if is_oversubscribed(pair.after)}

    @property
    def _common(self) -> list[str]:
        """The settings that all problems share."""
        settings = [scaling.settings for scaling in self.scalings]
        return [name for name, text in settings[0].items() if all(other.get(name) == text for other in settings)]

    def _apart(self, scaling: Scaling) -> str:
        """`grid 64x64x64`: what sets the problem apart from the others."""
        return ", ".join(f"{name} {text}" for name, text in scaling.settings.items() if name not in self._common)


def gains_panels(all_cases: Sequence[Case]) -> list[GainsPanel]:
    """One for each benchmark and variant that ran beside the first on several numbers of ranks."""
    groups: dict[tuple[str, str, str], list[Scaling]] = {}
    for scaling in scalings(all_cases):
        found = [pair for case in scaling.cases for pair in pairs(case)]
        if len({pair.after.ranks for pair in found}) > 1:
            for names in dict.fromkeys((pair.before.variant_value, pair.after.variant_value) for pair in found):
                groups.setdefault((scaling.cases[0].benchmark, *names), []).append(scaling)
    return [GainsPanel(own, before, after) for (_, before, after), own in groups.items()]
