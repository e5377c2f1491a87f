"""What an operation consists of: parts timed alone, and how far they overlap; or its shares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from commlens.base.text import format_number, format_percent, readable_time
from commlens.model import Group, Record, Statistic
from commlens.render.show.columns import place_columns, time_column
from commlens.render.table import Column, Table


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
        Column("overlap\nefficiency", lambda record: record.efficiency, format=format_percent),
    ]
    return Table(columns, records)


def _time(name: str, record: Record) -> float | None:
    """The time of a part, in seconds; of several of this name that of the last."""
    return {part.name: part.time_s for part in record.parts}.get(name)


def hidden_text(hidden: Statistic) -> str:
    """`83% [80%, 86%]`: the median with its interval, if there are samples enough."""
    median = format_percent(hidden.median)
    if hidden.ci_low is None or hidden.ci_high is None:
        return f"{median} (n={hidden.count})"
    return f"{median} [{format_percent(hidden.ci_low)}, {format_percent(hidden.ci_high)}]"


def shares_table(group: Group, records: Sequence[Record]) -> Table[Record]:
    """What the time of an operation consists of."""
    names = dict.fromkeys(part.name for record in records for part in record.parts)
    unit, factor = readable_time("s", max(record.together_s or 0 for record in records))

    def share(title: str, seconds: Callable[[Record], float | None]) -> Column[Record]:
        def text(record: Record) -> str | None:
            time = seconds(record)
            return None if time is None else time_and_share(factor * time, time, record.together_s)

        return Column(f"{title}\n({unit})", text)

    parts = [share(name, partial(_time, name)) for name in names]
    other = share("other", lambda record: record.other_s)
    whole = time_column("together", lambda record: record.together_s or 0, unit, factor)
    return Table([*place_columns(group), *parts, other, whole], records)


def time_and_share(shown: float, seconds: float, whole: float | None) -> str:
    """`8.000 (36%)`, where the number is in any unit."""
    text = format_number(shown)
    return f"{text} ({format_percent(seconds / whole):>4})" if whole else text
