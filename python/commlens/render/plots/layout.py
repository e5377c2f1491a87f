"""The layout of all pictures: a head, rows of panels, and a legend of what they show; and which of
many records are drawn, so that a picture is at most two screens high."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from commlens.base.errors import CommlensError
from commlens.base.text import format_count, plural
from commlens.model import Group, Record, groups
from commlens.render.plots.content import Content
from commlens.render.plots.head import Head
from commlens.render.plots.panel import LegendEntry, Panel
from commlens.render.plots.panels import panels_of
from commlens.render.plots.style import (
    LETTER_INCHES,
    MARGIN_INCHES,
    NARROW_PANEL_INCHES,
    PANEL_INCHES,
)
from commlens.render.plots.timeline import timelines

MAX_HEIGHT_INCHES = 20.0  # two screens
_MOST_GROUPS = 60  # are tried
_MOST_SERIES = 16
_MOST_SIZES = 500
_ZERO = 1e-30  # and less is nothing that was measured
_MAX_NARROW_COLUMNS = 4
_LEGEND_ROW_INCHES = 0.2
_HANDLE_INCHES = 0.65  # the piece of line before a label and the gap after it
_TIMELINE_INCHES = 2 * PANEL_INCHES[0]
_Item = TypeVar("_Item")
Row = Sequence["Panel | None"]  # None: the cell stays empty


@dataclass(frozen=True)
class Layout:
    """Rows of panels. All sizes are in inches."""

    rows: Sequence[Row]
    columns: int
    panel_width: float
    head: Head | None = None
    most_height: float = math.inf  # a higher picture is refused

    @property
    def width(self) -> float:
        """The width of all columns."""
        return self.panel_width * self.columns

    @cached_property
    def height(self) -> float:
        """The height of the head, the panels and the legend."""
        head = self.head.height if self.head else 0
        return head + sum(self._heights) + self._legend_height

    @cached_property
    def _heights(self) -> list[float]:
        """Of each row: of the highest of its panels below the largest of its headings."""
        return [
            max(panel.extra_inches(self._inside(panel, at)) for at, panel in _cells(row))
            + max(panel.height for _, panel in _cells(row))
            for row in self.rows
        ]

    @cached_property
    def _label_widths(self) -> list[float]:
        """Of each column of axes, as wide as each other: what labels leave is divided."""
        widths = [0.0] * self.columns
        for column, panel in (cell for row in self.rows for cell in _cells(row)):
            if not panel.is_wide:
                widths[column] = max(widths[column], panel.label_width)
        return widths

    def _inside(self, panel: Panel, column: int) -> float:
        """The width of the axes of a panel."""
        if panel.is_wide:
            return self.width - panel.label_width
        used = max(len(row) for row in self.rows)
        return (self.panel_width * used - sum(self._label_widths)) / used

    # ---- the legend ----

    @cached_property
    def _handles(self) -> list[Artist]:
        entries: dict[str, LegendEntry] = {}
        for panel in (panel for row in self.rows for _, panel in _cells(row)):
            for entry in panel.legend:
                entries.setdefault(entry.label, entry)
        ordered = sorted(entries.values(), key=lambda entry: (entry.kind, entry.order))
        return [entry.artist for entry in ordered]

    @property
    def _handles_per_row(self) -> int:
        """As many as fit, in rows of about the same length."""
        labels = [str(handle.get_label()) for handle in self._handles]
        widths = [_HANDLE_INCHES + LETTER_INCHES * len(label) for label in labels]
        room = self.width - 2 * MARGIN_INCHES
        if sum(widths) <= room:
            return len(widths)
        rows = math.ceil(len(widths) / max(1, int(room / max(widths))))
        return math.ceil(len(widths) / rows)

    @property
    def _legend_height(self) -> float:
        if not self._handles:
            return 0
        rows = math.ceil(len(self._handles) / self._handles_per_row)
        return _LEGEND_ROW_INCHES * rows + 1.5 * MARGIN_INCHES

    # ---- drawing ----

    def draw(self) -> Figure:
        """Raises CommlensError for a picture that is too high."""
        figure = self._figure()
        ratios = [
            max((panel.axes_height or height) for panel in row if panel)
            for row, height in zip(self.rows, self._heights)
        ]
        grid = figure.add_gridspec(len(self.rows), self.columns, height_ratios=ratios)
        first_axes: dict[int, Axes] = {}  # of the panels of a group that share them
        for number, row in enumerate(self.rows):
            shown = _cells(row)
            lines = max(len(panel.detail_lines(self._inside(panel, at))) for at, panel in shown)
            for column, panel in shown:
                width, group = self._inside(panel, column), id(panel.group)
                shared = None if panel.column is None else first_axes.get(group)
                cell = grid[number, :] if panel.is_wide else grid[number, column]
                axes = figure.add_subplot(cell, sharex=shared, sharey=shared)
                if panel.column is not None:
                    first_axes.setdefault(group, axes)
                panel.draw(axes, width)
                if shared and column != shown[0][0]:
                    axes.tick_params(labelleft=False)
                    axes.set_ylabel("")
                panel.write_heading(axes, width, lines)
        if self._handles:
            figure.legend(
                handles=self._handles,
                loc="outside lower center",
                ncols=self._handles_per_row,
                handlelength=2.6,
                columnspacing=1.6,
            )
        return figure

    def _figure(self) -> Figure:
        if self.height > self.most_height:
            raise CommlensError(
                f"--out: a picture of these records would be"
                f" {2 * self.height / MAX_HEIGHT_INCHES:.1f} screens high; choose fewer, as"
                " docs/records.md shows"
            )
        margin = MARGIN_INCHES / self.width
        head = self.head.height if self.head else 0
        layout = ConstrainedLayoutEngine(
            rect=(margin, 0, 1 - 2 * margin, 1 - head / self.height),
            h_pad=0.075,
            wspace=0.04,
            hspace=0.04,
        )
        figure = Figure(figsize=(self.width, self.height), layout=layout)
        if self.head:
            self.head.write(figure)
        return figure


def _cells(row: Row) -> list[tuple[int, Panel]]:
    """The panels of a row with their columns."""
    return [(column, panel) for column, panel in enumerate(row) if panel]


def arranged(panels: Sequence[Panel], columns: int) -> list[Row]:
    """Rows of panels: first those that have a place in a row of their group, then all others."""
    placed: dict[int, dict[int, Panel]] = {}
    for panel in panels:
        if panel.column is not None:
            placed.setdefault(id(panel.group), {})[panel.column] = panel
    rows: list[Row] = []
    for by_column in placed.values():
        cells = [by_column.get(column) for column in range(max(by_column) + 1)]
        chunks = (cells[start : start + columns] for start in range(0, len(cells), columns))
        rows += [chunk for chunk in chunks if any(chunk)]
    row: list[Panel] = []
    for panel in (panel for panel in panels if panel.column is None):
        if row and (panel.is_wide or row[0].is_wide or len(row) == columns):
            rows.append(row)
            row = []
        row.append(panel)
    return [*rows, row] if row else rows


def single(panel: Panel, width: float = PANEL_INCHES[0]) -> Figure:
    """A panel as a picture of its own, without a head."""
    return Layout([[panel]], 1, width, most_height=MAX_HEIGHT_INCHES).draw()


# ---- pictures of records ----


def _picture(content: Content) -> Layout:
    panels = panels_of(content)
    if content.memories:
        count = len(content.memories)
        columns, width = (count if count <= _MAX_NARROW_COLUMNS else 3), NARROW_PANEL_INCHES
    else:  # up to four stand in a square
        columns = 1 if len(panels) == 1 else 2 if len(panels) <= 4 else 3
        width = PANEL_INCHES[0] * (panels[0].stretch_alone if len(panels) == 1 else 1)
    head = Head.of(content.records, content.groups, width * columns)
    return Layout(arranged(panels, columns), columns, width, head, MAX_HEIGHT_INCHES)


def height_of_picture(all_groups: Sequence[Group]) -> float:
    """The height of the picture without timelines, in inches."""
    records = [record for group in all_groups for record in group.records]
    return _picture(Content(records, all_groups)).height


def draw(records: Sequence[Record]) -> Figure:
    """Draws all but the timelines."""
    return _picture(Content.of(records)).draw()


def draw_singly(records: Sequence[Record]) -> Iterator[tuple[Panel, Figure]]:
    """Draws each panel as a picture, for a page that has what all have in common: without a head.

    All have the colors that they have in the one picture of all.
    """
    return ((panel, single(panel)) for panel in panels_of(Content.of(records)))


def draw_timelines(records: Sequence[Record], with_head: bool = True) -> tuple[Figure | None, int]:
    """Draws the timelines: None without any, and how many there is no room for."""
    content = Content.of(records)
    all_panels = timelines(content)
    if not all_panels:
        return None, 0
    head = Head.of(records, content.groups, _TIMELINE_INCHES) if with_head else None

    def picture(panels: Sequence[Panel]) -> Layout:
        return Layout([[panel] for panel in panels], 1, _TIMELINE_INCHES, head, MAX_HEIGHT_INCHES)

    shown = fitting(all_panels, lambda panels: picture(panels).height)
    return picture(shown).draw(), len(all_panels) - len(shown)


# ---- what has room ----


def select(
    records: Sequence[Record], height: Callable[[Sequence[Group]], float]
) -> tuple[list[Record], list[str]]:
    """The records to draw, and what was left out, in sentences.

    `height` is that of a picture of some groups, in inches.
    """
    left_out = []
    measured = [record for record in records if record.measured]
    if count := len(records) - len(measured):
        lines = plural(count, "record")
        left_out.append(f"left out {lines}, failed or skipped; `commlens show` has the reasons")
    drawable = [record for record in measured if _median(record) > _ZERO]
    if count := len(measured) - len(drawable):
        left_out.append(f"left out {plural(count, 'record')} with a metric of 0")
    tried = groups(drawable)
    chosen = fitting(tried[:_MOST_GROUPS], height)
    if count := len(tried) - len(chosen):
        left_out.append(
            f"two screens hold {len(chosen)} of {format_count(len(tried))} groups of records; name"
            " fewer files, or choose lines as docs/records.md shows"
        )
    kept: set[Record] = set()
    for group in chosen:
        drawn, sentences = _of_group(group)
        kept.update(drawn)
        left_out += sentences
    return [record for record in records if record in kept], left_out


def _median(record: Record) -> float:
    return record.statistics[record.main.name].median if record.main else 0.0


def fitting(candidates: Sequence[_Item], height: Callable[[Sequence[_Item]], float]) -> list[_Item]:
    """The first ones whose picture is not too high, at least one."""
    chosen = list(candidates)
    while len(chosen) > 1 and height(chosen) > MAX_HEIGHT_INCHES:
        del chosen[-1]
    return chosen


def _of_group(group: Group) -> tuple[list[Record], list[str]]:
    left_out = []

    def series(record: Record) -> tuple[object, ...]:
        return group.series_number(record), record.transport, record.memory

    all_series = list(dict.fromkeys(map(series, group.records)))
    kept = all_series[:_MOST_SERIES]
    if len(all_series) > len(kept):
        left_out.append(
            f"{group.benchmark}: drawn are the first {len(kept)} of {format_count(len(all_series))}"
            " lines or bars"
        )
    step = max(1, -(-len(group.sizes) // _MOST_SIZES))
    sizes = {None, *group.sizes[::step], *group.sizes[-1:]}
    if step > 1:
        left_out.append(
            f"{group.benchmark}: drawn at every {step}th of {format_count(len(group.sizes))} sizes"
        )
    sized = (record for record in group.records if record.size in sizes)
    return [record for record in sized if series(record) in kept], left_out
