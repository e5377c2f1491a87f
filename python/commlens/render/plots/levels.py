"""A multigrid solve by level: a bar per level, the kinds of its parts in a row; and all levels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from commlens.base.text import format_number, format_percent, labelled, readable_time
from commlens.model import Interval, Record
from commlens.model.levels import communication_s, kind_of, place_of, times_by_kind, times_by_level
from commlens.render.plots.bars import THICKNESS, end_of_axis, name_bars, write_number
from commlens.render.plots.colors import CEILING_COLOR, OTHER_COLOR
from commlens.render.plots.heading import Heading
from commlens.render.plots.intervals import draw_interval, end_of, label_axis, limit_of
from commlens.render.plots.overlap import Operation
from commlens.render.plots.panel import CeilingStyles, ceilings
from commlens.render.plots.shares import (
    Scale,
    SharesPanel,
    ceiling_mark,
    ceiling_markers,
    draw_segments,
    exceeds,
    share_shown,
    time_of,
)
from commlens.render.plots.style import BAR_INCHES, label_inches

_WHOLE = "all"
_GRID_COLOR = "#C8C8C8"


@dataclass(frozen=True)
class _Row:
    level: str
    operation: Operation
    times: Mapping[str, float]  # seconds, by kind of part
    label: str

    @property
    def record(self) -> Record:
        return self.operation.record

    @property
    def is_whole(self) -> bool:
        return self.level == _WHOLE

    @property
    def seconds(self) -> float:
        """Of the bar, as far as parts are drawn to scale."""
        if self.is_whole:
            return self.record.together_s or 0.0
        return sum(self.times.values()) * share_shown(self.record)

    def time(self, factor: float) -> Interval:
        """Of the bar, in units of which a second has `factor`."""
        if self.is_whole:
            return time_of(self.record, factor)
        return Interval(factor * self.seconds, None, None)

    @property
    def share(self) -> str:
        whole = self.record.together_s
        if not whole:
            return ""
        if not self.is_whole:
            return format_percent(self.seconds / whole)
        if self.record.ranks == 1:
            return ""
        communication = communication_s(self.times) * share_shown(self.record)
        return f"communication {format_percent(communication / whole)}"


@dataclass(frozen=True)
class LevelsPanel(SharesPanel):
    @property
    def height(self) -> float:
        return 1.3 + BAR_INCHES * len(self._rows)

    @property
    def label_width(self) -> float:
        return 0.35 + label_inches(row.label for row in self._rows)

    @property
    def heading(self) -> Heading:
        over = f" over {self.transport}" if self.transport else ""
        title = f"{self.group.benchmark} by level{over}"
        details = [
            self.operations[0].difference,
            "communication without that of the coarse solve" if self.group.ranks > 1 else "",
            "parts scaled to the time where their medians add up to more"
            if any(exceeds(own.record) for own in self.operations)
            else "",
        ]
        return Heading(title, "; ".join(filter(None, details)))

    @property
    def _rows(self) -> list[_Row]:
        """The levels from the finest, the transports of a level next to each other."""
        found: dict[str, list[tuple[Operation, Mapping[str, float]]]] = {_WHOLE: []}
        for operation in self.operations:
            found[_WHOLE].append((operation, times_by_kind(operation.record)))
            for level, own in times_by_level(operation.record).items():
                found.setdefault(level, []).append((operation, own))
        rows = []
        for level, bars in found.items():
            for number, (operation, times) in enumerate(bars):
                name = operation.series.label
                label = name if number else f"{level}   {name}"
                rows.append(_Row(level, operation, times, label if self._is_several else level))
        return rows

    @property
    def _is_several(self) -> bool:
        return len(self.operations) > 1

    def draw(self, axes: Axes, styles: CeilingStyles, width: float) -> None:
        rows = self._rows
        lines = [
            (styles.line(memory, ceiling), ceiling.name)
            for memory, ceiling, _ in ceilings(self.panel)
        ]
        longest = max(row.seconds for row in rows)
        unit, factor = readable_time("s", longest)
        times = [row.time(factor) for row in rows]
        numbers = [f"{format_number(time.median)} {unit}" for time in times]
        texts = [", ".join(filter(None, (own, row.share))) for own, row in zip(numbers, rows)]
        limit = limit_of([factor * longest])
        ends = [end_of(time, limit) for time in times]
        end = end_of_axis(ends, texts, width)
        axes.set_xlim(0, end)
        scale = Scale(factor, 72 * width * factor / end)
        for position, (row, time, text) in enumerate(zip(rows, times, texts)):
            self._draw_row(axes, position, row, scale)
            write_number(axes, position, ends[position], text)
            if row.is_whole:
                draw_interval(axes, position, time, limit, has_halo=True)
                _draw_lines(axes, position, row.record, lines, factor)
            elif position and rows[position - 1].level != row.level:
                axes.axhline(position - 0.5, color=_GRID_COLOR, linewidth=0.8, zorder=0.9)
        name_bars(axes, [row.label for row in rows])
        axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
        label_axis(axes, labelled("time", unit), times, limit)

    def _draw_row(self, axes: Axes, position: int, row: _Row, scale: Scale) -> None:
        shown, kinds = share_shown(row.record), self._kinds
        segments = [
            (color, row.times[kind] * shown) for kind, color in kinds.items() if kind in row.times
        ]
        time = None
        if row.is_whole:
            segments.append((OTHER_COLOR, row.record.other_s or 0))
            time = row.time(scale.factor)
        draw_segments(axes, position, segments, row.record.together_s, scale, time)
        if not row.is_whole:
            self._draw_ceilings(axes, position, row, scale.factor)

    @property
    def _kinds(self) -> dict[str, str]:
        """The colors of the kinds, in the order in which all bars have them."""
        records = [operation.record for operation in self.operations]
        names = dict.fromkeys(part.name for record in records for part in record.parts)
        return {kind_of(name): self.theme.part_colors[name] for name in names}

    def _draw_ceilings(self, axes: Axes, position: int, row: _Row, factor: float) -> None:
        """On the upper edge of a part, at the ceiling's time from where the part begins."""
        markers = ceiling_markers(operation.record for operation in self.operations)
        left, factor = 0.0, factor * share_shown(row.record)
        for kind in self._kinds:
            for ceiling in row.record.ceilings:
                if ceiling.part and place_of(ceiling.part) == (row.level, kind):
                    place = left + factor * ceiling.time_s, position - THICKNESS / 2
                    mark = ceiling_mark(markers[ceiling.part, ceiling.name])
                    axes.plot(*place, **mark, zorder=4)
            left += factor * row.times.get(kind, 0.0)


def _draw_lines(
    axes: Axes, position: int, record: Record, lines: list[tuple[Any, str]], factor: float
) -> None:
    """The ceilings of the whole, at the record's own bar: under it, where numbers are."""
    for ceiling in record.ceilings:
        for dashes, name in lines:
            if ceiling.name == name and ceiling.part is None:
                style: dict[str, Any] = {"color": CEILING_COLOR, "linestyle": dashes}
                ends = position - 0.5, position + 0.5
                axes.plot([factor * ceiling.time_s] * 2, ends, linewidth=1.3, zorder=0.8, **style)
