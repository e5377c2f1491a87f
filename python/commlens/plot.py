"""Records as a picture: one panel a case, curves against size for a sweep and bars for a single size.

A transport has one colour and one marker in every picture, and a ceiling is a dashed grey line. Memory shows in the
marker's filling; of more than two memories each has panels of its own, side by side and on the same axes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
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
from commlens.text import (
    figure_label,
    figure_unit,
    format_bytes,
    format_number,
    memory_name,
    plural,
    readable_figure,
)

ENDINGS = (".png", ".svg", ".pdf")

# Okabe and Ito's palette, which people with any of the common colour blindnesses can tell apart.
_COLOURS = {"mpi": "#0072B2", "staged": "#D55E00", "ccl": "#009E73"}
_MARKERS = {"mpi": "o", "staged": "s", "ccl": "^"}
_OTHER_STYLES = (("#CC79A7", "D"), ("#E69F00", "v"), ("#56B4E9", "P"))
_MOST_MEMORIES_A_PANEL = 2
_LOGARITHMIC_FROM = 20  # how many times the shortest bar the longest is
_FILLINGS = {"": "full", "device": "full", "host": "none", "pinned": "top", "managed": "left"}
_CEILING_COLOUR = "#4D4D4D"
_CEILING_DASHES = ((0, (5, 2.5)), (0, (2, 2)), (0, (7, 2, 1.5, 2)), (0, (9, 3)))
_TEXT_COLOUR = "#222222"
_QUIET_COLOUR = "#666666"

_PANEL_INCHES = (5.4, 3.5)
_NARROW_PANEL_INCHES = 4.1
_BAR_INCHES = 0.34
_HEAD_INCHES = 0.45
_LEGEND_ROW_INCHES = 0.2
_LEGEND_LINE_INCHES = 0.65  # the piece of line before a label, and the gap after it
_LETTER_INCHES = 0.072
_SMALL_LETTER_INCHES = 0.061
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
    memory: str  # empty where the panel has only one
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


@dataclass(frozen=True)
class Panel:
    """The part of a case that one pair of axes shows."""

    case: Case
    memory: str = ""  # the only one that it shows; empty: all
    is_first: bool = True  # of its case
    tells_ceilings_apart: bool = True  # by memory; not beside panels of one memory each, where the name is enough

    @property
    def records(self) -> list[Record]:
        return [record for record in self.case.records if self.memory in ("", record.memory)]

    @property
    def figure(self) -> str:
        return self.case.records[0].figure or ""

    @property
    def series(self) -> list[Series]:
        """In the order in which they are always shown."""
        found = {self.series_of(record) for record in self.records}
        return sorted(found, key=_series_order)

    def series_of(self, record: Record) -> Series:
        variant = self.case.variants.get(record.run, "")
        number = list(dict.fromkeys(self.case.variants.values())).index(variant) if variant else 0
        return Series(record.transport, "" if self.memory else record.memory, variant, number)

    def records_of(self, series: Series) -> list[Record]:
        return [record for record in self.records if self.series_of(record) == series]


def _series_order(series: Series) -> tuple[object, ...]:
    return transport_order(series.transport), series.memory, series.variant_number


@dataclass(frozen=True)
class _Grid:
    """Rows of panels, None where a place stays empty."""

    columns: int
    panel_width: float  # inches
    rows: list[list[Panel | None]] = field(default_factory=list)

    def add(self, panels: Sequence[Panel | None]) -> None:
        rows = [list(panels[start : start + self.columns]) for start in range(0, len(panels), self.columns)]
        self.rows.extend(row for row in rows if any(row))

    @property
    def panels(self) -> list[Panel]:
        return [panel for row in self.rows for panel in row if panel]


def _grid(all_cases: Sequence[Case]) -> _Grid:
    memories = sorted({memory for case in all_cases if case.is_sweep for memory in case.memories})
    if len(memories) <= _MOST_MEMORIES_A_PANEL:
        columns = 1 if len(all_cases) == 1 else 2 if len(all_cases) <= 4 else 3
        grid = _Grid(columns, _PANEL_INCHES[0])
        grid.add([Panel(case) for case in all_cases])
        return grid
    grid = _Grid(len(memories) if len(memories) <= 4 else 3, _NARROW_PANEL_INCHES)
    others: list[Panel | None] = []
    for case in all_cases:
        if not case.is_sweep or len(case.memories) == 1:
            others.append(Panel(case, case.memories[0] if case.is_sweep else "", True, False))
            continue
        first = case.memories[0]
        grid.add([Panel(case, each, each == first, False) if each in case.memories else None for each in memories])
    grid.add(others)
    return grid


def draw(records: Sequence[Record]) -> Figure:
    grid = _grid(cases(records))
    heights = [max(_height(panel) for panel in row if panel) for row in grid.rows]
    ceilings = _CeilingStyles(grid.panels)
    # The labels of bars stand at the bars.
    curves = {series for panel in grid.panels if panel.case.is_sweep for series in panel.series}
    handles = [_handle(series) for series in sorted(curves, key=_series_order)] + ceilings.handles()
    width = grid.panel_width * grid.columns
    handles_a_row = _handles_a_row(handles, width)
    head, legend = _HEAD_INCHES, _LEGEND_ROW_INCHES * math.ceil(len(handles) / handles_a_row) + 1.5 * _MARGIN_INCHES
    height = sum(heights) + head + legend
    margin = _MARGIN_INCHES / width
    layout = ConstrainedLayoutEngine(
        rect=(margin, legend / height, 1 - 2 * margin, 1 - (head + legend) / height), wspace=0.04, hspace=0.05
    )
    figure = Figure(figsize=(width, height), layout=layout)
    places = figure.add_gridspec(len(grid.rows), grid.columns, height_ratios=heights)
    first_axes: dict[int, Axes] = {}
    for row_number, row in enumerate(grid.rows):
        is_leftmost = True
        for column, panel in enumerate(row):
            if panel is None:
                continue
            shared = first_axes.get(id(panel.case))
            axes = figure.add_subplot(places[row_number, column], sharex=shared, sharey=shared)
            first_axes.setdefault(id(panel.case), axes)
            if panel.case.is_sweep:
                _draw_curves(axes, panel, ceilings)
            else:
                _draw_bars(axes, panel, ceilings)
            if shared and not is_leftmost:
                axes.tick_params(labelleft=False)
                axes.set_ylabel("")
            _title(axes, panel, grid.panel_width)
            is_leftmost = False
    figure.text(margin, 1 - _MARGIN_INCHES / height, _machine(records), va="top", fontsize=12, fontweight="bold")
    figure.legend(handles=handles, loc="lower center", ncols=handles_a_row, handlelength=2.6, columnspacing=1.6)
    return figure


def _handles_a_row(handles: Sequence[Line2D], width: float) -> int:
    """As many as fit, in rows of the same length as far as may be."""
    widths = [_LEGEND_LINE_INCHES + _LETTER_INCHES * len(str(handle.get_label())) for handle in handles]
    room = width - 2 * _MARGIN_INCHES
    if sum(widths) <= room:
        return max(1, len(handles))
    rows = math.ceil(len(handles) / max(1, int(room / max(widths))))
    return math.ceil(len(handles) / rows)


def _height(panel: Panel) -> float:
    return _PANEL_INCHES[1] if panel.case.is_sweep else max(1.9, 1.3 + _BAR_INCHES * len(panel.series))


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


def _title(axes: Axes, panel: Panel, width: float) -> None:
    case = panel.case
    size = "" if case.is_sweep or not case.sizes else f" of {format_bytes(case.sizes[0])}"
    memory = f", {memory_name(panel.memory)}" if panel.memory else ""
    axes.set_title(f"{case.benchmark}{size}{memory}", loc="left", fontweight="bold", pad=20)
    if not panel.is_first:
        return
    details = [f"{name.replace('_', '-')} {str(value).lower()}" for name, value in case.parameters.items()]
    text = ", ".join([*details, plural(case.ranks, "rank"), f"timing {case.timing}"])
    widest = int(width / _SMALL_LETTER_INCHES)
    shortened = text if len(text) <= widest else text[: widest - 1] + "…"
    axes.annotate(
        shortened, (0, 1), (0, 7), xycoords="axes fraction", textcoords="offset points", fontsize=8, color=_QUIET_COLOUR
    )


class _CeilingStyles:
    """The dashes of each ceiling of a picture."""

    def __init__(self, panels: Iterable[Panel]) -> None:
        keys = dict.fromkeys((memory, ceiling.name) for panel in panels for memory, ceiling, _ in _ceilings(panel))
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
                label=", ".join(part for part in (f"ceiling: {name}", memory_name(memory)) if part),
            )
            for (memory, name), dashes in self._styles.items()
        ]


def _ceilings(panel: Panel) -> list[tuple[str, Ceiling, list[tuple[int, float]]]]:
    """Each ceiling of the panel, by memory: its points are (size, the case's figure at the ceiling)."""
    found: dict[tuple[str, str], tuple[Ceiling, dict[int, float]]] = {}
    for record in panel.records:
        ceiling, figure = record.ceiling, record.figure
        if ceiling is None or figure is None or figure not in ceiling.figures:
            continue
        _, points = found.setdefault((record.memory, ceiling.name), (ceiling, {}))
        points.setdefault(record.size or 0, ceiling.figures[figure])
    return [
        (memory if panel.tells_ceilings_apart else "", ceiling, sorted(points.items()))
        for (memory, _), (ceiling, points) in found.items()
    ]


def _draw_curves(axes: Axes, panel: Panel, styles: _CeilingStyles) -> None:
    case, figure = panel.case, panel.figure
    for memory, ceiling, points in _ceilings(panel):
        axes.plot(
            [size for size, _ in points],
            [value for _, value in points],
            color=_CEILING_COLOUR,
            linestyle=styles.line(memory, ceiling),
            linewidth=1.3,
            zorder=1.5,
        )
    for series in panel.series:
        points_of_series = [record for record in panel.records_of(series) if record.size]
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
    return f"{value:g}" if value >= 1e-4 else f"{value:.9f}".rstrip("0")


def _draw_bars(axes: Axes, panel: Panel, styles: _CeilingStyles) -> None:
    bars = [(series, panel.records_of(series)[0].statistics[panel.figure]) for series in panel.series]
    ceilings = [(styles.line(memory, ceiling), points[0][1]) for memory, ceiling, points in _ceilings(panel)]
    medians = [own.median for _, own in bars]
    figure, factor = readable_figure(panel.figure, max(medians))
    values = [factor * value for value in [*medians, *(value for _, value in ceilings)]]
    ends = [factor * (own.median if own.ci_high is None else own.ci_high) for _, own in bars]
    is_logarithmic = 0 < _LOGARITHMIC_FROM * min(medians) < max(medians) and min(values) > 0
    if is_logarithmic:
        axes.set_xscale("log")
        # A bar of a logarithmic axis has no natural beginning: a whole power of ten leaves each a length to be seen.
        left = 10 ** math.floor(math.log10(0.7 * min(values)))
        axes.set_xlim(left, left * (max(values + ends) / left) ** 1.22)
        axes.xaxis.set_major_locator(LogLocator(base=10, numticks=6))
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_xlim(0, 1.22 * max(values + ends))
        axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
    for position, ((series, own), end) in enumerate(zip(bars, ends, strict=True)):
        axes.barh(
            position,
            factor * own.median,
            height=0.62,
            color=(*series.colour, 0.15 if series.filling == "none" else 1),
            edgecolor=series.colour,
            linewidth=1.6,
        )
        if own.ci_low is not None:
            axes.plot(
                [factor * own.ci_low, end],
                [position, position],
                color=_TEXT_COLOUR,
                linewidth=1.2,
                marker="|",
                markersize=6,
            )
        axes.annotate(
            f"{format_number(factor * own.median)} {figure_unit(figure)}".strip(),
            (end, position),
            (6, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
        )
    for dashes, value in ceilings:
        axes.axvline(factor * value, color=_CEILING_COLOUR, linestyle=dashes, linewidth=1.3, zorder=1.5)
    axes.set_yticks(range(len(bars)), [series.label for series, _ in bars])
    axes.set_ylim(len(bars) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.grid(True, axis="x")
    axes.set_xlabel(figure_label(figure) + (", logarithmic" if is_logarithmic else ""))
