"""The layout of a picture: a grid of panels, timelines below it, and the legends of both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure, FigureBase
from matplotlib.layout_engine import ConstrainedLayoutEngine

from commlens.errors import CommlensError
from commlens.plot.bars import draw_bars
from commlens.plot.curves import draw_curves
from commlens.plot.extra import ExtraPanel, extra_panels
from commlens.plot.grid import Grid, make_grid
from commlens.plot.legend import add_legend, legend_height
from commlens.plot.overlap import Operation, OverlapPanel, operations, overlap_panels
from commlens.plot.panel import CeilingStyles, Panel
from commlens.plot.selection import MAX_HEIGHT_INCHES, fitting_heights
from commlens.plot.shares import SharesPanel, share_handles, shares_panels
from commlens.plot.style import MARGIN_INCHES, Theme, line_handle
from commlens.plot.timeline import TimelinePanel, part_handles, timeline_panels
from commlens.records import Group, Record, Start, groups
from commlens.records.scaling import scalings
from commlens.text import plural

_HEAD_INCHES = 0.45
_MAX_NAMES = 2
_MAX_INCHES = 5 * MAX_HEIGHT_INCHES  # of a picture, with legends and timelines


@dataclass(frozen=True)
class _Content:
    """The panels of groups of records."""

    records: Sequence[Record]
    groups: Sequence[Group]

    @cached_property
    def theme(self) -> Theme:
        return Theme.of(self.records)

    @cached_property
    def operations(self) -> list[Operation]:
        return operations(self.groups, self.theme)

    @cached_property
    def extra(self) -> list[ExtraPanel]:
        return extra_panels(self.records, self.groups, self.theme)

    @cached_property
    def grid(self) -> Grid:
        of_parts: dict[int, Sequence[OverlapPanel | SharesPanel]] = {
            **overlap_panels(self.operations, self.theme),
            **shares_panels(self.operations, self.theme),
        }
        return make_grid(self.groups, self.theme, of_parts, self.extra)

    @cached_property
    def timelines(self) -> list[TimelinePanel]:
        found = timeline_panels(_on_most_ranks(self.operations), self.theme)
        return found[: fitting_heights(panel.height for panel in found)]


def height_of_panels(all_groups: Sequence[Group]) -> float:
    """In inches, without timelines."""
    records = [record for group in all_groups for record in group.records]
    return sum(_Content(records, all_groups).grid.heights)


def draw(records: Sequence[Record]) -> Figure:
    content = _Content(records, groups(records))
    grid, extra, timelines = content.grid, content.extra, content.timelines
    ceilings = CeilingStyles([*grid.panels, *(panel.panel for panel in grid.shares)])
    lines = _handles(grid, extra, ceilings)
    width = grid.width
    upper = sum(grid.heights) + legend_height(lines, width)
    parts = part_handles(timelines)
    lower = sum(panel.height for panel in timelines) + legend_height(parts, width)
    height = _HEAD_INCHES + upper + lower
    if max(width, height) > _MAX_INCHES:
        raise CommlensError(
            f"--out: a picture of these records would be {height / MAX_HEIGHT_INCHES * 2:.0f}"
            " screens high; choose fewer, as docs/records.md shows"
        )
    figure = _figure(width, height, _machine(records))
    if not timelines:
        _draw_grid(figure, grid, ceilings)
        add_legend(figure, lines, width)
        return figure
    halves = figure.add_gridspec(2, 1, height_ratios=(upper, lower))
    above, below = (figure.add_subfigure(halves[row, 0]) for row in (0, 1))
    _draw_grid(above, grid, ceilings)
    add_legend(above, lines, width)
    _draw_timelines(below, timelines, width)
    add_legend(below, parts, width)
    return figure


def _handles(grid: Grid, extra: Sequence[ExtraPanel], ceilings: CeilingStyles) -> list[Artist]:
    """Bars are labelled where they are."""
    series = {own for panel in grid.panels if panel.group.is_sweep for own in panel.series}
    series |= {own for panel in extra for own in panel.series}
    curves = [line_handle(own) for own in sorted(series, key=lambda own: own.order)]
    return [*curves, *ceilings.handles(), *share_handles(grid.shares)]


def _figure(width: float, height: float, title: str) -> Figure:
    margin = MARGIN_INCHES / width
    layout = ConstrainedLayoutEngine(
        rect=(margin, 0, 1 - 2 * margin, 1 - _HEAD_INCHES / height),
        h_pad=0.075,
        wspace=0.04,
        hspace=0.04,
    )
    figure = Figure(figsize=(width, height), layout=layout)
    top = 1 - MARGIN_INCHES / height
    figure.text(margin, top, title, va="top", fontsize=12, fontweight="bold")
    return figure


def _on_most_ranks(all_operations: Sequence[Operation]) -> list[Operation]:
    """Without timelines on fewer ranks of the same problem that look alike: of parts within."""
    fewer = {
        id(group)
        for found in scalings([operation.group for operation in all_operations])
        for group in _but_most_ranks(found.groups)
    }
    return [
        operation
        for operation in all_operations
        if not (operation.record.has_parts_within and id(operation.group) in fewer)
    ]


def _but_most_ranks(own: Sequence[Group]) -> list[Group]:
    return [group for group in own if group.ranks < max(other.ranks for other in own)]


def _draw_grid(figure: FigureBase, grid: Grid, ceilings: CeilingStyles) -> None:
    cells = figure.add_gridspec(len(grid.rows), grid.columns, height_ratios=grid.heights)
    widths = grid.axes_widths
    first_axes: dict[int, Axes] = {}
    for row_number, row in enumerate(grid.rows):
        is_leftmost = True
        headings = [(panel.heading, width) for panel, width in zip(row, widths) if panel]
        max_lines = max(len(heading.lines(width)) for heading, width in headings)
        for column, panel in enumerate(row):
            if panel is None:
                continue
            shared = first_axes.get(id(panel.group)) if isinstance(panel, Panel) else None
            axes = figure.add_subplot(cells[row_number, column], sharex=shared, sharey=shared)
            if isinstance(panel, Panel):
                first_axes.setdefault(id(panel.group), axes)
                (draw_curves if panel.group.is_sweep else draw_bars)(axes, panel, ceilings)
            elif isinstance(panel, SharesPanel):
                panel.draw(axes, ceilings)
            else:
                panel.draw(axes)
            if shared and not is_leftmost:
                axes.tick_params(labelleft=False)
                axes.set_ylabel("")
            panel.heading.write(axes, widths[column], max_lines)
            is_leftmost = False


def _draw_timelines(figure: FigureBase, timelines: Sequence[TimelinePanel], width: float) -> None:
    heights = [panel.lanes_height for panel in timelines]
    cells = figure.add_gridspec(len(timelines), 1, height_ratios=heights)
    for row, panel in enumerate(timelines):
        axes, axes_width = figure.add_subplot(cells[row, 0]), width - panel.label_width
        panel.draw(axes, axes_width)
        panel.heading.write(axes, axes_width, max_lines=1)


def _machine(records: Sequence[Record]) -> str:
    """Host, GPU, ranks and MPI, as far as the records agree on them."""
    starts = list({id(record.start): record.start for record in records}.values())
    ranks = sorted({record.ranks for record in records})
    if len(ranks) > _MAX_NAMES:
        ranks_text = f"{ranks[0]:,} to {ranks[-1]:,} ranks"
    else:
        ranks_text = " and ".join(plural(count, "rank") for count in ranks)
    parts = [
        _joined(map(_hosts, starts)),
        _joined(start.gpu for start in starts if start.gpu),
        ranks_text,
        _joined(start.mpi for start in starts),
    ]
    return "  ·  ".join(filter(None, parts))


def _hosts(start: Start) -> str:
    return start.host if start.nodes == 1 else f"{start.nodes} nodes ({start.host} first)"


def _joined(names: Iterable[str]) -> str:
    distinct = list(dict.fromkeys(names))
    return " and ".join(distinct) if len(distinct) <= _MAX_NAMES else f"{len(distinct)} machines"
