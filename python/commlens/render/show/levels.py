"""What a multigrid solve consists of: a line per part, its levels below each other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial

from commlens.base.text import readable_time
from commlens.model import Group, Record
from commlens.model.levels import communication_s, depth, times_by_kind, times_by_level
from commlens.render.show.columns import place_columns
from commlens.render.show.parts import time_and_share
from commlens.render.table import GAP, INDENT, Cells, Column, Table

_ALL = "all"
_OTHER, _TOGETHER, _COMMUNICATION = "other", "together", "communication"
_Part = tuple[str, str]  # level and kind


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
        own = Cells(column, parts).width + GAP
        if shown and taken + own > room:
            yield Table([*names, *shown], parts)
            shown, taken = [], 0
        shown.append(column)
        taken += own
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
    told = [one for one in places if one.head == "transport" or len(set(one.texts)) > 1]
    return [
        Column(
            "\n".join([*(one.texts[number] for one in told if one.texts[number]), f"({unit})"]),
            partial(_cell, record, factor),
            style=_style,
        )
        for number, record in enumerate(records)
    ]


def _cell(record: Record, factor: float, part: _Part) -> str | None:
    seconds = _seconds(record, *part)
    return None if seconds is None else time_and_share(factor * seconds, seconds, record.together_s)


def _seconds(record: Record, level: str, kind: str) -> float | None:
    if kind == _TOGETHER:
        return record.together_s or 0.0
    if kind == _COMMUNICATION:
        return communication_s(times_by_kind(record)) if record.ranks > 1 else None
    if level == _ALL:
        return record.other_s
    times = times_by_level(record).get(level, {})
    return math.fsum(times.values()) if kind == _ALL and times else times.get(kind)
