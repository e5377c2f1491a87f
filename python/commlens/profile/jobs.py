"""The record of each job that a profiled command has started."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import commlens
from commlens.base.text import plural
from commlens.jobs.preload.ranks import Left, Stamp, named_ranks
from commlens.model.profile import FINALIZED, VERSION, Peer, Profile
from commlens.profile import call_sites
from commlens.profile.rank_files import RankFile, merge_functions, merge_regions

_SPAWNING = ("MPI_Comm_spawn", "MPI_Comm_spawn_multiple")


def profiles(command: Sequence[str], left: Left[RankFile], status: int) -> list[Profile]:
    """One for each job that the command started."""
    return [_profile(Stamp.of(command, job), left, job, status) for job in range(len(left.jobs))]


def _profile(stamp: Stamp, left: Left[RankFile], job: int, status: int) -> Profile:
    ranks = left.jobs[job]
    first = ranks[0]
    return Profile(
        profile=VERSION,
        time=stamp.time,
        run=stamp.run,
        command=stamp.command,
        exit_status=status,
        mpi=first.mpi,
        program=first.program,
        thread_level=first.thread_level,
        ranks=max(file.size for file in ranks),
        nodes=len({file.host for file in ranks}),
        placement=[file.place for file in ranks],
        missing_ranks=left.missing(job),
        total_s=[file.total_ns / 1e9 for file in ranks],
        functions=merge_functions(ranks),
        peers=[
            Peer(sender=file.rank, receiver=peer, bytes=bytes_, messages=messages)
            for file in ranks
            for peer, bytes_, messages in file.peers
        ],
        call_sites=call_sites.resolve(ranks),
        regions=merge_regions(ranks),
        warnings=[*left.warnings(job), *_warnings(ranks)],
        versions={"commlens": commlens.__version__, "mpi": first.mpi},
        environment=next((file.environment for file in ranks if file.rank == 0), {}),
    )


def _warnings(files: Sequence[RankFile]) -> Iterator[str]:
    endings: dict[tuple[str, str], list[int]] = {}
    for file in files:
        if file.ending != FINALIZED:
            endings.setdefault((file.ending, file.place.inside), []).append(file.rank)
    for (ending, inside), ranks in endings.items():
        yield f"{named_ranks(ranks)} ended by {ending}" + (f", within {inside}" if inside else "")
    if any(function.name in _SPAWNING for file in files for function in file.functions):
        yield "the processes that MPI_Comm_spawn started are not profiled"
    yield from _dropped(files)


def _dropped(files: Sequence[RankFile]) -> Iterator[str]:
    if not all(file.has_peers for file in files):
        yield "bytes by peer are unknown: too many ranks, or a program of MPI sessions"
    if sites := sum(file.dropped_call_sites for file in files):
        yield f"{plural(sites, 'call')} from further call sites are not counted by site"
    if requests := sum(file.dropped_requests for file in files):
        yield (
            f"the bytes of {plural(requests, 'persistent request')} are not counted: too many "
            "requests exist at a time"
        )
    if regions := sum(file.dropped_regions for file in files):
        yield f"{regions} times a region began that is not counted: too many, or nested too deep"
