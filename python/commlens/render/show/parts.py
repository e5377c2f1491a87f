"""What an operation consists of: parts timed alone, and how far they overlap; its shares; of a
multigrid solve a line per part, its levels below each other."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from commlens.base.text import format_number, format_percent, readable_time
from commlens.model import Group, Record, Statistic
from commlens.model.levels import communication_s, depth, times_by_kind, times_by_level
from commlens.model.record import is_noise
from commlens.render.show.columns import place_columns, time_column
from commlens.render.table import GAP, INDENT, Cells, Column, Table

_ALL = "all"
_OTHER, _TOGETHER, _COMMUNICATION = "other", "together", "communication"
_Part = tuple[str, str]  # level and kind


def overlap_table(group: Group, records: Sequence[Record]) -> Table[Record]:
    """Each part alone, and what became of them together."""
    streams = {part.name: part.stream for record in records for part in record.parts}
    alone = [time for record in records for time in record.alone_s.values()]
    together = [record.together_s or 0 for record in records]
    unit, factor = readable_time("s", max(*alone, *together))
    columns = place_columns(group)
    for name, stream in streams.items():
        columns.append(time_column(f"{name} alone\n{stream}", partial(_time, name), unit, factor))
    columns += [
        time_column("ideal", lambda record: record.ideal_s, unit, factor),
        time_column("together", lambda record: record.together_s, unit, factor),
        Column("hidden\ncommunication", lambda record: record.hidden, format=hidden_text),
        Column("overlap\nefficiency", lambda record: record.efficiency, format=efficiency_text),
    ]
    return Table(columns, records)


def _time(name: str, record: Record) -> float | None:
    """The time of a part, in seconds; of several of this name that of the last."""
    return {part.name: part.time_s for part in record.parts}.get(name)


def hidden_text(hidden: Statistic) -> str:
    """`83% [80%, 86%]`: the median with its interval, if there are samples enough."""
    if is_noise(hidden):
        return "below the noise"
    median = _share_of_all(hidden.median)
    if hidden.ci_low is None or hidden.ci_high is None:
        return f"{median} (n={hidden.count})"
    return f"{median} [{_share_of_all(hidden.ci_low)}, {_share_of_all(hidden.ci_high)}]"


def _share_of_all(share: float) -> str:
    """Beyond the ends it is `none` or `all`."""
    return "none" if share <= 0 else "all" if share >= 1 else format_percent(share)


def efficiency_text(efficiency: float) -> str:
    """`93%`: nothing overlaps better than perfectly."""
    return "> 100% (noise)" if efficiency > 1 else format_percent(efficiency)


def shares_table(group: Group, records: Sequence[Record]) -> Table[Record]:
    """What the time of an operation consists of."""
    names = dict.fromkeys(part.name for record in records for part in record.parts)
    unit, factor = readable_time("s", max(record.together_s or 0 for record in records))

    def share(title: str, seconds: Callable[[Record], float | None]) -> Column[Record]:
        def text(record: Record) -> str | None:
            return _time_and_share(seconds(record), factor, record.together_s)

        return Column(f"{title}\n({unit})", text)

    parts = [share(name, partial(_time, name)) for name in names]
    other = share("other", lambda record: record.other_s)
    whole = time_column("together", lambda record: record.together_s or 0, unit, factor)
    return Table([*place_columns(group), *parts, other, whole], records)


def _time_and_share(seconds: float | None, factor: float, whole: float | None) -> str | None:
    """`8.000 (36%)`, the time in any unit."""
    if seconds is None:
        return None
    text = format_number(factor * seconds)
    return f"{text} ({format_percent(seconds / whole):>4})" if whole else text


def level_tables(
    group: Group, records: Sequence[Record], width: int | None
) -> Iterator[Table[_Part]]:
    """A column per record; as many tables as records need at most `width` columns each."""
    parts = _parts(records)
    names: list[Column[_Part]] = [
        Column("level", lambda part: part[0], left=True, once=lambda part: part[0]),
        Column("part", lambda part: part[1], left=True, style=_style),
    ]
    columns = _record_columns(group, records)
    room = (width or 1_000_000) - INDENT + GAP
    room -= sum(Cells(column, parts).width + GAP for column in names)
    shown: list[Column[_Part]] = []
    taken = 0
    for column in columns:
        extent = Cells(column, parts).width + GAP
        if shown and taken + extent > room:
            yield Table([*names, *shown], parts)
            shown, taken = [], 0
        shown.append(column)
        taken += extent
    yield Table([*names, *shown], parts)


def _parts(records: Sequence[Record]) -> list[_Part]:
    """Those of each level, the finest first, and of the whole."""
    kinds: dict[str, dict[str, None]] = {}
    for record in records:
        for level, times in times_by_level(record).items():
            kinds.setdefault(level, {}).update(dict.fromkeys(times))
    parts = [(level, kind) for level in sorted(kinds, key=depth) for kind in (*kinds[level], _ALL)]
    return [*parts, (_ALL, _OTHER), ("", _TOGETHER), ("", _COMMUNICATION)]


def _style(part: _Part) -> str:
    return "bold" if part[1] in (_ALL, _TOGETHER, _COMMUNICATION) else ""


def _record_columns(group: Group, records: Sequence[Record]) -> list[Column[_Part]]:
    unit, factor = readable_time("s", max(record.together_s or 0 for record in records))
    places = [Cells(column, records) for column in place_columns(group)]
    shown = [cells for cells in places if cells.head == "transport" or len(set(cells.texts)) > 1]
    return [
        Column(
            "\n".join([*filter(None, words), f"({unit})"]),
            partial(_cell, record, factor),
            style=_style,
        )
        for record, words in zip(records, zip(*(cells.texts for cells in shown)))
    ]


def _cell(record: Record, factor: float, part: _Part) -> str | None:
    return _time_and_share(_seconds(record, *part), factor, record.together_s)


def _seconds(record: Record, level: str, kind: str) -> float | None:
    if kind == _TOGETHER:
        return record.together_s or 0.0
    if kind == _COMMUNICATION:
        return communication_s(times_by_kind(record)) if record.ranks > 1 else None
    if level == _ALL:
        return record.other_s
    times = times_by_level(record).get(level, {})
    return math.fsum(times.values()) if kind == _ALL and times else times.get(kind)
