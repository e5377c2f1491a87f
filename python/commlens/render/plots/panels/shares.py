"""What the time of an operation consists of: a bar per record, its parts in a row, and ceilings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from commlens.base.text import format_percent, labelled, readable_time
from commlens.model import Group, Interval, Record
from commlens.model.levels import has_levels
from commlens.render.plots.colors import OTHER_COLOR, TEXT_COLOR, color_of_text_on
from commlens.render.plots.content import CeilingLine, Content, Operation
from commlens.render.plots.heading import Heading
from commlens.render.plots.panel import MARKS, REST, LegendEntry, Panel, part_entries
from commlens.render.plots.rows import THICKNESS, Rows, rows_height, rows_label_width, scaled
from commlens.render.plots.style import shortened

ORDER = 1
_SHARE_POINTS = 7.0
_CHARACTER_OF_SHARE_POINTS = 0.62 * _SHARE_POINTS
_CLEARLY = 1.02
# With a larger ratio of the slowest to the fastest, each transport has its own panel and scale.
_ONE_PANEL_UP_TO = 8


class Segment(NamedTuple):
    """A part of a bar; marks are ceilings: marker and seconds from where the part begins."""

    color: str
    seconds: float
    marks: Sequence[tuple[str, float]] = ()


@dataclass(frozen=True)
class BarOfShares:
    """A bar of segments."""

    name: str
    whole_s: float  # of which segments have shares
    segments: Sequence[Segment]
    time: Interval  # seconds
    note: str = ""
    ceilings: Sequence[tuple[CeilingLine, float]] = ()  # of the whole, with their seconds
    level: str = ""


@dataclass(frozen=True)
class SharesPanel(Panel):
    """The operations of a group."""

    content: Content
    operations: Sequence[Operation]
    transport: str = ""  # the only one that it shows; empty: all
    stretch_alone = 1.6  # so that there is room for the shares

    @property
    def only_group(self) -> Group:
        """The group of the operations."""
        return self.operations[0].group

    @property
    def records(self) -> list[Record]:
        """A record for each operation."""
        return [operation.record for operation in self.operations]

    @property
    def height(self) -> float:
        """As many bars."""
        return rows_height(len(self.rows))

    @property
    def label_width(self) -> float:
        """Of the longest name."""
        return rows_label_width([row.name for row in self.rows])

    @property
    def heading(self) -> Heading:
        """What is used, and whether the parts are to scale."""
        candidates = [self.records[position].candidate for position in self._used]
        names = dict.fromkeys(candidate.name for candidate in candidates if candidate)
        over = f" over {self.transport}" if self.transport else ""
        title = f"{self.only_group.benchmark} by part{over}"
        words = [f"used: {' and '.join(names)}" if names else "", *self.note_of_scale]
        return Heading(
            ", ".join(filter(None, [title, self.operations[0].difference])),
            "; ".join(filter(None, words)),
        )

    @property
    def note_of_scale(self) -> list[str]:
        """Where parts take clearly longer than the whole: they overlap, or times vary."""
        exceeds = any(_parts_s(one) > _CLEARLY * _whole_s(one) for one in self.records)
        return ["parts scaled to the time where their medians add up to more"] * exceeds

    @property
    def legend(self) -> Iterator[LegendEntry]:
        """The parts, the rest, the ceilings of parts, and those of the whole."""
        yield from self.content.ceiling_entries(self.ceilings)
        names = dict.fromkeys(part.name for record in self.records for part in record.parts)
        yield from part_entries(names, self.content.theme)
        yield LegendEntry(REST, (), Patch(color=OTHER_COLOR, label="other"))
        shown = {(one.part, one.name) for record in self.records for one in record.ceilings}
        for (part, name), marker in self.content.marks.items():
            if (part, name) in shown:
                label = shortened(f"ceiling of {part}: {name}")
                yield LegendEntry(MARKS, (), Line2D([], [], label=label, **_mark(marker)))

    @property
    def ceilings(self) -> list[CeilingLine]:
        """Those of the whole operation."""
        main = self.only_group.main
        return self.content.ceilings(self.only_group.records, main) if main else []

    def shows(self, group: Group) -> bool:
        """Whether it shows all of the group: its main metric is the time of these operations."""
        main = group.main
        is_all = group is self.only_group and len(self.operations) == len(group.records)
        return is_all and main is not None and main.label == "time"

    @property
    def rows(self) -> list[BarOfShares]:
        """The bars from the top."""
        lines = [(own, own.ceiling.time_s) for own in self.ceilings]
        return [
            BarOfShares(
                operation.series.label,
                _whole_s(operation.record),
                [*self._segments(operation.record), _rest(operation.record)],
                operation.time,
                ceilings=lines,
            )
            for operation in self.operations
        ]

    def _segments(self, record: Record) -> Iterator[Segment]:
        shown = share_shown(record)
        for part in record.parts:
            marks = [
                (self.content.marks[part.name, own.name], own.time_s * shown)
                for own in record.ceilings
                if own.part == part.name
            ]
            color = self.content.theme.part_colors[part.name]
            yield Segment(color, part.time_s * shown, marks)

    @property
    def _used(self) -> list[int]:
        """Positions of the bars of what an application would use."""
        records = enumerate(self.records)
        return [position for position, record in records if self.only_group.is_used(record)]

    def draw(self, axes: Axes, width: float) -> None:
        """The bars with the shares of their parts, under them the ceilings of the whole."""
        own = self.rows
        ceilings_s = [seconds for row in own for _, seconds in row.ceilings]
        unit, factor = readable_time("s", max([*(row.time.median for row in own), *ceilings_s]))
        rows = Rows(
            [row.name for row in own],
            [scaled(row.time, factor) for row in own],
            labelled("time", unit),
            unit,
            [factor * seconds for seconds in ceilings_s],
            self._used if len(own) == len(self.operations) else (),
            [row.note for row in own],
        )
        end = rows.set_axis(axes, width)
        for position, row in enumerate(own):
            _draw_segments(axes, position, row, factor, 72 * width * factor / end)
            for ceiling, seconds in row.ceilings:
                ends = position - 0.5, position + 0.5
                style = self.content.ceiling_style(ceiling)
                axes.plot([factor * seconds] * 2, ends, zorder=0.8, **style)
            if position and own[position - 1].level != row.level:
                axes.axhline(position - 0.5, color="#C8C8C8", linewidth=0.8, zorder=0.9)
        rows.finish(axes, has_halo=True)


def _draw_segments(
    axes: Axes, position: int, row: BarOfShares, factor: float, points_per_second: float
) -> None:
    """One after the other, with the share of each in the whole where there is room for it, and not
    where the interval of the time is drawn; with ceilings on the upper edge."""
    left = 0.0
    for color, seconds, marks in row.segments:
        style: dict[str, Any] = {"color": color, "edgecolor": "white", "linewidth": 0.6}
        axes.barh(position, factor * seconds, left=factor * left, height=THICKNESS, **style)
        share = format_percent(seconds / row.whole_s) if row.whole_s else ""
        room = (_CHARACTER_OF_SHARE_POINTS * len(share) + 5) / points_per_second
        middle = left + seconds / 2
        if seconds >= room and not _covers(row.time, middle, room):
            text = axes.text(factor * middle, position, share, ha="center", va="center_baseline")
            text.set(fontsize=_SHARE_POINTS, color=color_of_text_on(color))
        for marker, place in marks:
            axes.plot(factor * (left + place), position - THICKNESS / 2, **_mark(marker), zorder=4)
        left += seconds


def _covers(time: Interval, middle: float, room: float) -> bool:
    if time.ci_low is None or time.ci_high is None:
        return False
    return time.ci_low - room < middle < time.ci_high + room


def _mark(marker: str) -> dict[str, Any]:
    return {
        "marker": marker,
        "markersize": 4.5,
        "markerfacecolor": TEXT_COLOR,
        "markeredgecolor": "white",
        "markeredgewidth": 0.6,
        "linestyle": "none",
        "clip_on": False,
    }


def _rest(record: Record) -> Segment:
    return Segment(OTHER_COLOR, record.other_s or 0)


def _whole_s(record: Record) -> float:
    return record.together_s or 0.0


def _parts_s(record: Record) -> float:
    return sum(part.time_s for part in record.parts)


def share_shown(record: Record) -> float:
    """How much of each part is drawn, so that the parts add up to the bar."""
    parts = _parts_s(record)
    return min(1.0, _whole_s(record) / parts) if parts else 1.0


def split_by_scale(operations: Sequence[Operation]) -> dict[str, list[Operation]]:
    """The operations of a group by panel: all, or by transport where times are far apart."""
    times = [_whole_s(operation.record) for operation in operations]
    by_transport: dict[str, list[Operation]] = {}
    for operation in operations:
        by_transport.setdefault(operation.record.transport, []).append(operation)
    if max(times) <= _ONE_PANEL_UP_TO * min(times) or len(by_transport) == 1:
        return {"": list(operations)}
    return by_transport


def grouped(content: Content, by_level: bool) -> Iterator[tuple[str, list[Operation]]]:
    """The operations of each panel, with the only transport that it shows."""
    for group in content.groups:
        own = [one for one in content.operations if one.group is group]
        own = [one for one in own if one.record.has_parts_within]
        if own and all(has_levels(one.record) for one in own) == by_level:
            yield from split_by_scale(own).items()


def panels(content: Content) -> Iterator[SharesPanel]:
    """A panel for each group with parts that were measured within the operation."""
    for transport, operations in grouped(content, by_level=False):
        yield SharesPanel(content, operations, transport)
