"""What the time of an operation consists of: a bar per record, its parts in a row, and ceilings."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from commlens.base.text import format_percent, labelled, readable_time
from commlens.model import Group, Interval, Record
from commlens.model.levels import has_levels
from commlens.render.plots.colors import OTHER_COLOR, TEXT_COLOR, color_of_text_on
from commlens.render.plots.content import CeilingLine, Content, Operation
from commlens.render.plots.panel import MARKS, REST, LegendEntry, Panel, joined, part_entries
from commlens.render.plots.rows import THICKNESS, Rows, rows_size, scaled
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


class BarOfShares(NamedTuple):
    """A bar of segments."""

    name: str
    whole_s: float  # of which segments have shares
    segments: Sequence[Segment]
    time: Interval  # seconds
    note: str = ""
    ceilings: Sequence[tuple[CeilingLine, float]] = ()  # of the whole, with their seconds
    level: str = ""


def panels(content: Content) -> Iterator[Panel]:
    """A panel for each group with parts that were measured within the operation."""
    for over, operations in grouped(content, by_level=False):
        group, records = operations[0].group, [one.record for one in operations]
        used = [position for position, record in enumerate(records) if record in group.used]
        candidates = [records[position].candidate for position in used]
        names = " and ".join(dict.fromkeys(one.name for one in candidates if one))
        title = joined(f"{group.benchmark} by part{over}", operations[0].difference, separator=", ")
        details = joined(names and f"used: {names}", note_of_scale(operations))
        lines = [(own, 1e-6 * own.ceiling.time_us) for own in ceilings_of(content, group)]
        bars = [
            BarOfShares(
                operation.series.label,
                operation.record.together_s or 0.0,
                list(_segments(content, operation.record)),
                operation.time,
                ceilings=lines,
            )
            for operation in operations
        ]
        yield shares_panel(content, operations, title, details, bars, used)


def shares_panel(
    content: Content,
    operations: Sequence[Operation],
    title: str,
    details: str,
    bars: Sequence[BarOfShares],
    used: Sequence[int] = (),
) -> Panel:
    """The bars of the operations of a group; `used` are those of what an application would use."""
    group = operations[0].group
    # It shows all of a group whose main metric is the time of these operations.
    is_time = group.main is not None and group.main.label == "time"
    return Panel(
        title,
        partial(_draw, content, bars, used),
        details,
        list(_legend(content, group, [one.record for one in operations])),
        group=group,
        replaces=[group] if is_time and len(operations) == len(group.records) else [],
        stretch_alone=1.6,  # so that there is room for the shares
        **rows_size([bar.name for bar in bars]),
    )


def ceilings_of(content: Content, group: Group) -> list[CeilingLine]:
    """Those of the whole operation."""
    return content.ceilings(group.records, group.main) if group.main else []


def note_of_scale(operations: Sequence[Operation]) -> str:
    """Where parts take clearly longer than the whole: they overlap, or times vary."""
    exceeds = any(_CLEARLY * share_shown(one.record) < 1 for one in operations)
    return "parts scaled to the time where their medians add up to more" * exceeds


def share_shown(record: Record) -> float:
    """How much of each part is drawn, so that the parts add up to the bar."""
    parts = sum(part.time_s for part in record.parts)
    return min(1.0, (record.together_s or 0.0) / parts) if parts else 1.0


def marks_of(content: Content, record: Record, parts: Collection[str]) -> list[tuple[str, float]]:
    """The markers of the ceilings of these parts, and their seconds as drawn."""
    return [
        (content.marks[own.part, own.name], 1e-6 * own.time_us * share_shown(record))
        for own in record.ceilings
        if own.part in parts and own.part
    ]


def _segments(content: Content, record: Record) -> Iterator[Segment]:
    for part in record.parts:
        color, seconds = content.theme.part_colors[part.name], part.time_s * share_shown(record)
        yield Segment(color, seconds, marks_of(content, record, [part.name]))
    yield Segment(OTHER_COLOR, record.other_s or 0)


def _legend(content: Content, group: Group, records: Sequence[Record]) -> Iterator[LegendEntry]:
    """The parts, the rest, the ceilings of parts, and those of the whole."""
    yield from content.ceiling_entries(ceilings_of(content, group))
    names = dict.fromkeys(part.name for record in records for part in record.parts)
    yield from part_entries(names, content.theme)
    yield LegendEntry(REST, (), Patch(color=OTHER_COLOR, label="other"))
    shown = {(one.part, one.name) for record in records for one in record.ceilings}
    for (part, name), marker in content.marks.items():
        if (part, name) in shown:
            label = shortened(f"ceiling of {part}: {name}")
            yield LegendEntry(MARKS, (), Line2D([], [], label=label, **_mark(marker)))


def _draw(
    content: Content,
    bars: Sequence[BarOfShares],
    used: Sequence[int],
    axes: Axes,
    width: float,
) -> None:
    """The bars with the shares of their parts, under them the ceilings of the whole."""
    ceilings_s = [seconds for bar in bars for _, seconds in bar.ceilings]
    unit, factor = readable_time("s", max([*(bar.time.median for bar in bars), *ceilings_s]))
    rows = Rows(
        [bar.name for bar in bars],
        [scaled(bar.time, factor) for bar in bars],
        labelled("time", unit),
        unit,
        [factor * seconds for seconds in ceilings_s],
        used,
        [bar.note for bar in bars],
    )
    end = rows.set_axis(axes, width)
    for position, bar in enumerate(bars):
        _draw_segments(axes, position, bar, factor, 72 * width * factor / end)
        for ceiling, seconds in bar.ceilings:
            ends = position - 0.5, position + 0.5
            style = content.ceiling_style(ceiling)
            axes.plot([factor * seconds] * 2, ends, zorder=0.8, **style)
        if position and bars[position - 1].level != bar.level:
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


def grouped(content: Content, by_level: bool) -> Iterator[tuple[str, list[Operation]]]:
    """The operations of each panel of parts within, and `over ccl` where it is of one transport.

    All of a group, or by transport where their times are far apart.
    """
    for group in content.groups:
        own = [one for one in content.operations if one.group is group]
        own = [one for one in own if one.record.has_parts_within]
        if not own or all(has_levels(one.record) for one in own) != by_level:
            continue
        times = [one.record.together_s or 0.0 for one in own]
        transports = dict.fromkeys(one.record.transport for one in own)
        if max(times) <= _ONE_PANEL_UP_TO * min(times) or len(transports) == 1:
            yield "", own
        else:
            for name in transports:
                yield f" over {name}", [one for one in own if one.record.transport == name]
