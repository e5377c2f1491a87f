"""The layout of a picture: its head, a grid of panels or timelines below each other, a legend."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from commlens.base.errors import CommlensError
from commlens.model import Group, Record, groups
from commlens.model.scaling import scalings
from commlens.render.plots.bars import draw_bars
from commlens.render.plots.curves import draw_curves
from commlens.render.plots.extra import ExtraPanel, extra_panels
from commlens.render.plots.grid import AnyPanel, Grid, make_grid
from commlens.render.plots.head import Head
from commlens.render.plots.legend import add_legend, legend_height
from commlens.render.plots.overlap import Operation, OverlapPanel, operations, overlap_panels
from commlens.render.plots.panel import CeilingStyles, Panel
from commlens.render.plots.parts import shares_panels
from commlens.render.plots.published import PublishedStyles
from commlens.render.plots.selection import MAX_HEIGHT_INCHES
from commlens.render.plots.shares import SharesPanel, share_handles
from commlens.render.plots.style import MARGIN_INCHES, PANEL_INCHES, Theme, line_handle
from commlens.render.plots.timeline import (
    WIDTH_INCHES,
    TimelinePanel,
    part_handles,
    timeline_panels,
)


@dataclass(frozen=True)
class _Styled:
    """A grid of panels, and what its lines look like."""

    grid: Grid

    @cached_property
    def ceilings(self) -> CeilingStyles:
        shares = (panel.panel for panel in self.grid.shares)
        return CeilingStyles([*self.grid.panels, *shares])

    @cached_property
    def published(self) -> PublishedStyles:
        return PublishedStyles(self.grid.panels)

    @cached_property
    def handles(self) -> list[Artist]:
        """Bars are labelled where they are."""
        sweeps = [panel for panel in self.grid.panels if panel.group.is_sweep]
        series = {own for panel in sweeps for own in panel.series}
        series |= {own for panel in self.grid.extra for own in panel.series}
        curves = [line_handle(own) for own in sorted(series, key=lambda own: own.order)]
        lines = [*self.ceilings.handles(), *self.published.handles()]
        return [*curves, *lines, *share_handles(self.grid.shares)]


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
    def head(self) -> Head:
        return Head.of(self.records, self.groups, self.grid.width)

    @cached_property
    def styled(self) -> _Styled:
        return _Styled(self.grid)

    @cached_property
    def height(self) -> float:
        """In inches."""
        legend = legend_height(self.styled.handles, self.grid.width)
        return self.head.height + sum(self.grid.heights) + legend


def height_of_picture(all_groups: Sequence[Group]) -> float:
    """In inches, of the picture without timelines."""
    records = [record for group in all_groups for record in group.records]
    return _Content(records, all_groups).height


def draw(records: Sequence[Record]) -> Figure:
    """All but the timelines."""
    content = _Content(records, groups(records))
    width = content.grid.width
    figure = _figure(width, content.height, content.head)
    _draw_grid(figure, content.styled)
    add_legend(figure, content.styled.handles, width)
    return figure


class Single(NamedTuple):
    """One panel as a picture of its own."""

    title: str
    group: Group | None  # None: it shows several groups at once
    figure: Figure


def draw_singly(records: Sequence[Record]) -> Iterator[Single]:
    """Each panel as a picture, for a page that says itself what all have in common: without a head.

    All have the colors that they have in the one picture of all.
    """
    content = _Content(records, groups(records))
    panels: list[AnyPanel] = [one for row in content.grid.rows for one in row if one]
    for panel in panels:
        group = None if isinstance(panel, ExtraPanel) else panel.group
        yield Single(panel.heading.title, group, _single(panel))


def _single(panel: AnyPanel) -> Figure:
    width = PANEL_INCHES[0]
    styled = _Styled(Grid(1, width, [[panel]]))
    legend = legend_height(styled.handles, width)
    figure = _figure(width, sum(styled.grid.heights) + legend)
    _draw_grid(figure, styled)
    add_legend(figure, styled.handles, width)
    return figure


def draw_timelines(records: Sequence[Record], with_head: bool = True) -> tuple[Figure | None, int]:
    """The timelines, None without any, and how many there is no room for."""
    content = _Content(records, groups(records))
    all_timelines = timeline_panels(_on_most_ranks(content.operations), content.theme)
    if not all_timelines:
        return None, 0
    head = Head.of(records, content.groups, WIDTH_INCHES) if with_head else None
    handles = part_handles(all_timelines)
    fixed = (head.height if head else 0) + legend_height(handles, WIDTH_INCHES)
    timelines = list(all_timelines)
    while len(timelines) > 1 and fixed + _height(timelines) > MAX_HEIGHT_INCHES:
        del timelines[-1]
    figure = _figure(WIDTH_INCHES, fixed + _height(timelines), head)
    heights = [panel.lanes_height for panel in timelines]
    cells = figure.add_gridspec(len(timelines), 1, height_ratios=heights)
    for row, panel in enumerate(timelines):
        axes = figure.add_subplot(cells[row, 0])
        panel.draw(axes)
        heading = panel.heading
        heading.write(axes, panel.width, len(heading.lines(panel.width)))
    add_legend(figure, handles, WIDTH_INCHES)
    return figure, len(all_timelines) - len(timelines)


def _height(timelines: Sequence[TimelinePanel]) -> float:
    return sum(panel.height for panel in timelines)


def _figure(width: float, height: float, head: Head | None = None) -> Figure:
    if height > MAX_HEIGHT_INCHES:
        raise CommlensError(
            f"--out: a picture of these records would be {2 * height / MAX_HEIGHT_INCHES:.1f}"
            " screens high; choose fewer, as docs/records.md shows"
        )
    margin = MARGIN_INCHES / width
    layout = ConstrainedLayoutEngine(
        rect=(margin, 0, 1 - 2 * margin, 1 - (head.height if head else 0) / height),
        h_pad=0.075,
        wspace=0.04,
        hspace=0.04,
    )
    figure = Figure(figsize=(width, height), layout=layout)
    if head:
        head.write(figure)
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


def _draw_grid(figure: Figure, styled: _Styled) -> None:
    grid, ceilings = styled.grid, styled.ceilings
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
                draw = draw_curves if panel.group.is_sweep else draw_bars
                draw(axes, panel, ceilings, styled.published)
            elif isinstance(panel, SharesPanel):
                panel.draw(axes, ceilings, widths[column])
            else:
                panel.draw(axes)
            if shared and not is_leftmost:
                axes.tick_params(labelleft=False)
                axes.set_ylabel("")
            panel.heading.write(axes, widths[column], max_lines)
            is_leftmost = False
