"""What rules over profiles have in common. Shares are of the time without MPI's start and end."""

from __future__ import annotations

from collections.abc import Iterable

from commlens.base.text import plural
from commlens.findings.finding import Cost, Evidence
from commlens.model.imbalance import mean
from commlens.model.profile import Function, Profile

LEAST_SHARE = 0.01  # of the time: what costs less is not worth a change


def total_of(profile: Profile) -> float:
    """Seconds per rank; infinite where there is none, so that nothing is a share of it."""
    total = mean(profile.total_s) - mean(profile.in_functions(profile.initializing))
    return total if total > 0 else float("inf")


def cost_of(profile: Profile, seconds: float) -> tuple[Evidence, Cost]:
    """The evidence is the profile."""
    program = profile.program.rpartition("/")[2]
    where = f"profile of {program}, {plural(profile.ranks, 'rank')}"
    share = min(1.0, seconds / total_of(profile))
    return Evidence(where, profile=profile), Cost(seconds, share, "rank")


def mean_bytes(function: Function) -> float:
    """Of a call."""
    calls = sum(size.calls for size in function.sizes)
    return sum(function.bytes) / calls if calls else 0.0


def calls(functions: Iterable[Function]) -> str:
    """`MPI_Cart_sub 400 and MPI_Comm_split 20 times per rank`"""
    counts = [
        f"{own.name} {own.mean_calls:,.0f}"
        for own in sorted(functions, key=lambda own: -own.mean_calls)
    ]
    most = 3
    if len(counts) > most:
        counts[most:] = [f"{len(counts) - most} more"]
    listed = " and ".join(filter(None, (", ".join(counts[:-1]), counts[-1])))
    return f"{listed} times per rank"
