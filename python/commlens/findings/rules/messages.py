"""Messages and work of a program."""

from __future__ import annotations

import re

from commlens.base.text import format_bytes
from commlens.findings.rule import Seen, found
from commlens.findings.view import LEAST_SHARE, View, calls, cost_of, mean_bytes, total_of
from commlens.model.profile import imbalance_of, mean

_SENDS = re.compile(r"MPI_I?[bsr]?send(recv(_replace)?)?(_c)?", re.IGNORECASE)
# Those whose data is the same whatever the number of ranks, so that calls can be combined.
_COMBINES = re.compile(r"MPI_(Allreduce|Reduce|Bcast|Allgather|Gather|Scan|Exscan)(_c)?")


def uneven_work(view: View, share: float) -> Seen:
    for profile in [one for one in view.profiles if one.outside_s]:
        outside = imbalance_of(profile.outside_s)
        most = max(profile.outside_s)
        index = profile.outside_s.index(most)
        # How much longer than the others it waited for a processor, which is not work.
        queued = max(0.0, profile.queued_s[index] - mean(profile.queued_s))
        cost = min(outside.imbalance_s - queued, mean(profile.mpi_s))
        if cost >= share * total_of(profile):
            rank = profile.placement[index].rank
            yield found(*cost_of(profile, cost), rank=rank, most=most, mean=outside.mean_s)


def many_small_messages(view: View, many: int, small: int) -> Seen:
    """`many` per rank of less than `small` bytes."""
    for profile in view.profiles:
        sends = [own for own in profile.communicating if _SENDS.fullmatch(own.name)]
        own = [one for one in sends if sum(one.bytes) and mean_bytes(one) < small]
        cost = mean(profile.in_functions(own))
        if sum(one.mean_calls for one in own) >= many and cost >= LEAST_SHARE * total_of(profile):
            size = round(mean([mean_bytes(one) for one in own]))
            yield found(*cost_of(profile, cost), calls=calls(own), size=size)


def tiny_collectives(view: View, many: int, tiny: int, hint: str) -> Seen:
    """`many` per rank with up to `tiny` bytes; `hint` where waiting was not measured."""
    for profile in view.profiles:
        combined = [own for own in profile.communicating if _COMBINES.fullmatch(own.name)]
        own = [one for one in combined if one.mean_calls >= many and mean_bytes(one) <= tiny]
        waiting = sum(mean(one.waiting_s) for one in own)
        cost = mean(profile.in_functions(own)) - waiting
        if own and cost >= LEAST_SHARE * total_of(profile):
            yield found(
                *cost_of(profile, cost),
                calls=calls(own),
                hint="" if waiting else hint,
                sizes=[format_bytes(round(mean_bytes(one))) for one in own],
            )
