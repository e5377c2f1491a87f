"""What a multigrid solve consists of: a line per part, its levels below each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from commlens.base.text import format_number, format_percent, readable_time
from commlens.model import Group, Record
from commlens.model.levels import communication_s, depth, times_by_kind, times_by_level
from commlens.render.show.columns import NOTHING, place_columns
from commlens.render.show.grid import GAP, INDENT, Column, Grid

_ALL = "all"
_SUM = "bold"


def level_grids(group: Group, records: Sequence[Record], width: int | None) -> Iterator[Grid]:
    """A column per record; as many tables as records need at most `width` columns each."""
    table = _Table(group, records)
    names, columns = table.names, table.columns
    own = sum(column.width + GAP for column in names)
    while columns:
        room = (width or 1_000_000) - INDENT + GAP - own
        shown = 0
        while shown < len(columns) and columns[shown].width + GAP <= room:
            room -= columns[shown].width + GAP
            shown += 1
        shown = max(1, shown)
        yield Grid([*names, *columns[:shown]])
        columns = columns[shown:]


class _Table:
    def __init__(self, group: Group, records: Sequence[Record]) -> None:
        self._records = records
        self._times = [times_by_level(record) for record in records]
        self._places = [
            _filled(column.cells)
            for column in place_columns(group, records)
            if column.head == "transport" or len(set(column.cells)) > 1
        ]
        whole = max(record.together_s or 0 for record in records)
        self._unit, self._factor = readable_time("s", whole)
        kinds: dict[str, dict[str, None]] = {}
        for times in self._times:
            for level, own in times.items():
                kinds.setdefault(level, {}).update(dict.fromkeys(own))
        order = sorted(kinds, key=depth)
        self._rows = [(level, kind) for level in order for kind in [*kinds[level], _ALL]]

    @property
    def names(self) -> list[Column]:
        levels, before = [], ""
        for level, _ in self._rows:
            levels.append(level if level != before else "")
            before = level
        kinds = [kind for _, kind in self._rows]
        ends = ["other", "together", "communication"]
        styles = ["bold" if kind == _ALL else "" for kind in kinds]
        return [
            Column("level", [*levels, _ALL, "", ""], left=True, repeats=True),
            Column("part", [*kinds, *ends], left=True, styles=[*styles, "", _SUM, _SUM]),
        ]

    @property
    def columns(self) -> list[Column]:
        return [self._column(number, record) for number, record in enumerate(self._records)]

    def _column(self, number: int, record: Record) -> Column:
        times, whole = self._times[number], record.together_s or 0.0
        seconds: list[float | None] = []
        for level, kind in self._rows:
            own = times.get(level, {})
            seconds.append(sum(own.values()) if kind == _ALL and own else own.get(kind))
        communication = communication_s(times_by_kind(record)) if record.ranks > 1 else None
        seconds += [record.other_s, whole, communication]
        texts = [NOTHING if time is None else self._text(time, whole) for time in seconds]
        words = [own[number] for own in self._places]
        head = "\n".join(["\n".join(filter(None, words)), f"({self._unit})"])
        styles = ["bold" if kind == _ALL else "" for _, kind in self._rows]
        return Column(head, texts, styles=[*styles, "", _SUM, _SUM])

    def _text(self, seconds: float, whole: float) -> str:
        """`8.000 (36%)`"""
        time = format_number(self._factor * seconds)
        return f"{time} ({format_percent(seconds / whole):>4})" if whole else time


def _filled(cells: Sequence[str]) -> list[str]:
    """A size, which stands at the first of its records alone, at all of them."""
    found: list[str] = []
    for cell in cells:
        found.append(cell or (found[-1] if found else ""))
    return found
