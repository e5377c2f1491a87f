"""Messages and work of a program"""

from __future__ import annotations

import re
from collections.abc import Iterator

from commlens.base.text import format_bytes, format_time
from commlens.findings.rule import Observation, rule
from commlens.findings.view import LEAST_SHARE, View, calls, cost_of, mean_bytes, total_of
from commlens.model.profile import imbalance_of, mean

_SENDS = re.compile(r"MPI_I?[bsr]?send(recv(_replace)?)?(_c)?", re.IGNORECASE)
# Those whose data is the same whatever the number of ranks, so that calls can be combined.
_COMBINES = re.compile(r"MPI_(Allreduce|Reduce|Bcast|Allgather|Gather|Scan|Exscan)(_c)?")
_MANY = 1000  # calls per rank
_SMALL_MESSAGE_BYTES = 1024
_TINY_BYTES = 64
_IMBALANCE_SHARE = 0.05


@rule(
    "uneven-work",
    "warning",
    "work outside MPI is unevenly distributed",
    needs="profile",
    when=f"in a profiled program, other ranks spend {_IMBALANCE_SHARE:.0%} of the time in MPI "
    "waiting for the one with the most work. What it waited longer for a processor than the others "
    "is not counted.",
    fix="Distribute the work more evenly, unless it is another rank in the next run: then cores "
    "differ in speed. `--waiting --callsites` shows where ranks wait.",
)
def uneven_work(view: View) -> Iterator[Observation]:
    for profile in view.profiles:
        if not profile.outside_s:
            continue
        outside = imbalance_of(profile.outside_s)
        index = profile.outside_s.index(max(profile.outside_s))
        # How much longer than the others it waited for a processor, which is not work.
        queued = max(0.0, profile.queued_s[index] - mean(profile.queued_s))
        cost = min(outside.imbalance_s - queued, mean(profile.mpi_s))
        if cost < _IMBALANCE_SHARE * total_of(profile):
            continue
        yield Observation(
            f"Work outside MPI is unevenly distributed (rank {profile.placement[index].rank} has "
            f"{format_time(profile.outside_s[index])}, the mean is {format_time(outside.mean_s)}), "
            "and the other ranks wait for it in MPI",
            *cost_of(profile, cost),
        )


@rule(
    "many-small-messages",
    "warning",
    "many small messages are sent",
    needs="profile",
    when=f"a profiled program sends {_MANY} messages per rank or more of less than "
    f"{format_bytes(_SMALL_MESSAGE_BYTES)} on average, which costs {LEAST_SHARE:.0%} of its time.",
    fix="Send what goes to the same rank at the same time in one message: each costs its latency.",
)
def many_small_messages(view: View) -> Iterator[Observation]:
    for profile in view.profiles:
        sends = [own for own in profile.communicating if _SENDS.fullmatch(own.name)]
        small = [own for own in sends if sum(own.bytes) and mean_bytes(own) < _SMALL_MESSAGE_BYTES]
        cost = mean(profile.in_functions(small))
        count = sum(own.mean_calls for own in small)
        if count < _MANY or cost < LEAST_SHARE * total_of(profile):
            continue
        bytes_ = mean([mean_bytes(own) for own in small])
        yield Observation(
            f"Many small messages are sent ({calls(small)}, {format_bytes(round(bytes_))} on "
            "average)",
            *cost_of(profile, cost),
        )


@rule(
    "tiny-collectives",
    "warning",
    "collectives carry next to no data",
    needs="profile",
    when=f"a profiled program calls one {_MANY} times per rank or more with up to "
    f"{format_bytes(_TINY_BYTES)} on average, which costs {LEAST_SHARE:.0%} of its time, waiting "
    "for late ranks left out.",
    fix="Combine several into one call, or begin them early and overlap them (MPI_Iallreduce)."
    "{hint}",
)
def tiny_collectives(view: View) -> Iterator[Observation]:
    for profile in view.profiles:
        tiny = [
            own
            for own in profile.communicating
            if _COMBINES.fullmatch(own.name)
            and own.mean_calls >= _MANY
            and mean_bytes(own) <= _TINY_BYTES
        ]
        waiting = sum(mean(own.waiting_s) for own in tiny)
        cost = mean(profile.in_functions(tiny)) - waiting
        if not tiny or cost < LEAST_SHARE * total_of(profile):
            continue
        sizes = ", ".join(format_bytes(round(mean_bytes(own))) for own in tiny)
        hint = "" if waiting else " `--waiting` shows how much of it is waiting for late ranks."
        yield Observation(
            f"Collectives carry next to no data ({calls(tiny)}, {sizes} on average)",
            *cost_of(profile, cost),
            {"hint": hint},
        )
