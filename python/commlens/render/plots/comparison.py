"""A comparison as a picture: ratios as dots with their intervals; curves with the ratio below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from commlens.base.errors import CommlensError
from commlens.base.text import format_bytes, labelled, plural, printable
from commlens.compare.matching import Matched
from commlens.compare.result import ComparisonResult
from commlens.compare.verdicts import Row, Verdict
from commlens.model import CaseKey, case_key
from commlens.model.record import BYTES
from commlens.render.comparison import summary
from commlens.render.plots import Drawn, check_ending, saved, styled
from commlens.render.plots.colors import TEXT_COLOR
from commlens.render.plots.curves import set_metric_axis

WIDTH_INCHES = 10.0
_MOST_DOTS = 60  # on a page
_MOST_CURVES = 4
_DOT_INCHES, _HEAD_INCHES, _CURVES_INCHES = 0.24, 1.1, 4.2
_WIDEST = 100.0  # of the axis of ratios: what lies beyond ends at its edge
_LONGEST_NAME, _LONGEST_LABEL = 60, 40
_COLORS = {
    Verdict.SLOWER: "#c0392b",
    Verdict.FASTER: "#1e8449",
    Verdict.SAME: "#2c6fbb",
    Verdict.INCONCLUSIVE: "#8a8a8a",
}
_BASELINE, _OTHER = "#555555", "#2c6fbb"


@dataclass(frozen=True)
class _Sweep:
    """Rows that differ in their size alone, by size."""

    name: str
    matched: Matched
    rows: Sequence[Row]

    @property
    def sizes(self) -> list[int]:
        return [row.case.baseline[0].size or 0 for row in self.rows]


def plot_comparison(result: ComparisonResult, out: Path) -> Drawn:
    """Raises CommlensError if there is nothing to draw or the file cannot be written."""
    check_ending(out)
    drawable = [row for row in result.rows if row.ratio is not None]
    if not drawable:
        raise CommlensError("nothing to draw: no case was measured on both sides")
    rows = sorted(drawable, key=lambda row: row.ratio or 0, reverse=True)
    shown = _shown(rows)
    sweeps = [sweep for one in result.matched for sweep in _sweeps(one, result.rows_of(one))]
    left_out = []
    if len(shown) < len(rows):
        left_out.append(
            f"drawn: the {len(shown)} of {plural(len(rows), 'case')} that are farthest from 1"
        )
    if len(sweeps) > _MOST_CURVES:
        left_out.append(f"drawn: curves of {_MOST_CURVES} of {len(sweeps)} sweeps")
        sweeps = sweeps[:_MOST_CURVES]
    with styled():
        saved(_figure(result, shown, sweeps), out)
    return Drawn([out], left_out)


def _shown(rows: Sequence[Row]) -> list[Row]:
    """The worst and the best, where there are too many."""
    if len(rows) <= _MOST_DOTS:
        return list(rows)
    return [*rows[: _MOST_DOTS // 2], *rows[-_MOST_DOTS // 2 :]]


def _sweeps(matched: Matched, rows: Sequence[Row]) -> list[_Sweep]:
    found: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        record = row.case.baseline[0]
        if record.size and min(row.medians) > 0:
            found.setdefault((_without_size(row), row.case.metric.name), []).append(row)
    sweeps = []
    for own in found.values():
        if len(own) > 1:
            own.sort(key=lambda row: row.case.baseline[0].size or 0)
            record = own[0].case.baseline[0]
            name = f"{record.benchmark}, {record.transport}, {record.memory}"
            sweeps.append(_Sweep(name, matched, own))
    return sweeps


def _without_size(row: Row) -> CaseKey:
    record = row.case.baseline[0]
    key, size = case_key(record), record.size_parameter
    parameters = tuple(one for one in key.parameters if size is None or one[0] != size.name)
    return key._replace(parameters=parameters)


def _figure(result: ComparisonResult, rows: Sequence[Row], sweeps: Sequence[_Sweep]) -> Figure:
    dots = _HEAD_INCHES + _DOT_INCHES * len(rows)
    lines = -(-len(sweeps) // 2)
    figure = Figure(figsize=(WIDTH_INCHES, dots + _CURVES_INCHES * lines), layout="constrained")
    parts = figure.subfigures(
        2 if lines else 1,
        1,
        height_ratios=[dots, _CURVES_INCHES * lines][: 2 if lines else 1],
        squeeze=False,
    )
    names = " · ".join(
        f"{_plain(one.other.name)} against {_plain(one.baseline.name)}"
        for one in result.matched[:3]
    )
    figure.suptitle(f"{names[:120]}\n{summary(result.rows)}", fontsize=11, x=0.01, ha="left")
    _draw_dots(parts[0, 0].subplots(), rows, result.threshold, len(result.matched) > 1)
    if lines:
        cells = parts[1, 0].subfigures(lines, 2, squeeze=False)
        for number, sweep in enumerate(sweeps):
            _draw_sweep(
                cells[number // 2, number % 2].subplots(2, 1, sharex=True, height_ratios=[2, 1]),
                sweep,
                result.threshold,
            )
    return figure


def _plain(text: str) -> str:
    """In one line; the style of pictures reads no formulas."""
    return printable(text)


def _draw_dots(axes: Axes, rows: Sequence[Row], threshold: float, has_several: bool) -> None:
    for position, row in enumerate(rows):
        _draw_ratio(axes, row, position)
    names = [f"{row.name} ({row.other})" if has_several else row.name for row in rows]
    axes.set_yticks(range(len(rows)), [_plain(name[:_LONGEST_NAME]) for name in names], fontsize=8)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.axvspan(1 / (1 + threshold), 1 + threshold, color="#2c6fbb", alpha=0.12, linewidth=0)
    axes.axvline(1, color=TEXT_COLOR, linewidth=0.8)
    axes.set_xscale("log")
    ends = [value for row in rows for value in _ends(row)]
    low, high = min(*ends, 0.95), max(*ends, 1.05)
    axes.set_xlim(max(low / 1.05, 1 / _WIDEST), min(high * 1.05, _WIDEST))
    _set_ratio_ticks(axes.xaxis, min(high, _WIDEST) / max(low, 1 / _WIDEST))
    axes.set_xlabel("ratio to the baseline, 95% interval (above 1: worse)")
    axes.grid(True, axis="x")


def _draw_ratio(axes: Axes, row: Row, position: float) -> None:
    assert row.ratio is not None
    color = _COLORS[row.verdict]
    axes.plot(_ends(row), [position] * 2, color=color, linewidth=1.6)
    axes.plot([row.ratio], [position], "o", color=color, markersize=5)


def _ends(row: Row) -> tuple[float, float]:
    assert row.ratio is not None
    return (row.interval.low, row.interval.high) if row.interval else (row.ratio, row.ratio)


def _set_ratio_ticks(axis: object, span: float) -> None:
    if span < 10:
        axis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))  # type: ignore[attr-defined]
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))  # type: ignore[attr-defined]
    axis.set_minor_formatter(NullFormatter())  # type: ignore[attr-defined]


def _draw_sweep(axes: Sequence[Axes], sweep: _Sweep, threshold: float) -> None:
    """Medians of both sides with the range of their launches, and the ratio below."""
    above, below = axes
    metric, sizes = sweep.rows[0].case.metric, sweep.sizes
    names = (sweep.matched.baseline.name, sweep.matched.other.name)
    for side, color, name in ((0, _BASELINE, names[0]), (1, _OTHER, names[1])):
        own = [(row.case.baseline, row.case.other)[side] for row in sweep.rows]
        medians = [[one.statistics[metric.name].median for one in records] for records in own]
        above.fill_between(
            sizes, [*map(min, medians)], [*map(max, medians)], color=color, alpha=0.25, linewidth=0
        )
        values = [row.medians[side] for row in sweep.rows]
        above.plot(
            sizes, values, "o-", color=color, markersize=3.5, label=_plain(name[:_LONGEST_LABEL])
        )
    above.set_xscale("log", base=2)
    set_metric_axis(above)
    above.set_ylabel(labelled(metric.label, metric.unit))
    above.set_title(_plain(sweep.name[:_LONGEST_NAME]), fontsize=9, loc="left")
    above.legend(fontsize=8)
    ends = [_ends(row) for row in sweep.rows]
    ratios = [row.ratio or 1 for row in sweep.rows]
    below.fill_between(
        sizes,
        [low for low, _ in ends],
        [high for _, high in ends],
        alpha=0.25,
        color=_OTHER,
        linewidth=0,
    )
    below.plot(sizes, ratios, "o-", color=_OTHER, markersize=3.5)
    below.axhspan(1 / (1 + threshold), 1 + threshold, color=_BASELINE, alpha=0.15, linewidth=0)
    below.axhline(1, color=TEXT_COLOR, linewidth=0.8)
    below.set_yscale("log")
    below.set_ylim(
        max(min(0.9, min(ratios) / 1.3), 1 / _WIDEST), min(max(1.1, 1.3 * max(ratios)), _WIDEST)
    )
    _set_ratio_ticks(below.yaxis, max(ratios) / min(ratios))
    below.set_ylabel("ratio")
    parameter = sweep.rows[0].case.baseline[0].size_parameter
    in_bytes = parameter is not None and parameter.unit == BYTES
    below.set_xlabel("size" if in_bytes or parameter is None else parameter.title)
    if in_bytes:
        below.xaxis.set_major_formatter(FuncFormatter(lambda size, _: format_bytes(round(size))))
    for own_axes in axes:
        own_axes.grid(True)
