"""Which records were measured amid the work of others, and say little of anything else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from commlens.model import Record, Start
from commlens.model.start import count_numbers, ranges_of


@cache
def is_on_gpu(memory: str) -> bool:
    """Whether a side of it is in memory that a GPU computes on."""
    return bool({"device", "managed"} & set(memory.split(":")))


def shares_gpus(start: Start) -> bool:
    """Whether two ranks of the launch have the same GPU."""
    used = [(place.host, place.device.uuid) for place in start.placement if place.device]
    return len(set(used)) < len(used)


def is_disturbed(record: Record) -> bool:
    """Whether ranks took turns on a processor or on a GPU: such times say little of anything
    else."""
    start = record.start
    return bool(crowds([(one.host, one.cores) for one in start.placement])) or (
        is_on_gpu(record.memory) and shares_gpus(start)
    )


class Crowd(NamedTuple):
    """Ranks of a host that have fewer processors than they are."""

    host: str
    ranks: int
    processors: int


def crowds(places: Iterable[tuple[str, str]]) -> list[Crowd]:
    """Of hosts and processors of ranks: those hosts where all ranks together are too many, or those
    of one binding. What is unknown of a rank is no evidence."""
    by_host: dict[str, list[str]] = {}
    for host, processors in places:
        by_host.setdefault(host, []).append(processors)
    found = []
    for host, bindings in by_host.items():
        if not all(bindings):
            continue
        crowd = Crowd(host, len(bindings), count_numbers(bindings))
        if crowd.ranks > crowd.processors:
            found.append(crowd)
            continue
        counts = Counter(bindings).items()
        bound = [Crowd(host, ranks, count_numbers([one])) for one, ranks in counts]
        found += [one for one in bound if one.ranks > one.processors][:1]
    return found


def has_number(text: str, number: int | None) -> bool:
    """Whether a list as in /proc, such as `0-3,8`, has a number."""
    return number is not None and any(first <= number <= last for first, last in ranges_of(text))
