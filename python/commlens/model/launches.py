"""Several launches of one job: as one record, with the median of their medians and how far they
spread; and what sets launches apart that measured the same.

The struct is evaluated by Python 3.9 too, as in start.py.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Optional

import msgspec

from commlens.model.record import Record, case_key
from commlens.model.results import Ceiling, LaunchesStatistic, Part, PartStatistics
from commlens.model.start import Start


class OverLaunches(Record, frozen=True, tag_field="kind", tag="record", eq=False):
    """A record whose statistics are over the medians of several launches.

    What is no statistic, part, ceiling or time of a candidate is that of the first start.
    """

    members: tuple[Record, ...] = ()

    @property
    def missed_half_width(self) -> Optional[float]:
        """The widest of its launches."""
        widths = (member.missed_half_width for member in self.members)
        return max((width for width in widths if width is not None), default=None)


def launches_of(record: Record) -> Sequence[Record]:
    """The records of its launches: itself, where it is of one."""
    return record.members if isinstance(record, OverLaunches) else (record,)


def over_launches(records: Iterable[Record]) -> list[Record]:
    """What several launches with the same settings have measured is one record, in the place of the
    first. What one start alone measured stays as it is, and so does what failed or was skipped; of
    several launches for the same reason, the first."""
    numbers: dict[object, int] = {}  # of what repeats: keys are long, and are hashed once
    times: Counter[object] = Counter()  # that a start has measured the same
    by_case: dict[object, list[Record]] = {}
    for record in records:
        setting = numbers.setdefault(record.start.setting, len(numbers))
        case = case_key(record), setting, tuple(record.statistics), record.status, record.reason
        key = numbers.setdefault(case, len(numbers))
        times[key, record.start.start] += 1
        by_case.setdefault((key, times[key, record.start.start]), []).append(record)
    return [_merged(members) for members in by_case.values()]


def _merged(members: Sequence[Record]) -> Record:
    first = members[0]
    if len(members) == 1 or not first.measured:
        return first
    fields = {name: getattr(first, name) for name in first.__struct_fields__}
    fields["statistics"] = {
        name: LaunchesStatistic.of([member.statistics[name].median for member in members])
        for name in first.statistics
    }
    fields["parts"] = tuple(_part(part, members) for part in first.parts)
    fields["ceilings"] = tuple(_ceiling(ceiling, members) for ceiling in first.ceilings)
    if candidates := [member.candidate for member in members if member.candidate]:
        seconds = median(candidate.seconds for candidate in candidates)
        fields["candidate"] = msgspec.structs.replace(candidates[0], seconds=seconds)
    return OverLaunches(**fields, members=tuple(members))


def _part(part: Part, members: Sequence[Record]) -> Part:
    same = [other for member in members for other in member.parts if other.name == part.name]
    whole = LaunchesStatistic.of([other.statistics.time_us.median for other in same])
    return msgspec.structs.replace(part, statistics=PartStatistics(time_us=whole))


def _ceiling(ceiling: Ceiling, members: Sequence[Record]) -> Ceiling:
    """The median of what the launches found, without those that were exceeded unless all were."""
    same = [
        other
        for member in members
        for other in member.ceilings
        if (other.part, other.name) == (ceiling.part, ceiling.name)
    ]
    same = [other for other in same if not other.is_exceeded] or same
    metrics = {
        name: median(other.metrics[name] for other in same if name in other.metrics)
        for name in ceiling.metrics
    }
    rates = [other.rate for other in same if other.rate is not None and other.unit == ceiling.unit]
    return msgspec.structs.replace(
        ceiling,
        time_us=median(other.time_us for other in same),
        fraction=median(other.fraction for other in same),
        ceiling_exceeded=same[0].is_exceeded,
        metrics=metrics,
        rate=median(rates) if rates else None,
    )


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
    by_label = Counter((settings[record.start.start], cell) for record, cell in zip(records, cells))
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
        name: {
            "host": start.host,
            "MPI": start.mpi,
            **{name: f"{name}={value}" for name, value in start.settings_of_transport.items()},
        }
        for name, start in launches.items()
    }
    all_words = described.values()
    names = sorted({name for words in all_words for name in words})
    differing = [name for name in names if len({words.get(name) for words in all_words}) > 1]
    return {
        start: ", ".join(words[name] for name in differing if name in words) or "default settings"
        for start, words in described.items()
    }


def _times(launches: Mapping[str, Start]) -> list[dict[str, str]]:
    """Their times, in more and more words."""
    times = {name: start.time.replace("T", " ") for name, start in launches.items()}
    is_same_day = len({time[:10] for time in times.values()}) == 1
    begin, ends = (11, (16, 19)) if is_same_day else (0, (10, 16, 19))
    return [{name: time[begin:end] for name, time in times.items()} for end in ends]
