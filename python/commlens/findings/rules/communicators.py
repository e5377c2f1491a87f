"""Communicators that are made again and again."""

from __future__ import annotations

import re

from commlens.findings.disturbance import is_disturbed
from commlens.findings.finding import Cost, Evidence
from commlens.findings.rule import Seen, found
from commlens.findings.view import LEAST_SHARE, View, calls, cost_of, so_in, total_of, where
from commlens.model import Group, Record
from commlens.model.profile import mean

_MAKES_COMMUNICATORS = re.compile(
    r"MPI_(Comm_(i?dup(_with_info)?|split(_type)?|create(_group)?|free)|Cart_(create|sub)"
    r"|(Dist_g|G)raph_create(_adjacent)?|Intercomm_(create|merge))"
)
_FREE = "MPI_Comm_free"
_PART = "communicators"  # of an operation that times making them


def communicators_in_a_loop(view: View, in_a_loop: int) -> Seen:
    for profile in view.profiles:
        made = [own for own in profile.functions if _MAKES_COMMUNICATORS.fullmatch(own.name)]
        looped = [own for own in made if own.mean_calls >= in_a_loop and own.name != _FREE]
        cost = mean(profile.in_functions(made))
        if looped and cost >= LEAST_SHARE * total_of(profile):
            yield found(*cost_of(profile, cost), which="program", calls=calls(looped))
    for group in view.groups:
        yield from _of_records(group)


def _of_records(group: Group) -> Seen:
    """One of each memory, that where it costs the largest share."""
    costly: dict[str, list[Record]] = {}
    for record in group.records:
        is_costly = record.calls and _made(record) > 0 and _share(record) >= LEAST_SHARE
        if is_costly and not is_disturbed(record):
            costly.setdefault(record.memory, []).append(record)
    for memory, records in costly.items():
        records.sort(key=_share, reverse=True)
        worst = records[0]
        place = where(group, memory, worst.variant_value, [worst.size])
        yield found(
            Evidence(place, tuple(records)),
            Cost(_making_s(worst), _share(worst), "operation"),
            which="operation",
            made=_made(worst),
            place=place,
            transport=worst.transport,
            others=so_in(records),
        )


def _making_s(record: Record) -> float:
    """Of an operation, the fastest sample of its part that makes them: others may have waited."""
    own = (part.time.min or 0.0 for part in record.parts if part.within and part.name == _PART)
    return sum(own)


def _share(record: Record) -> float:
    if not record.measured or not record.together_s:
        return 0.0
    return min(1.0, _making_s(record) / record.together_s)


def _made(record: Record) -> float:
    """Communicators per operation."""
    return sum(
        count
        for name, count in record.calls.items()
        if name != _FREE and _MAKES_COMMUNICATORS.fullmatch(name)
    )
