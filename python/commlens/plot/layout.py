"""Where everything stands: a grid of panels, the timelines under it in the full width, and what their colours mean."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure, FigureBase
from matplotlib.layout_engine import ConstrainedLayoutEngine

from commlens.plot.bars import draw_bars
from commlens.plot.curves import draw_curves
from commlens.plot.gains import GainsPanel, gains_panels
from commlens.plot.overlap import OverlapPanel, Whole, overlap_panels, wholes
from commlens.plot.panel import CeilingStyles, Panel
from commlens.plot.residuals import ResidualsPanel, residuals_panels
from commlens.plot.roofline import RooflinePanel, roofline_panels
from commlens.plot.shares import SharesPanel, share_handles, shares_panels
from commlens.plot.style import (
    LETTER_INCHES,
    NARROW_PANEL_INCHES,
    PANEL_INCHES,
    line_handle,
    part_colours,
    series_order,
)
from commlens.plot.throughput import ThroughputPanel, throughput_panels
from commlens.plot.timeline import TimelinePanel, part_handles, timeline_panels
from commlens.records import Case, Record, cases
from commlens.scaling import scalings
from commlens.text import plural

LastPanel = GainsPanel | ThroughputPanel | ResidualsPanel | RooflinePanel  # of several cases at once
AnyPanel = Panel | OverlapPanel | SharesPanel | LastPanel

_MOST_MEMORIES_A_PANEL = 2
_HEAD_INCHES = 0.45
_LEGEND_ROW_INCHES = 0.2
_LEGEND_LINE_INCHES = 0.65  # the piece of line before a label, and the gap after it
_MARGIN_INCHES = 0.14


@dataclass(frozen=True)
class _Grid:
    """Rows of panels, None where a place stays empty."""

    columns: int
    panel_width: float  # inches
    rows: list[list[AnyPanel | None]] = field(default_factory=list)

    def add(self, panels: Sequence[AnyPanel | None]) -> None:
        rows = [list(panels[start : start + self.columns]) for start in range(0, len(panels), self.columns)]
        self.rows.extend(row for row in rows if any(row))

    @property
    def panels(self) -> list[Panel]:
        """Those of the benchmarks' own figures."""
        return [panel for row in self.rows for panel in row if isinstance(panel, Panel)]

    @property
    def shares(self) -> list[SharesPanel]:
        return [panel for row in self.rows for panel in row if isinstance(panel, SharesPanel)]

    @property
    def by_column(self) -> list[list[AnyPanel | None]]:
        return [list(column) for column in zip_longest(*self.rows)]

    @property
    def heights(self) -> list[float]:
        return [max(panel.height for panel in row if panel) for row in self.rows]


def _grid(
    all_cases: Sequence[Case], of_parts: Mapping[int, Sequence[OverlapPanel | SharesPanel]], last: Sequence[LastPanel]
) -> _Grid:
    """`of_parts` stand beside the panels of their cases, by whose identity they are given."""
    memories = sorted({memory for case in all_cases if case.is_sweep for memory in case.memories})
    if len(memories) <= _MOST_MEMORIES_A_PANEL:
        panels: list[AnyPanel] = []
        for case in all_cases:
            beside = of_parts.get(id(case), [])
            is_said = _says_all(beside, case) or any(_says_more(panel, case) for panel in last)
            panels += [*([] if is_said else [Panel(case)]), *beside]
        panels += last
        # Three stand in a row where the timelines want the width, and in two rows where nothing does.
        in_two = (2, 4) if any(isinstance(panel, OverlapPanel) for panel in panels) else (2, 3, 4)
        columns = 1 if len(panels) == 1 else 2 if len(panels) in in_two else 3
        # A panel that stands alone above timelines is as wide as they need.
        is_alone_above = len(panels) == 1 and isinstance(panels[0], SharesPanel)
        grid = _Grid(columns, (1.6 if is_alone_above else 1) * PANEL_INCHES[0])
        grid.add(panels)
        return grid
    grid = _Grid(len(memories) if len(memories) <= 4 else 3, NARROW_PANEL_INCHES)
    others: list[AnyPanel | None] = []
    for case in all_cases:
        if not case.is_sweep or len(case.memories) == 1:
            others.append(Panel(case, case.memories[0] if case.is_sweep else "", True, False))
        else:
            first = case.memories[0]
            grid.add([Panel(case, each, each == first, False) if each in case.memories else None for each in memories])
        others += of_parts.get(id(case), [])
    grid.add([*others, *last])
    return grid


def _says_all(panels: Sequence[OverlapPanel | SharesPanel], case: Case) -> bool:
    """Whether the bars of the parts show what those of the whole would: each record's time, which is its own figure."""
    return (
        len(panels) == 1
        and isinstance(panels[0], SharesPanel)
        and len(panels[0].wholes) == len(case.records)
        and (case.records[0].figure or "").startswith("time_")
    )


def _says_more(panel: LastPanel, case: Case) -> bool:
    """Whether it shows the case's own curves, beside others."""
    return isinstance(panel, ThroughputPanel) and panel.shows(case)


def draw(records: Sequence[Record]) -> Figure:
    all_cases = cases(records)
    all_wholes, colours = wholes(all_cases), part_colours(records)
    last: list[LastPanel] = [
        *gains_panels(all_cases),
        *throughput_panels(records),
        *residuals_panels(records),
        *roofline_panels(records),
    ]
    of_parts: dict[int, Sequence[OverlapPanel | SharesPanel]]
    of_parts = {**overlap_panels(all_wholes, colours), **shares_panels(all_wholes, colours)}
    grid = _grid(all_cases, of_parts, last)
    timelines = timeline_panels(_of_most_ranks(all_wholes), colours)
    ceilings = CeilingStyles([*grid.panels, *(panel.bars for panel in grid.shares)])
    # The labels of bars stand at the bars.
    curves = {series for panel in grid.panels if panel.case.is_sweep for series in panel.series}
    curves |= {series for panel in last for series in panel.curves}
    lines: list[Artist] = [line_handle(series) for series in sorted(curves, key=series_order)]
    lines += [*ceilings.handles(), *share_handles(grid.shares)]
    width = grid.panel_width * grid.columns
    upper = sum(grid.heights) + _legend_height(lines, width)
    lower = sum(panel.height for panel in timelines) + _legend_height(part_handles(timelines), width)
    height = _HEAD_INCHES + upper + lower
    margin = _MARGIN_INCHES / width
    layout = ConstrainedLayoutEngine(
        rect=(margin, 0, 1 - 2 * margin, 1 - _HEAD_INCHES / height), h_pad=0.075, wspace=0.04, hspace=0.04
    )
    figure = Figure(figsize=(width, height), layout=layout)
    figure.text(margin, 1 - _MARGIN_INCHES / height, _machine(records), va="top", fontsize=12, fontweight="bold")
    halves = figure.add_gridspec(2, 1, height_ratios=(upper, lower)) if timelines else None
    above = figure.add_subfigure(halves[0, 0]) if halves else figure
    _draw_grid(above, grid, ceilings)
    _add_legend(above, lines, width)
    if halves:
        below = figure.add_subfigure(halves[1, 0])
        _draw_timelines(below, timelines, width)
        _add_legend(below, part_handles(timelines), width)
    return figure


def _of_most_ranks(all_wholes: Sequence[Whole]) -> list[Whole]:
    """Without those with parts within that ran on fewer ranks than others of the same problem: they look alike."""
    fewer = [case for found in scalings([whole.case for whole in all_wholes]) for case in _but_most_ranks(found.cases)]
    return [
        whole
        for whole in all_wholes
        if not (whole.record.has_parts_within and any(whole.case is case for case in fewer))
    ]


def _but_most_ranks(all_cases: Sequence[Case]) -> list[Case]:
    return [case for case in all_cases if case.ranks < max(other.ranks for other in all_cases)]


def _draw_grid(figure: FigureBase, grid: _Grid, ceilings: CeilingStyles) -> None:
    places = figure.add_gridspec(len(grid.rows), grid.columns, height_ratios=grid.heights)
    widths = [grid.panel_width - max(panel.label_width for panel in column if panel) for column in grid.by_column]
    first_axes: dict[int, Axes] = {}
    for row_number, row in enumerate(grid.rows):
        is_leftmost = True
        most_lines = max(len(panel.heading.lines(width)) for panel, width in zip(row, widths, strict=False) if panel)
        for column, panel in enumerate(row):
            if panel is None:
                continue
            place = places[row_number, column]
            if isinstance(panel, SharesPanel):
                axes = figure.add_subplot(place)
                panel.draw(axes, ceilings)
            elif not isinstance(panel, Panel):
                axes = figure.add_subplot(place)
                panel.draw(axes)
            else:
                shared = first_axes.get(id(panel.case))
                axes = figure.add_subplot(place, sharex=shared, sharey=shared)
                first_axes.setdefault(id(panel.case), axes)
                (draw_curves if panel.case.is_sweep else draw_bars)(axes, panel, ceilings)
                if shared and not is_leftmost:
                    axes.tick_params(labelleft=False)
                    axes.set_ylabel("")
            panel.heading.write(axes, widths[column], most_lines)
            is_leftmost = False


def _draw_timelines(figure: FigureBase, timelines: Sequence[TimelinePanel], width: float) -> None:
    heights = [panel.lanes_height for panel in timelines]
    places = figure.add_gridspec(len(timelines), 1, height_ratios=heights)
    for row, panel in enumerate(timelines):
        axes, width_of_axes = figure.add_subplot(places[row, 0]), width - panel.label_width
        panel.draw(axes, width_of_axes)
        panel.heading.write(axes, width_of_axes, most_lines=1)


def _add_legend(figure: FigureBase, handles: Sequence[Artist], width: float) -> None:
    if handles:
        columns = _handles_a_row(handles, width)
        figure.legend(handles=handles, loc="outside lower center", ncols=columns, handlelength=2.6, columnspacing=1.6)


def _legend_height(handles: Sequence[Artist], width: float) -> float:
    if not handles:
        return 0
    return _LEGEND_ROW_INCHES * math.ceil(len(handles) / _handles_a_row(handles, width)) + 1.5 * _MARGIN_INCHES


def _handles_a_row(handles: Sequence[Artist], width: float) -> int:
    """As many as fit, in rows of the same length as far as may be."""
    widths = [_LEGEND_LINE_INCHES + LETTER_INCHES * len(str(handle.get_label())) for handle in handles]
    room = width - 2 * _MARGIN_INCHES
    if sum(widths) <= room:
        return max(1, len(handles))
    rows = math.ceil(len(handles) / max(1, int(room / max(widths))))
    return math.ceil(len(handles) / rows)


def _machine(records: Sequence[Record]) -> str:
    """Host, GPU, ranks and MPI, each as far as the records agree on it."""

    def join(values: Iterable[str]) -> str:
        distinct = list(dict.fromkeys(values))
        return " and ".join(distinct) if len(distinct) <= 2 else f"{len(distinct)} machines"

    ranks = sorted({record.ranks for record in records})
    parts = [
        join(record.host if record.nodes == 1 else f"{record.nodes} nodes ({record.host} first)" for record in records),
        join(record.gpu for record in records if record.gpu),
        f"{ranks[0]:,} to {ranks[-1]:,} ranks"
        if len(ranks) > 2
        else " and ".join(plural(count, "rank") for count in ranks),
        join(record.mpi for record in records),
    ]
    return "  ·  ".join(part for part in parts if part)
