"""Speed-up of a variant over another against ranks: a curve per transport and problem."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

from commlens.model.scaling import Scaling, VariantPair, pairs, scalings
from commlens.render.plots.colors import CROWDED_COLOR, QUIET_COLOR
from commlens.render.plots.content import Content
from commlens.render.plots.heading import Heading
from commlens.render.plots.panel import LegendEntry, Panel, line_entries
from commlens.render.plots.style import Series, Theme, line_style
from commlens.render.plots.ticks import set_ticks

ORDER = 3


@dataclass(frozen=True)
class GainsPanel(Panel):
    """The gains of a variant of a benchmark over the first."""

    theme: Theme
    scalings: Sequence[Scaling]
    before: str
    after: str

    @property
    def legend(self) -> Iterable[LegendEntry]:
        """The curves."""
        return line_entries(self.curves)

    @property
    def heading(self) -> Heading:
        """The variants that are compared."""
        crowded = "gray: more ranks than cores" if self._crowded else ""
        title = f"{self.scalings[0].groups[0].benchmark}: {self.after} over {self.before}"
        return Heading(title, "; ".join(filter(None, ["by the medians", crowded])))

    @cached_property
    def curves(self) -> dict[Series, list[VariantPair]]:
        """What is compared, by line."""
        curves: dict[Series, list[VariantPair]] = {}
        for number, scaling in enumerate(self.scalings):
            for pair in _pairs(scaling):
                group, record = pair.group, pair.after
                if record.variant_value != self.after:
                    continue
                size = group.format_size(record.size or 0) if group.is_sweep else ""
                words = [self._difference(scaling), size, group.start_label(record)]
                variant = ", ".join(filter(None, words))
                series = self.theme.series(record, self.theme.memory(record), variant, number)
                curves.setdefault(series, []).append(pair)
        return {series: curves[series] for series in sorted(curves, key=lambda own: own.order)}

    def draw(self, axes: Axes, width: float) -> None:
        """Medians where there are several pairs."""
        counts = sorted({pair.after.ranks for own in self.curves.values() for pair in own})
        axes.axhline(0, color=QUIET_COLOR, linewidth=0.9, zorder=1.6)
        for series, own in self.curves.items():
            gains: dict[int, list[float]] = {}
            for pair in own:
                gains.setdefault(pair.after.ranks, []).append(100 * pair.gain)
            points = sorted((ranks, median(values)) for ranks, values in gains.items())
            axes.plot(*zip(*points), zorder=3, **line_style(series))
        axes.set_xscale("log", base=2)
        # A logarithmic axis leaves no room beside the outermost markers.
        axes.set_xlim(counts[0] / 1.2, counts[-1] * 1.2)
        self._shade(axes, counts)
        set_ticks(axes.xaxis, FixedLocator(counts), lambda ranks: f"{ranks:,.0f}")
        axes.xaxis.set_minor_locator(NullLocator())
        set_ticks(axes.yaxis, MaxNLocator(nbins=6), lambda value: f"{value:g}%")
        axes.grid(True, which="major")
        axes.set_xlabel("ranks")
        axes.set_ylabel("speed-up")

    def _shade(self, axes: Axes, counts: Sequence[int]) -> None:
        """From the middle between the last number of ranks with enough cores and the next."""
        if self._crowded:
            first = min(self._crowded)
            before = max((count for count in counts if count < first), default=first / 1.44)
            axes.axvspan(
                math.sqrt(before * first), axes.get_xlim()[1], color=CROWDED_COLOR, zorder=0.5
            )

    @property
    def _crowded(self) -> set[int]:
        """The numbers of ranks for which there were too few cores."""
        records = [pair.after for own in self.curves.values() for pair in own]
        return {record.ranks for record in records if record.start.is_oversubscribed}

    @property
    def _common(self) -> list[str]:
        """The settings that all problems share."""
        settings = [scaling.groups[0].settings for scaling in self.scalings]
        return [
            name
            for name, text in settings[0].items()
            if all(other.get(name) == text for other in settings)
        ]

    def _difference(self, scaling: Scaling) -> str:
        """`grid 64x64x64`: what distinguishes the problem from the others."""
        settings = scaling.groups[0].settings.items()
        return ", ".join(f"{name} {text}" for name, text in settings if name not in self._common)


def panels(content: Content) -> list[GainsPanel]:
    """A panel for each variant that ran beside the first on several numbers of ranks."""
    found: dict[tuple[str, str, str], list[Scaling]] = {}
    for scaling in scalings(content.groups):
        own = _pairs(scaling)
        if len({pair.after.ranks for pair in own}) > 1:
            compared = ((pair.before.variant_value, pair.after.variant_value) for pair in own)
            for values in dict.fromkeys(compared):
                found.setdefault((scaling.groups[0].benchmark, *values), []).append(scaling)
    return [
        GainsPanel(content.theme, own, before, after) for (_, before, after), own in found.items()
    ]


def _pairs(scaling: Scaling) -> list[VariantPair]:
    return [pair for group in scaling.groups for pair in pairs(group)]
