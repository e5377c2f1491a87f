"""What sets launches apart that measured the same: their settings, else a number or their time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from commlens.model.record import Record
from commlens.model.start import Start


def launch_labels(records: Sequence[Record]) -> tuple[dict[str, str], dict[str, str]]:
    """By the names of launches: `UCX_TLS=sm, start 2`, whose numbers are the same on each number of
    ranks; and `UCX_TLS=sm, 03:04`, with as much of the time as sets launches apart, if any does.
    Both are empty if one label is enough for all."""
    launches = {record.start.start: record.start for record in records}
    cells = [
        (record.size, record.transport, record.memory, record.variant_value) for record in records
    ]
    if len(launches) == 1 or len(set(cells)) == len(records):
        return {}, {}
    settings = _settings(launches)
    # Starts with the same settings that measured different things are one series; those that repeat
    # something are not.
    by_label = Counter((settings[one.start.start], cell) for one, cell in zip(records, cells))
    again = {label for (label, _), count in by_label.items() if count > 1}
    repeated = {name: start for name, start in launches.items() if settings[name] in again}
    numbers: Counter[str] = Counter()
    numbered = dict(settings)
    for start in repeated:
        numbers[settings[start]] += 1
        numbered[start] = f"{settings[start]}, start {numbers[settings[start]]}"
    has_settings = len(set(settings.values())) > 1
    for times in _times(repeated):
        if len({(settings[start], time) for start, time in times.items()}) == len(times):
            dated = {
                start: f"{settings[start]}, {time}" if has_settings else time
                for start, time in times.items()
            }
            return numbered, {**settings, **dated}
    return numbered, numbered


def _settings(launches: Mapping[str, Start]) -> dict[str, str]:
    """The settings that differ."""
    described = {
        name: {"host": start.host, "MPI": start.mpi, **start.settings_of_transport}
        for name, start in launches.items()
    }
    names = sorted({name for one in described.values() for name in one})
    differing = [name for name in names if len({one.get(name) for one in described.values()}) > 1]
    labels = {}
    for start, one in described.items():
        parts = [
            one[name] if name in ("host", "MPI") else f"{name}={one[name]}"
            for name in differing
            if name in one
        ]
        labels[start] = ", ".join(parts) or "default settings"
    return labels


def _times(launches: Mapping[str, Start]) -> list[dict[str, str]]:
    """Their times, in more and more words."""
    times = {name: (start.time[:10], start.time[11:19]) for name, start in launches.items()}
    if len({day for day, _ in times.values()}) == 1:
        return [{name: time[:end] for name, (_, time) in times.items()} for end in (5, 8)]
    return [
        {name: f"{day} {time[:end]}".strip() for name, (day, time) in times.items()}
        for end in (0, 5, 8)
    ]
