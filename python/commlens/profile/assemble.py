"""The record of a job, from the files of its ranks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path

import commlens
from commlens.base.text import plural
from commlens.knowledge.secrets import mask_words
from commlens.model.profile import FINALIZED, VERSION, Peer, Profile
from commlens.profile import call_sites
from commlens.profile.jobs import Left, losses, named_ranks
from commlens.profile.rank_files import RankFile, merge_functions, merge_regions

_SPAWNING = ("MPI_Comm_spawn", "MPI_Comm_spawn_multiple")


def profiles(command: Sequence[str], left: Left, status: int) -> list[Profile]:
    """One for each job that the command started."""
    now = f"{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
    # Bytes that are not UTF-8 are replaced.
    words = [word.encode("utf-8", "replace").decode() for word in mask_words(command)]
    return [_profile(words, left, job, status, now) for job in range(len(left.jobs))]


def _profile(command: list[str], left: Left, job: int, status: int, now: str) -> Profile:
    ranks = left.jobs[job]
    first = ranks[0]
    size = max(file.size for file in ranks)
    missing = sorted(set(range(size)) - {file.rank for file in ranks})
    return Profile(
        profile=VERSION,
        time=now,
        run=f"{now}-{os.uname().nodename}-{os.getpid()}" + (f"-{job + 1}" if job else ""),
        command=command,
        exit_status=status,
        mpi=first.mpi,
        program=first.program,
        thread_level=first.thread_level,
        ranks=size,
        nodes=len({file.host for file in ranks}),
        placement=[file.place for file in ranks],
        missing_ranks=missing,
        total_s=[file.total_ns / 1e9 for file in ranks],
        functions=merge_functions(ranks),
        peers=[
            Peer(sender=file.rank, receiver=peer, bytes=bytes_, messages=messages)
            for file in ranks
            for peer, bytes_, messages in file.peers
        ],
        call_sites=call_sites.resolve(ranks),
        regions=merge_regions(ranks),
        warnings=[*_warnings(left, job, missing)],
        versions={"commlens": commlens.__version__, "mpi": first.mpi},
        environment=next((file.environment for file in ranks if file.rank == 0), {}),
    )


def _warnings(left: Left, job: int, missing: Sequence[int]) -> Iterator[str]:
    files = left.jobs[job]
    if len(left.jobs) > 1:
        program = Path(files[0].program).name
        yield f"job {job + 1} of {len(left.jobs)} that the command started: {program}"
    if len(files) > 1 and all(file.size == 1 for file in files):
        yield (
            f"each of {len(files)} processes ran as the only rank: "
            f"the launcher is not that of the program's MPI ({files[0].mpi})"
        )
    explained = [own for own in left.lost if own.rank in missing]
    yield from losses(explained)
    if silent := sorted(set(missing) - {own.rank for own in explained}):
        yield f"no file from {named_ranks(silent)}: killed, or the folder is not visible there"
    yield from _endings(files)
    if any(function.name in _SPAWNING for file in files for function in file.functions):
        yield "the processes that MPI_Comm_spawn started are not profiled"
    yield from _dropped(files)


def _endings(files: Sequence[RankFile]) -> Iterator[str]:
    endings: dict[tuple[str, str], list[int]] = {}
    for file in files:
        if file.ending != FINALIZED:
            endings.setdefault((file.ending, file.place.inside), []).append(file.rank)
    for (ending, inside), ranks in endings.items():
        yield f"{named_ranks(ranks)} ended by {ending}" + (f", within {inside}" if inside else "")


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
