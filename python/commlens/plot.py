"""Records as a picture: one panel a case, curves against size for a sweep and bars for a single size.

A transport has one colour and one marker in every picture, memory shows in the marker's filling, and a ceiling is a
dashed grey line.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from commlens.errors import CommlensError
from commlens.records import Case, Ceiling, Record, cases, transport_order
from commlens.results import reason
from commlens.text import figure_label, figure_unit, format_bytes, format_number, memory_name, plural

ENDINGS = (".png", ".svg", ".pdf")

# Okabe and Ito's palette, which people with any of the common colour blindnesses can tell apart.
_COLOURS = {"mpi": "#0072B2", "staged": "#D55E00", "ccl": "#009E73"}
_MARKERS = {"mpi": "o", "staged": "s", "ccl": "^"}
_OTHER_STYLES = (("#CC79A7", "D"), ("#E69F00", "v"), ("#56B4E9", "P"))
_FILLINGS = {"device": "full", "host": "none", "pinned": "top", "managed": "left"}
_CEILING_COLOUR = "#4D4D4D"
_CEILING_DASHES = ((0, (5, 2.5)), (0, (2, 2)), (0, (7, 2, 1.5, 2)), (0, (9, 3)))
_TEXT_COLOUR = "#222222"
_QUIET_COLOUR = "#666666"

_PANEL_INCHES = (5.4, 3.5)
_BAR_INCHES = 0.34
_HEAD_INCHES = 0.45
_LEGEND_ROW_INCHES = 0.2
_LEGEND_LINE_INCHES = 0.65  # the piece of line before a label, and the gap after it
_LETTER_INCHES = 0.072
_MARGIN_INCHES = 0.14
_PIXELS_PER_INCH = 200

_STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 9.5,
    "axes.titlesize": 11,
    "axes.labelsize": 9.5,
    "axes.edgecolor": "#888888",
    "axes.labelcolor": _TEXT_COLOUR,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.color": "#888888",
    "ytick.color": "#888888",
    "xtick.labelcolor": _TEXT_COLOUR,
    "ytick.labelcolor": _TEXT_COLOUR,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.7,
    "text.color": _TEXT_COLOUR,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "pdf.fonttype": 42,  # text stays text, which journals ask for
}


@dataclass(frozen=True)
class Series:
    """What one line, or one bar, shows."""

    transport: str
    memory: str
    variant: str = ""
    variant_number: int = 0

    @property
    def label(self) -> str:
        return ", ".join(part for part in (self.transport, memory_name(self.memory), self.variant) if part)

    @property
    def colour(self) -> tuple[float, float, float]:
        """The transport's; each further variant is paler."""
        red, green, blue = to_rgb(_COLOURS.get(self.transport) or _other_style(self.transport)[0])
        white = 1 - 0.62**self.variant_number
        return (red + (1 - red) * white, green + (1 - green) * white, blue + (1 - blue) * white)

    @property
    def marker(self) -> str:
        return _MARKERS.get(self.transport) or _other_style(self.transport)[1]

    @property
    def filling(self) -> str:
        return _FILLINGS.get(self.memory, "right")


def _other_style(transport: str) -> tuple[str, str]:
    return _OTHER_STYLES[sum(map(ord, transport)) % len(_OTHER_STYLES)]


def check_ending(out: Path) -> None:
    """Raises CommlensError for a name that is not a picture's."""
    if out.suffix.lower() not in ENDINGS:
        what = f"ends in '{out.suffix}'" if out.suffix else "has no ending"
        raise CommlensError(f"--out {out}: the name {what}; a picture's ends in {', '.join(ENDINGS)}")


def plot(records: Sequence[Record], out: Path) -> int:
    """Draws the measured records into `out`, and returns how many there were to draw.

    Raises CommlensError where there is nothing to draw or the file cannot be written.
    """
    check_ending(out)
    measured = [record for record in records if record.measured]
    if not measured:
        raise CommlensError(
            f"nothing to plot: none of {plural(len(records), 'record')} holds a measurement that passed"
        )
    with matplotlib.rc_context(_STYLE):
        figure = draw(measured)
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            figure.savefig(out, dpi=_PIXELS_PER_INCH)
        except OSError as error:
            raise CommlensError(f"--out {out}: the picture cannot be written ({reason(error)})") from None
    return len(measured)


def draw(records: Sequence[Record]) -> Figure:
    panels = cases(records)
    columns = 1 if len(panels) == 1 else 2 if len(panels) <= 4 else 3
    rows = [panels[start : start + columns] for start in range(0, len(panels), columns)]
    heights = [max(_height(case) for case in row) for row in rows]
    ceilings = _CeilingStyles(panels)
    # The labels of bars stand at the bars.
    handles = [_handle(series) for series in _series([case for case in panels if case.is_sweep])] + ceilings.handles()
    handles_a_row = _handles_a_row(handles, _PANEL_INCHES[0] * columns)
    head, legend = _HEAD_INCHES, _LEGEND_ROW_INCHES * math.ceil(len(handles) / handles_a_row) + 1.5 * _MARGIN_INCHES
    width, height = _PANEL_INCHES[0] * columns, sum(heights) + head + legend
    margin = _MARGIN_INCHES / width
    layout = ConstrainedLayoutEngine(
        rect=(margin, legend / height, 1 - 2 * margin, 1 - (head + legend) / height), wspace=0.04, hspace=0.05
    )
    figure = Figure(figsize=(width, height), layout=layout)
    grid = figure.add_gridspec(len(rows), columns, height_ratios=heights)
    for row_number, row in enumerate(rows):
        for column, case in enumerate(row):
            axes = figure.add_subplot(grid[row_number, column])
            if case.is_sweep:
                _draw_curves(axes, case, ceilings)
            else:
                _draw_bars(axes, case, ceilings)
            _title(axes, case, columns)
    figure.text(margin, 1 - _MARGIN_INCHES / height, _machine(records), va="top", fontsize=12, fontweight="bold")
    figure.legend(handles=handles, loc="lower center", ncols=handles_a_row, handlelength=2.6, columnspacing=1.6)
    return figure


def _handles_a_row(handles: Sequence[Line2D], width: float) -> int:
    longest = max((len(str(handle.get_label())) for handle in handles), default=1)
    return max(1, int((width - 2 * _MARGIN_INCHES) / (_LEGEND_LINE_INCHES + _LETTER_INCHES * longest)))


def _height(case: Case) -> float:
    return _PANEL_INCHES[1] if case.is_sweep else max(1.9, 1.3 + _BAR_INCHES * len(_series([case])))


def _machine(records: Sequence[Record]) -> str:
    """Host, GPU, ranks and MPI, each as far as the records agree on it."""

    def join(values: Iterable[str]) -> str:
        distinct = list(dict.fromkeys(values))
        return " and ".join(distinct) if len(distinct) <= 2 else f"{len(distinct)} machines"

    parts = [
        join(record.host if record.nodes == 1 else f"{record.nodes} nodes ({record.host} first)" for record in records),
        join(record.gpu for record in records if record.gpu),
        join(plural(record.ranks, "rank") for record in records),
        join(record.mpi for record in records),
    ]
    return "  ·  ".join(part for part in parts if part)


def _title(axes: Axes, case: Case, columns: int) -> None:
    size = "" if case.is_sweep or not case.sizes else f" of {format_bytes(case.sizes[0])}"
    axes.set_title(f"{case.benchmark}{size}", loc="left", fontweight="bold", pad=20)
    details = [f"{name.replace('_', ' ')} {str(value).lower()}" for name, value in case.parameters.items()]
    text = ", ".join([*details, plural(case.ranks, "rank"), f"timing {case.timing}"])
    widest = 88 if columns < 3 else 80
    shortened = text if len(text) <= widest else text[: widest - 1] + "…"
    axes.annotate(
        shortened, (0, 1), (0, 7), xycoords="axes fraction", textcoords="offset points", fontsize=8, color=_QUIET_COLOUR
    )


def _series(panels: Sequence[Case]) -> list[Series]:
    """All series of the panels, in the order in which they are always shown."""
    found = {_series_of(case, record) for case in panels for record in case.records}
    return sorted(found, key=lambda series: (transport_order(series.transport), series.memory, series.variant_number))


def _series_of(case: Case, record: Record) -> Series:
    runs = list(case.variants)
    number = runs.index(record.run) if runs else 0
    return Series(record.transport, record.memory, case.variants.get(record.run, ""), number)


def _records_of(case: Case, series: Series) -> list[Record]:
    return [record for record in case.records if _series_of(case, record) == series]


class _CeilingStyles:
    """The dashes of each ceiling of a picture."""

    def __init__(self, panels: Iterable[Case]) -> None:
        keys = dict.fromkeys((memory, ceiling.name) for case in panels for memory, ceiling, _ in _ceilings(case))
        self._styles = dict(zip(keys, cycle(_CEILING_DASHES), strict=False))

    def line(self, memory: str, ceiling: Ceiling) -> tuple[int, tuple[float, ...]]:
        return self._styles[memory, ceiling.name]

    def handles(self) -> list[Line2D]:
        return [
            Line2D(
                [],
                [],
                color=_CEILING_COLOUR,
                linestyle=dashes,
                linewidth=1.3,
                label=f"ceiling: {name}, {memory_name(memory)}",
            )
            for (memory, name), dashes in self._styles.items()
        ]


def _ceilings(case: Case) -> list[tuple[str, Ceiling, list[tuple[int, float]]]]:
    """Each ceiling of the case, by memory: its points are (size, the case's figure at the ceiling)."""
    found: dict[tuple[str, str], tuple[Ceiling, dict[int, float]]] = {}
    for record in case.records:
        ceiling, figure = record.ceiling, record.figure
        if ceiling is None or figure is None or figure not in ceiling.figures:
            continue
        _, points = found.setdefault((record.memory, ceiling.name), (ceiling, {}))
        points.setdefault(record.size or 0, ceiling.figures[figure])
    return [(memory, ceiling, sorted(points.items())) for (memory, _), (ceiling, points) in found.items()]


def _draw_curves(axes: Axes, case: Case, styles: _CeilingStyles) -> None:
    figure = case.records[0].figure or ""
    for memory, ceiling, points in _ceilings(case):
        axes.plot(
            [size for size, _ in points],
            [value for _, value in points],
            color=_CEILING_COLOUR,
            linestyle=styles.line(memory, ceiling),
            linewidth=1.3,
            zorder=1.5,
        )
    for series in _series([case]):
        points_of_series = [record for record in _records_of(case, series) if record.size]
        sizes = [record.size or 0 for record in points_of_series]
        own = [record.statistics[figure] for record in points_of_series]
        low = [entry.median if entry.ci_low is None else entry.ci_low for entry in own]
        high = [entry.median if entry.ci_high is None else entry.ci_high for entry in own]
        axes.fill_between(sizes, low, high, color=series.colour, alpha=0.3, linewidth=0, zorder=2)
        axes.plot(sizes, [entry.median for entry in own], zorder=3, **_line_style(series))
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.grid(True, which="major")
    axes.set_xlabel("size")
    axes.set_ylabel(figure_label(figure))
    axes.xaxis.set_major_locator(FixedLocator(_size_ticks(case.sizes)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: format_bytes(size)))
    axes.xaxis.set_minor_locator(NullLocator())
    low_limit, high_limit = axes.get_ylim()
    narrow = high_limit / low_limit < 30
    axes.yaxis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0) if narrow else (1.0,), numticks=12))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value)))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _line_style(series: Series) -> dict[str, Any]:
    style: dict[str, Any] = {
        "color": series.colour,
        "linewidth": 1.7,
        "marker": series.marker,
        "markersize": 4.6,
        "markeredgewidth": 1.2,
        "fillstyle": series.filling,
        "markerfacecoloralt": "white",
    }
    # Without a face of its own, the line would be seen through an open marker.
    return {**style, "fillstyle": "full", "markerfacecolor": "white"} if series.filling == "none" else style


def _handle(series: Series) -> Line2D:
    return Line2D([], [], label=series.label, **_line_style(series))


def _size_ticks(sizes: Sequence[int]) -> list[float]:
    """Powers of two over the sizes, a whole power of two apart, so that there are at most eight."""
    first, last = math.floor(math.log2(min(sizes))), math.ceil(math.log2(max(sizes)))
    step = next(step for step in (1, 2, 5, 10, 20) if (last - first) / step <= 7)
    start = math.ceil(first / step) * step if step in (5, 10, 20) else first
    return [2.0**power for power in range(start, last + 1, step)]


def _tick(value: float) -> str:
    """A power of ten in as few characters as may be: 0.01, 1000, 10k, 1M."""
    for limit, size, unit in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if value >= limit:
            return f"{value / size:g}{unit}"
    return f"{value:g}"


def _draw_bars(axes: Axes, case: Case, styles: _CeilingStyles) -> None:
    figure = case.records[0].figure or ""
    bars = [(series, record) for series in _series([case]) for record in _records_of(case, series)[:1]]
    largest = max(record.statistics[figure].ci_high or record.statistics[figure].median for _, record in bars)
    for position, (series, record) in enumerate(bars):
        own = record.statistics[figure]
        axes.barh(
            position,
            own.median,
            height=0.62,
            color=(*series.colour, 0.15 if series.filling == "none" else 1),
            edgecolor=series.colour,
            linewidth=1.6,
        )
        end = own.median
        if own.ci_low is not None and own.ci_high is not None:
            axes.plot(
                [own.ci_low, own.ci_high],
                [position, position],
                color=_TEXT_COLOUR,
                linewidth=1.2,
                marker="|",
                markersize=6,
            )
            end = own.ci_high
        axes.text(
            end + 0.015 * largest,
            position,
            f"{format_number(own.median)} {figure_unit(figure)}",
            va="center",
            fontsize=9,
        )
    for memory, ceiling, points in _ceilings(case):
        value = points[0][1]
        axes.axvline(value, color=_CEILING_COLOUR, linestyle=styles.line(memory, ceiling), linewidth=1.3, zorder=1.5)
        largest = max(largest, value)
    axes.set_yticks(range(len(bars)), [series.label for series, _ in bars])
    axes.set_ylim(len(bars) - 0.4, -0.6)
    axes.set_xlim(0, largest * 1.22)
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.grid(True, axis="x")
    axes.set_xlabel(figure_label(figure))
