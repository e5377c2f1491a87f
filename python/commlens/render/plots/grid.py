"""Which panels a picture has, and where each stands in the grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Union

from commlens.model import Group
from commlens.render.plots.differences import difference
from commlens.render.plots.extra import ExtraPanel
from commlens.render.plots.overlap import OverlapPanel
from commlens.render.plots.panel import Panel
from commlens.render.plots.shares import SharesPanel
from commlens.render.plots.style import NARROW_PANEL_INCHES, PANEL_INCHES, Theme

AnyPanel = Union[Panel, OverlapPanel, SharesPanel, ExtraPanel]
OfParts = Mapping[int, Sequence[Union[OverlapPanel, SharesPanel]]]  # by the identity of their group

_MAX_MEMORIES_PER_PANEL = 2
_MAX_NARROW_COLUMNS = 4


@dataclass(frozen=True)
class Grid:
    """Rows of panels, None where a cell stays empty."""

    columns: int
    panel_width: float  # inches
    rows: list[list[AnyPanel | None]] = field(default_factory=list)

    def add(self, panels: Sequence[AnyPanel | None]) -> None:
        launches = range(0, len(panels), self.columns)
        rows = [list(panels[start : start + self.columns]) for start in launches]
        self.rows.extend(row for row in rows if any(row))

    @property
    def width(self) -> float:
        return self.panel_width * self.columns

    @property
    def panels(self) -> list[Panel]:
        """Those of main metrics."""
        return [panel for row in self.rows for panel in row if isinstance(panel, Panel)]

    @property
    def shares(self) -> list[SharesPanel]:
        return [panel for row in self.rows for panel in row if isinstance(panel, SharesPanel)]

    @property
    def extra(self) -> list[ExtraPanel]:
        return [panel for row in self.rows for panel in row if isinstance(panel, ExtraPanel)]

    @property
    def heights(self) -> list[float]:
        return [self._height(row) for row in self.rows]

    def _height(self, row: Sequence[AnyPanel | None]) -> float:
        """Of the highest of its panels below the largest of its headings."""
        shown = [(panel, width) for panel, width in zip(row, self.axes_widths) if panel]
        headings = max(panel.heading.extra_inches(width) for panel, width in shown)
        return headings + max(panel.height for panel, _ in shown)

    @property
    def axes_widths(self) -> list[float]:
        """Of each column: what labels leave is divided among them."""
        columns = list(zip_longest(*self.rows))
        labels = [max(panel.label_width for panel in column if panel) for column in columns]
        room = self.panel_width * len(columns) - sum(labels)
        return [room / len(columns)] * len(columns)


def make_grid(
    groups: Sequence[Group], theme: Theme, of_parts: OfParts, extra: Sequence[ExtraPanel]
) -> Grid:
    memories = sorted({memory for group in groups if group.is_sweep for memory in group.memories})
    if len(memories) <= _MAX_MEMORIES_PER_PANEL:
        return _grid(groups, theme, of_parts, extra)
    return _grid_by_memory(groups, theme, of_parts, extra, memories)


def _grid(
    groups: Sequence[Group], theme: Theme, of_parts: OfParts, extra: Sequence[ExtraPanel]
) -> Grid:
    panels: list[AnyPanel] = []
    for group in groups:
        beside = of_parts.get(id(group), [])
        is_shown = _show_all(beside, group) or any(panel.shows(group) for panel in extra)
        own = Panel(group, theme, difference=difference(group, groups))
        panels += [*([] if is_shown else [own]), *beside]
    panels += extra
    # Bars of parts have room for the shares where they are alone.
    is_alone = len(panels) == 1 and isinstance(panels[0], SharesPanel)
    grid = Grid(_columns(panels), (1.6 if is_alone else 1) * PANEL_INCHES[0])
    grid.add(panels)
    return grid


def _columns(panels: Sequence[AnyPanel]) -> int:
    """Up to four stand in a square."""
    return 1 if len(panels) == 1 else 2 if len(panels) <= 4 else 3


def _grid_by_memory(
    groups: Sequence[Group],
    theme: Theme,
    of_parts: OfParts,
    extra: Sequence[ExtraPanel],
    memories: Sequence[str],
) -> Grid:
    """A panel per memory, side by side and on the same axes."""
    columns = len(memories) if len(memories) <= _MAX_NARROW_COLUMNS else 3
    grid = Grid(columns, NARROW_PANEL_INCHES)
    others: list[AnyPanel | None] = []
    for group in groups:
        first, differing = group.memories[0], difference(group, groups)
        if not group.is_sweep or len(group.memories) == 1:
            memory = first if group.is_sweep else ""
            others.append(Panel(group, theme, memory, names_memories=False, difference=differing))
        else:
            row = [
                Panel(group, theme, memory, memory == first, False, differing)
                if memory in group.memories
                else None
                for memory in memories
            ]
            grid.add(row)
        others += of_parts.get(id(group), [])
    grid.add([*others, *extra])
    return grid


def _show_all(panels: Sequence[OverlapPanel | SharesPanel], group: Group) -> bool:
    """Whether the bars of the parts show all that the bars of the main metric would."""
    return (
        len(panels) == 1
        and isinstance(panels[0], SharesPanel)
        and len(panels[0].operations) == len(group.records)
        and group.main is not None
        and group.main.label == "time"
    )
