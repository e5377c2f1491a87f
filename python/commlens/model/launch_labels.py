"""What sets launches apart that measured the same: their settings, else a number or their time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from commlens.model.record import Record
from commlens.model.start import Start


class _Labels(NamedTuple):
    """By the names of launches."""

    settings: dict[str, str]  # those that differ; empty if one label is enough for all
    repeated: dict[str, Start]  # those whose settings another start has that measured the same


def start_labels(records: Sequence[Record]) -> dict[str, str]:
    """`UCX_TLS=sm, start 2`: the numbers are the same on each number of ranks."""
    settings, repeated = _labels(records)
    numbers: Counter[str] = Counter()
    found = dict(settings)
    for start in repeated:
        numbers[settings[start]] += 1
        found[start] = f"{settings[start]}, start {numbers[settings[start]]}"
    return found


def dated_labels(records: Sequence[Record]) -> dict[str, str]:
    """`UCX_TLS=sm, 03:04`: with as much of the time as sets launches apart, else as above."""
    settings, repeated = _labels(records)
    for times in _times(repeated):
        if len({(settings[start], time) for start, time in times.items()}) == len(times):
            has_settings = len(set(settings.values())) > 1
            dated = {
                start: f"{settings[start]}, {time}" if has_settings else time
                for start, time in times.items()
            }
            return {**settings, **dated}
    return start_labels(records)


def _times(launches: Mapping[str, Start]) -> list[dict[str, str]]:
    """Their times, in more and more words."""
    times = {name: (start.time[:10], start.time[11:19]) for name, start in launches.items()}
    if len({day for day, _ in times.values()}) == 1:
        return [{name: time[:end] for name, (_, time) in times.items()} for end in (5, 8)]
    return [
        {name: f"{day} {time[:end]}".strip() for name, (day, time) in times.items()}
        for end in (0, 5, 8)
    ]


def _labels(records: Sequence[Record]) -> _Labels:
    launches = {record.start.start: record.start for record in records}
    if len(launches) == 1 or len(set(map(_cell, records))) == len(records):
        return _Labels({}, {})
    described = {name: _description(start) for name, start in launches.items()}
    names = sorted({name for description in described.values() for name in description})
    differing = [name for name in names if len({one.get(name) for one in described.values()}) > 1]
    labels = {start: _label(one, differing) for start, one in described.items()}
    # Starts with the same settings that measured different things are one series; those that repeat
    # something are not.
    by_label = Counter((labels[record.start.start], _cell(record)) for record in records)
    again = {label for (label, _), count in by_label.items() if count > 1}
    return _Labels(
        labels, {name: start for name, start in launches.items() if labels[name] in again}
    )


def _cell(record: Record) -> tuple[object, ...]:
    return record.size, record.transport, record.memory, record.variant_value


def _description(start: Start) -> dict[str, str]:
    return {"host": start.host, "MPI": start.mpi, **start.settings_of_transport}


def _label(description: Mapping[str, str], names: Iterable[str]) -> str:
    parts = []
    for name in names:
        if name in ("host", "MPI"):
            parts.append(description[name])
        elif name in description:
            parts.append(f"{name}={description[name]}")
    return ", ".join(parts) or "default settings"
