"""What a profile gives reason to change: each finding with its evidence, its cost and a cure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from commlens.profile.imbalance import imbalance_of, mean
from commlens.profile.record import Function, Profile
from commlens.text import format_bytes, format_percent, format_time, plural

_MAKES_COMMUNICATORS = re.compile(
    r"MPI_(Comm_(i?dup(_with_info)?|split(_type)?|create(_group)?|free)|Cart_(create|sub)"
    r"|(Dist_g|G)raph_create(_adjacent)?|Intercomm_(create|merge))"
)
_SENDS = re.compile(r"MPI_I?[bsr]?send(recv(_replace)?)?(_c)?", re.IGNORECASE)
# Those whose data is the same whatever the number of ranks, so that calls can be combined.
_COMBINES = re.compile(r"MPI_(Allreduce|Reduce|Bcast|Allgather|Gather|Scan|Exscan)(_c)?")

_IN_A_LOOP = 20  # calls per rank
_MANY = 1000  # calls per rank
_SMALL_MESSAGE_BYTES = 1024
_TINY_BYTES = 64
_LEAST_SHARE = 0.01  # of the time: what costs less is not worth a change
_IMBALANCE_SHARE = 0.05
_LOST_CORES_SHARE = 0.05


@dataclass(frozen=True)
class Finding:
    evidence: str
    cost_s: float  # per rank
    share: float  # of the time
    cure: str

    def __str__(self) -> str:
        cost = f"{format_percent(self.share)} of the time ({format_time(self.cost_s)} per rank)"
        return f"{self.evidence}: {cost}. {self.cure}"


def findings(profile: Profile) -> list[Finding]:
    """The most expensive first. Shares are of the time without MPI's start and end."""
    total = mean(profile.total_s) - mean(profile.in_functions(profile.initializing))
    if total <= 0:
        return []
    found = [finding for rule in _RULES for finding in rule(profile, total)]
    return sorted(found, key=lambda finding: -finding.cost_s)


def _communicators(profile: Profile, total: float) -> Iterator[Finding]:
    made = [own for own in profile.functions if _MAKES_COMMUNICATORS.fullmatch(own.name)]
    looped = [own for own in made if own.mean_calls >= _IN_A_LOOP and own.name != "MPI_Comm_free"]
    if not looped:
        return
    cost = mean(profile.in_functions(made))
    if cost < _LEAST_SHARE * total:
        return
    yield Finding(
        f"communicators are made in a loop ({_calls(looped)})",
        cost,
        cost / total,
        "Make them once and keep them; `commlens run fft` shows what caching brings.",
    )


def _imbalance(profile: Profile, total: float) -> Iterator[Finding]:
    """Of the work outside MPI, for which the other ranks wait in MPI."""
    outside = imbalance_of(profile.outside_s)
    index = profile.outside_s.index(max(profile.outside_s))
    # How much longer than the others it waited for a processor, which is not work.
    queued = max(0.0, profile.queued_s[index] - mean(profile.queued_s))
    cost = min(outside.imbalance_s - queued, mean(profile.mpi_s))
    if cost < _IMBALANCE_SHARE * total:
        return
    yield Finding(
        f"work outside MPI is unevenly distributed (rank {profile.placement[index].rank} has "
        f"{format_time(profile.outside_s[index])}, the mean is {format_time(outside.mean_s)}), "
        "and the other ranks wait for it in MPI",
        cost,
        cost / total,
        "Distribute the work more evenly, unless it is another rank in the next run: then cores "
        "differ in speed. `--waiting --callsites` tells where ranks wait.",
    )


def _small_messages(profile: Profile, total: float) -> Iterator[Finding]:
    sends = [own for own in profile.communicating if _SENDS.fullmatch(own.name)]
    small = [own for own in sends if sum(own.bytes) and _mean_bytes(own) < _SMALL_MESSAGE_BYTES]
    cost = mean(profile.in_functions(small))
    calls = sum(own.mean_calls for own in small)
    if calls < _MANY or cost < _LEAST_SHARE * total:
        return
    bytes_ = mean([_mean_bytes(own) for own in small])
    yield Finding(
        f"many small messages are sent ({_calls(small)}, {format_bytes(round(bytes_))} on average)",
        cost,
        cost / total,
        "Send what goes to the same rank at the same time in one message: each costs its latency.",
    )


def _tiny_collectives(profile: Profile, total: float) -> Iterator[Finding]:
    tiny = [
        own
        for own in profile.communicating
        if _COMBINES.fullmatch(own.name)
        and own.mean_calls >= _MANY
        and _mean_bytes(own) <= _TINY_BYTES
    ]
    waiting = sum(mean(own.waiting_s) for own in tiny)
    cost = mean(profile.in_functions(tiny)) - waiting
    if not tiny or cost < _LEAST_SHARE * total:
        return
    sizes = ", ".join(format_bytes(round(_mean_bytes(own))) for own in tiny)
    yield Finding(
        f"collectives carry next to no data ({_calls(tiny)}, {sizes} on average)",
        cost,
        cost / total,
        "Combine several into one call, or start them early and overlap them (MPI_Iallreduce)."
        + ("" if waiting else " `--waiting` tells how much of it is waiting for late ranks."),
    )


def _shared_cores(profile: Profile, total: float) -> Iterator[Finding]:
    by_host: dict[str, list[set[int]]] = {}
    for place in profile.placement:
        by_host.setdefault(place.host, []).append(_numbers(place.cpus))
    crowded = [
        (host, len(ranks), len(set().union(*ranks)))
        for host, ranks in by_host.items()
        if all(ranks) and _is_crowded(ranks)
    ]
    cost = mean(profile.queued_s)
    if not crowded:
        yield from _lost_cores(profile, cost, total)
        return
    if cost < _LEAST_SHARE * total:
        return
    host, ranks, cpus = crowded[0]
    others = f" and {plural(len(crowded) - 1, 'more node')}" if len(crowded) > 1 else ""
    yield Finding(
        f"ranks share cores ({plural(ranks, 'rank')} on {plural(cpus, 'processor')} of {host}"
        f"{others}) and wait for one while they could run",
        cost,
        cost / total,
        "Start no more ranks than there are cores, and bind each to its own: "
        "`--map-by core --bind-to core` (mpirun), `--cpu-bind=cores` (srun).",
    )


def _lost_cores(profile: Profile, cost: float, total: float) -> Iterator[Finding]:
    """To something else than the other ranks."""
    if cost < _LOST_CORES_SHARE * total:
        return
    place = profile.placement[profile.queued_s.index(max(profile.queued_s))]
    yield Finding(
        "ranks wait for a processor while they could run, though there is one for each (rank "
        f"{place.rank} on {place.host} for {format_time(max(profile.queued_s))})",
        cost,
        cost / total,
        "Other programs run there (`top` lists them), or a rank has more threads than it has "
        "processors (OMP_NUM_THREADS): times of this run say little about the program.",
    )


def _is_crowded(ranks: Sequence[set[int]]) -> bool:
    """Whether some ranks have fewer processors than they are, all together or those of one
    binding."""
    groups = [frozenset(own) for own in ranks]
    return len(ranks) > len(set().union(*ranks)) or any(
        groups.count(own) > len(own) for own in set(groups)
    )


def _numbers(cpus: str) -> set[int]:
    found: set[int] = set()
    for part in filter(None, cpus.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def _mean_bytes(function: Function) -> float:
    calls = sum(size.calls for size in function.sizes)
    return sum(function.bytes) / calls if calls else 0.0


def _calls(functions: Iterable[Function]) -> str:
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


_RULES: Sequence[Callable[[Profile, float], Iterator[Finding]]] = (
    _communicators,
    _imbalance,
    _small_messages,
    _tiny_collectives,
    _shared_cores,
)
