"""What the time of an operation consists of: a bar per record, its parts in a row, and ceilings.

A multigrid solve has a bar of all levels and one of each, the kinds of their parts in a row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from commlens.base.text import format_percent
from commlens.model import Group, Interval, Record
from commlens.model.levels import (
    communication_s,
    has_levels,
    place_of,
    times_by_kind,
    times_by_level,
)
from commlens.render.plots.bars import MARK, Bar, BarLine, Bars, Segment
from commlens.render.plots.colors import OTHER_COLOR
from commlens.render.plots.content import CeilingLine, Content, Operation
from commlens.render.plots.panel import MARKS, REST, LegendEntry, Panel, joined, part_entries
from commlens.render.plots.style import shortened

ORDER = 1
_CLEARLY = 1.02
# With a larger ratio of the slowest to the fastest, each transport has its own panel and scale.
_ONE_PANEL_UP_TO = 8
_WHOLE = "all"


def panels(content: Content) -> Iterator[Panel]:
    """A panel for each group with parts that were measured within the operation, or for each of its
    transports where their times are far apart."""
    for group in content.groups:
        operations = [operation for operation in content.operations if operation.group is group]
        operations = [operation for operation in operations if operation.record.has_parts_within]
        if not operations:
            continue
        records = [operation.record for operation in operations]
        make = _by_level if all(map(has_levels, records)) else _by_part
        times = [record.together_s or 0.0 for record in records]
        transports = dict.fromkeys(record.transport for record in records)
        if max(times) <= _ONE_PANEL_UP_TO * min(times) or len(transports) == 1:
            yield make(content, operations, "")
        else:
            for name in transports:
                same = [operation for operation in operations if operation.record.transport == name]
                yield make(content, same, f" over {name}")


def _by_part(content: Content, operations: Sequence[Operation], over: str) -> Panel:
    group, colors, bars = operations[0].group, content.part_colors, []
    for operation in operations:
        record = operation.record
        pieces = [(colors[part.name], part.time_s, [part.name]) for part in record.parts]
        bar = _whole_bar(operation, _bar(content, record, operation.series.label, pieces))
        bars.append(bar._replace(is_used=record in group.used))
    lines = [
        BarLine(_line_style(content, line), 1e-6 * line.ceiling.time_us)
        for line in _ceilings(content, group)
    ]
    used = [operation.record.candidate for operation, bar in zip(operations, bars) if bar.is_used]
    names = " and ".join(dict.fromkeys(candidate.name for candidate in used if candidate))
    title = joined(f"{group.benchmark} by part{over}", operations[0].difference, separator=", ")
    return _panel(content, operations, title, names and f"used: {names}", bars, lines)


def _by_level(content: Content, operations: Sequence[Operation], over: str) -> Panel:
    """All levels together, then each; the transports of a level next to each other."""
    group, ceilings = operations[0].group, _ceilings(content, operations[0].group)
    records = [operation.record for operation in operations]
    times = [{_WHOLE: times_by_kind(record), **times_by_level(record)} for record in records]
    names = (part.name for record in records for part in record.parts)
    # Kinds are in the order in which all bars have them.
    colors = {place_of(name).kind: content.part_colors[name] for name in names}
    bars: list[Bar] = []
    lines: list[BarLine] = []
    for level in dict.fromkeys(level for levels in times for level in levels):
        having = [pair for pair in zip(operations, times) if level in pair[1]]
        for number, (operation, levels) in enumerate(having):
            record, label = operation.record, operation.series.label
            name = label if number else f"{level}   {label}"
            bar = _bar_of_level(content, record, level, levels[level], colors)
            if level == _WHOLE:
                lines += [
                    BarLine(_line_style(content, line), 1e-6 * ceiling.time_us, len(bars))
                    for ceiling in record.valid_ceilings
                    for line in ceilings
                    if ceiling.name == line.ceiling.name and ceiling.part is None
                ]
                bar = _whole_bar(operation, bar)
            bars.append(bar._replace(name=name if len(operations) > 1 else level))
    title = f"{group.benchmark} by level{over}"
    apart = "communication without that of the coarse solve" if group.ranks > 1 else ""
    details = joined(operations[0].difference, apart)
    return _panel(content, operations, title, details, bars, lines)


def _bar_of_level(
    content: Content,
    record: Record,
    level: str,
    times: Mapping[str, float],
    colors: Mapping[str, str],
) -> Bar:
    """With the share of the level, or of all communication, in the whole."""
    limited = {ceiling.part for ceiling in record.valid_ceilings if ceiling.part}
    pieces = []
    for kind, color in colors.items():
        parts = [part for part in limited if place_of(part) == (level, kind)]
        if kind in times or parts:
            pieces.append((color, times.get(kind, 0.0), parts))
    bar = _bar(content, record, level, pieces)
    if level != _WHOLE:
        note = format_percent(bar.value.median / bar.whole)
    elif record.ranks > 1:
        share = communication_s(times) * _share_shown(record) / bar.whole
        note = f"communication {format_percent(share)}"
    else:
        note = ""
    return bar._replace(note=note, level=level)


def _bar(
    content: Content,
    record: Record,
    name: str,
    pieces: Iterable[tuple[str, float, Collection[str]]],
) -> Bar:
    """Of pieces: color, seconds and parts, whose ceilings are marked."""
    shown = _share_shown(record)
    segments = []
    for color, seconds, parts in pieces:
        marks = [
            (content.marks[ceiling.part, ceiling.name], 1e-6 * ceiling.time_us * shown)
            for ceiling in record.valid_ceilings
            if ceiling.part and ceiling.part in parts
        ]
        segments.append(Segment(color, seconds * shown, marks))
    value = Interval(sum(segment.length for segment in segments), None, None)
    return Bar(name, value, segments, whole=record.together_s or 0.0)


def _whole_bar(operation: Operation, bar: Bar) -> Bar:
    """With what is left beside the parts."""
    other = Segment(OTHER_COLOR, operation.record.other_s or 0)
    return bar._replace(value=operation.time, segments=[*bar.segments, other])


def _panel(
    content: Content,
    operations: Sequence[Operation],
    title: str,
    details: str,
    bars: Sequence[Bar],
    lines: Sequence[BarLine],
) -> Panel:
    group, records = operations[0].group, [operation.record for operation in operations]
    # Parts may overlap, or their times may vary.
    exceeds = any(_CLEARLY * _share_shown(record) < 1 for record in records)
    scaled = "parts scaled to the time where their medians add up to more" * exceeds
    # It shows all of a group whose main metric is the time of these operations.
    is_time = group.main is not None and group.main.label == "time"
    return Bars("time", "s", bars, lines).panel(
        title,
        joined(details, scaled),
        legend=list(_legend(content, group, records)),
        group=group,
        replaces=[group] if is_time and len(operations) == len(group.records) else [],
        stretch_alone=1.6,  # so that there is room for the shares
    )


def _ceilings(content: Content, group: Group) -> list[CeilingLine]:
    """Those of the whole operation."""
    return content.ceilings(group.records, group.main) if group.main else []


def _line_style(content: Content, ceiling: CeilingLine) -> dict[str, Any]:
    """Bars and their shares cover the line."""
    return {**content.ceiling_style(ceiling), "zorder": 0.8}


def _share_shown(record: Record) -> float:
    """How much of each part is drawn, so that the parts add up to the bar."""
    parts = sum(part.time_s for part in record.parts)
    return min(1.0, (record.together_s or 0.0) / parts) if parts else 1.0


def _legend(content: Content, group: Group, records: Sequence[Record]) -> Iterator[LegendEntry]:
    """The parts, the rest, the ceilings of parts, and those of the whole."""
    yield from content.ceiling_entries(_ceilings(content, group))
    names = dict.fromkeys(part.name for record in records for part in record.parts)
    yield from part_entries(names, content.part_colors)
    yield LegendEntry(REST, (), Patch(color=OTHER_COLOR, label="other"))
    shown = {
        (ceiling.part, ceiling.name) for record in records for ceiling in record.valid_ceilings
    }
    for (part, name), marker in content.marks.items():
        if (part, name) in shown:
            label = shortened(f"ceiling of {part}: {name}")
            yield LegendEntry(MARKS, (), Line2D([], [], label=label, marker=marker, **MARK))
