"""What an operation consists of: parts timed alone, and how far they overlap; or its shares."""

from __future__ import annotations

from collections.abc import Sequence

from commlens.base.text import format_number, format_percent, readable_time
from commlens.model import Group, Record, Statistic
from commlens.render.show.columns import cells, place_columns, time_column
from commlens.render.show.grid import Column, Grid


def overlap_grid(group: Group, records: Sequence[Record]) -> Grid:
    """Each part alone, and what became of them together."""
    streams = {part.name: part.stream for record in records for part in record.parts}
    times = [{part.name: part.time_s for part in record.parts} for record in records]
    ideal = [record.ideal_s for record in records]
    together = [record.together_s for record in records]
    alone = [time for record in records for time in record.alone_s.values()]
    unit, factor = readable_time("s", max(*alone, *(time or 0 for time in together)))
    columns = place_columns(group, records)
    for name, stream in streams.items():
        own = [one.get(name) for one in times]
        columns.append(time_column(f"{name} alone\n{stream} ({unit})", own, factor))
    columns.append(time_column(f"ideal\n({unit})", ideal, factor))
    columns.append(time_column(f"together\n({unit})", together, factor))
    hidden = cells((record.hidden for record in records), hidden_text)
    efficiency = cells((record.efficiency for record in records), format_percent)
    columns.append(Column("hidden\ncommunication", hidden))
    return Grid([*columns, Column("overlap\nefficiency", efficiency)])


def hidden_text(hidden: Statistic) -> str:
    """`83% [80%, 86%]`: the median with its interval, if there are samples enough."""
    median = format_percent(hidden.median)
    if hidden.ci_low is None or hidden.ci_high is None:
        return f"{median} (n={hidden.count})"
    return f"{median} [{format_percent(hidden.ci_low)}, {format_percent(hidden.ci_high)}]"


def shares_grid(group: Group, records: Sequence[Record]) -> Grid:
    """What the time of an operation consists of."""
    names = list(dict.fromkeys(part.name for record in records for part in record.parts))
    times = [{part.name: part.time_s for part in record.parts} for record in records]
    whole = [record.together_s or 0 for record in records]
    unit, factor = readable_time("s", max(whole))
    columns = place_columns(group, records)
    for name in names:
        own = [one.get(name) for one in times]
        columns.append(Column(f"{name}\n({unit})", _shares(own, whole, factor)))
    other = [record.other_s for record in records]
    columns.append(Column(f"other\n({unit})", _shares(other, whole, factor)))
    return Grid([*columns, time_column(f"together\n({unit})", whole, factor)])


def _shares(times: Sequence[float | None], whole: Sequence[float], factor: float) -> list[str]:
    """`8.000 (36%)`"""
    texts = cells(times, lambda time: format_number(factor * time))
    return [
        f"{text} ({format_percent(time / all_of_it):>4})"
        if time is not None and all_of_it
        else text
        for text, time, all_of_it in zip(texts, times, whole)
    ]
