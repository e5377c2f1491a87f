"""Speed-up of a variant over another against ranks: a curve per transport and problem."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from statistics import median

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

from commlens.model.scaling import Scaling, VariantPair, pairs, scalings
from commlens.render.plots.colors import CROWDED_COLOR, QUIET_COLOR
from commlens.render.plots.content import Content, differing
from commlens.render.plots.lines import in_order
from commlens.render.plots.panel import Panel, joined, line_entries
from commlens.render.plots.style import Series
from commlens.render.plots.ticks import set_ticks

ORDER = 3


def panels(content: Content) -> Iterator[Panel]:
    """A panel for each variant that ran beside the first on several numbers of ranks."""
    by_values: dict[tuple[str, str, str], list[Scaling]] = {}
    for scaling in scalings(content.groups):
        all_pairs = _pairs(scaling)
        if len({pair.after.ranks for pair in all_pairs}) > 1:
            compared = ((pair.before.variant_value, pair.after.variant_value) for pair in all_pairs)
            for values in dict.fromkeys(compared):
                by_values.setdefault((scaling.groups[0].benchmark, *values), []).append(scaling)
    for (benchmark, before, after), problems in by_values.items():
        curves = _curves(content, problems, after)
        records = [pair.after for pairs_of in curves.values() for pair in pairs_of]
        crowded = {record.ranks for record in records if record.start.is_oversubscribed}
        details = joined("by the medians", "gray: more ranks than cores" if crowded else "")
        title, draw = f"{benchmark}: {after} over {before}", partial(_draw, curves, crowded)
        yield Panel(title, draw, details, line_entries(curves))


def _pairs(scaling: Scaling) -> list[VariantPair]:
    return [pair for group in scaling.groups for pair in pairs(group)]


_Curves = Mapping[Series, Sequence[VariantPair]]


def _curves(content: Content, problems: Sequence[Scaling], after: str) -> _Curves:
    """What is compared, by line."""
    curves: dict[Series, list[VariantPair]] = {}
    settings = [scaling.groups[0].settings for scaling in problems]
    for number, scaling in enumerate(problems):
        problem = ", ".join(differing(scaling.groups[0].settings, settings))
        for pair in _pairs(scaling):
            group, record = pair.group, pair.after
            if record.variant_value == after:
                size = group.format_size(record.size or 0) if group.is_sweep else ""
                variant = joined(problem, size, group.start_label(record), separator=", ")
                series = content.series(record, None, variant, number)
                curves.setdefault(series, []).append(pair)
    return in_order(curves)


def _draw(curves: _Curves, crowded: Collection[int], axes: Axes, width: float) -> None:
    """Medians where there are several pairs."""
    counts = sorted({pair.after.ranks for line in curves.values() for pair in line})
    axes.axhline(0, color=QUIET_COLOR, linewidth=0.9, zorder=1.6)
    for series, line in curves.items():
        gains: dict[int, list[float]] = {}
        for pair in line:
            gains.setdefault(pair.after.ranks, []).append(100 * pair.gain)
        points = sorted((ranks, median(values)) for ranks, values in gains.items())
        axes.plot(*zip(*points), zorder=3, **series.style)
    axes.set_xscale("log", base=2)
    # A logarithmic axis leaves no room beside the outermost markers.
    axes.set_xlim(counts[0] / 1.2, counts[-1] * 1.2)
    if crowded:  # shaded from the middle between the last number with enough cores and the next
        first = min(crowded)
        before = max((count for count in counts if count < first), default=first / 1.44)
        ends = math.sqrt(before * first), axes.get_xlim()[1]
        axes.axvspan(*ends, color=CROWDED_COLOR, zorder=0.5)
    set_ticks(axes.xaxis, FixedLocator(counts), lambda ranks: f"{ranks:,.0f}")
    axes.xaxis.set_minor_locator(NullLocator())
    set_ticks(axes.yaxis, MaxNLocator(nbins=6), lambda value: f"{value:g}%")
    axes.grid(True, which="major")
    axes.set_xlabel("ranks")
    axes.set_ylabel("speed-up")
