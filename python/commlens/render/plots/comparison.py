"""A comparison as a picture: ratios as dots with their intervals; curves with the ratio below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from commlens.base.errors import CommlensError
from commlens.base.text import labelled, plural, printable
from commlens.compare.matching import Matched
from commlens.compare.verdicts import ComparisonResult, Row
from commlens.model import Group, case_key
from commlens.model.comparison import Verdict
from commlens.render.comparison import summary
from commlens.render.plots import Drawn, check_picture, saved, styled
from commlens.render.plots.colors import TEXT_COLOR
from commlens.render.plots.head import Head
from commlens.render.plots.layout import Layout, arranged
from commlens.render.plots.panel import Panel
from commlens.render.plots.ranges import Point, SettingsCurve, ranges_panel
from commlens.render.plots.style import label_inches, shortened
from commlens.render.plots.ticks import is_in_bytes, set_size_axis, set_ticks

_PANEL_INCHES = 5.0
_MOST_DOTS = 60  # on a page
_MOST_CURVES = 4
_WIDEST = 100.0  # of the axis of ratios: what lies beyond ends at its edge
COLORS = {
    Verdict.SLOWER: "#c0392b",
    Verdict.FASTER: "#1e8449",
    Verdict.SAME: "#2c6fbb",
    Verdict.INCONCLUSIVE: "#8a8a8a",
}
_BAND: dict[str, Any] = {"color": "#2c6fbb", "alpha": 0.12, "linewidth": 0}  # of the threshold
_RATIO_COLOR = "#D55E00"  # of the other side's curve


def plot_comparison(result: ComparisonResult, out: Path) -> Drawn:
    """Draws the ratios of all cases, and the curves of sweeps.

    Raises CommlensError if there is nothing to draw or the file cannot be written.
    """
    check_picture(out)
    rows = [row for row in result.rows if row.difference.ratio is not None]
    if not rows:
        raise CommlensError("nothing to draw: no case was measured on both sides")
    rows.sort(key=lambda row: row.difference.ratio or 0, reverse=True)
    shown = rows
    left_out = []
    if len(rows) > _MOST_DOTS:  # the worst and the best
        shown = [*rows[: _MOST_DOTS // 2], *rows[-_MOST_DOTS // 2 :]]
        left_out.append(
            f"drawn: the {len(shown)} of {plural(len(rows), 'case')} that are farthest from 1"
        )
    sweeps = [sweep for pair in result.matched for sweep in _sweeps(pair, result.rows_of(pair))]
    if len(sweeps) > _MOST_CURVES:
        left_out.append(f"drawn: curves of {_MOST_CURVES} of {len(sweeps)} sweeps")
        sweeps = sweeps[:_MOST_CURVES]
    panels = [_dots(shown, result.threshold, len(result.matched) > 1)]
    for two in (sweeps[:2], sweeps[2:]):
        panels += [sweep.curves() for sweep in two]
        panels += [
            Panel("", partial(sweep.draw_ratio, result.threshold), height=1.6) for sweep in two
        ]
    columns = 2 if len(sweeps) > 1 else 1
    names = [
        printable(f"{pair.other.name} against {pair.baseline.name}")[:120]
        for pair in result.matched[:3]
    ]
    head = Head.of_texts(names, [summary(result.rows)], 2 * _PANEL_INCHES)
    with styled():
        picture = Layout(arranged(panels, columns), columns, 2 * _PANEL_INCHES / columns, head)
        saved(picture.draw(), out)
    return Drawn([out], left_out)


def _dots(rows: Sequence[Row], threshold: float, has_several: bool) -> Panel:
    """The ratio of each case; `has_several`: sides are compared with the baseline."""
    labels = (f"{row.name} ({row.other})" if has_several else row.name for row in rows)
    names = [shortened(printable(name)) for name in labels]

    def draw(axes: Axes, width: float) -> None:
        for position, row in enumerate(rows):
            color = COLORS[row.verdict]
            axes.plot(_ends(row), [position] * 2, color=color, linewidth=1.6)
            axes.plot([row.difference.ratio or 1], [position], "o", color=color, markersize=5)
        axes.set_yticks(range(len(rows)), names, fontsize=8)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.axvspan(1 / (1 + threshold), 1 + threshold, **_BAND)
        axes.axvline(1, color=TEXT_COLOR, linewidth=0.8)
        axes.set_xscale("log")
        ends = [value for row in rows for value in _ends(row)]
        low, high = min(*ends, 0.95), max(*ends, 1.05)
        axes.set_xlim(max(low / 1.05, 1 / _WIDEST), min(high * 1.05, _WIDEST))
        _set_ratio_ticks(axes.xaxis, min(high, _WIDEST) / max(low, 1 / _WIDEST))
        axes.set_xlabel("ratio to the baseline, 95% interval (above 1: worse)")
        axes.grid(True, axis="x")

    width, height = 0.35 + label_inches(names), 0.8 + 0.24 * len(rows)
    return Panel("", draw, height=height, label_width=width, is_wide=True)


# ---- sweeps ----


@dataclass(frozen=True)
class _Sweep:
    """Rows that differ in their size alone, by size."""

    matched: Matched
    rows: Sequence[Row]

    @property
    def _group(self) -> Group:
        return Group([row.case.baseline[0] for row in self.rows], is_sweep=True)

    def curves(self) -> Panel:
        """Medians of both sides with the range of their launches."""
        metric, group = self.rows[0].case.metric, self._group
        curves = []
        for side, name in enumerate((self.matched.baseline.name, self.matched.other.name)):
            points = []
            for size, row in zip(group.sizes, self.rows):
                records = (row.case.baseline, row.case.other)[side]
                medians = [record.statistics[metric.name].median for record in records]
                points.append(Point(size, row.medians[side], min(medians), max(medians)))
            curves.append(SettingsCurve(name, points))
        title = f"{group.benchmark}, {group.records[0].transport}, {group.records[0].memory}"
        label = labelled(metric.label, metric.unit)
        return ranges_panel(title, label, is_in_bytes(group), curves, group.size_name)

    def draw_ratio(self, threshold: float, axes: Axes, width: float) -> None:
        """The ratio at each size, with its interval."""
        group, ratios = self._group, [row.difference.ratio or 1 for row in self.rows]
        low, high = zip(*map(_ends, self.rows))
        axes.fill_between(group.sizes, low, high, color=_RATIO_COLOR, alpha=0.25, linewidth=0)
        axes.plot(group.sizes, ratios, "o-", color=_RATIO_COLOR, markersize=3.5)
        axes.axhspan(1 / (1 + threshold), 1 + threshold, **_BAND)
        axes.axhline(1, color=TEXT_COLOR, linewidth=0.8)
        axes.set_yscale("log")
        bottom, top = min(0.9, min(ratios) / 1.3), max(1.1, 1.3 * max(ratios))
        axes.set_ylim(max(bottom, 1 / _WIDEST), min(top, _WIDEST))
        _set_ratio_ticks(axes.yaxis, max(ratios) / min(ratios))
        axes.set_ylabel("ratio")
        set_size_axis(axes, group.sizes, group.size_name, is_in_bytes(group), group.format_size)
        axes.grid(True)


def _sweeps(matched: Matched, rows: Sequence[Row]) -> list[_Sweep]:
    sweeps: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        record = row.case.baseline[0]
        if record.size and min(row.medians) > 0:
            key, size = case_key(record), record.size_parameter
            others = tuple(pair for pair in key.parameters if size is None or pair[0] != size.name)
            place = key._replace(parameters=others), row.case.metric.name
            sweeps.setdefault(place, []).append(row)
    return [
        _Sweep(matched, sorted(sweep, key=lambda row: row.case.baseline[0].size or 0))
        for sweep in sweeps.values()
        if len(sweep) > 1
    ]


def _ends(row: Row) -> tuple[float, float]:
    ratio, interval = row.difference.ratio or 1, row.difference.interval
    return (interval.low, interval.high) if interval else (ratio, ratio)


def _set_ratio_ticks(axis: Any, span: float) -> None:
    locator = MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]) if span < 10 else None
    set_ticks(axis, locator, "{:g}".format)
