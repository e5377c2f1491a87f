"""What the ranks of a profiled command left: their files, and the record of each job."""

from __future__ import annotations

import errno
import os
import re
import socket
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TypeVar

import msgspec
import psutil

import commlens
from commlens.base.text import plural
from commlens.knowledge.secrets import mask_words
from commlens.model.profile import FINALIZED, VERSION, Peer, Profile
from commlens.profile import call_sites
from commlens.profile.rank_files import RankFile, merge_functions, merge_regions

# As rank_file.cpp names them: complete, begun, or with the error that kept it from being written.
_NAME = re.compile(
    r"rank-(?P<rank>\d+)-(?P<host>.*)-(?P<pid>\d+)\.json(?:\.(?:part|error-(?P<error>\d+)))?"
)
_LATE_LOCAL_S = 5.0  # how long ranks may outlive their launcher
_LATE_REMOTE_S = 2.0  # and files of other nodes may take to become visible
_POLL_S = 0.05
_MOST_NAMED = 8  # ranks
_SPAWNING = ("MPI_Comm_spawn", "MPI_Comm_spawn_multiple")

_File = TypeVar("_File")


@dataclass(frozen=True)
class Started:
    """A rank that started MPI."""

    rank: int
    host: str
    pid: int
    is_written: bool
    error: int  # of the system, where its file could not be written


@dataclass(frozen=True)
class Left:
    """What the ranks of a command left, by job."""

    jobs: list[list[RankFile]]  # each by rank
    lost: list[Started]  # ranks without a file
    unseen: list[str]  # programs that used MPI by none of its MPI_ functions
    refused: list[str]  # the MPIs of ranks for which the library was not built


def collect(folder: Path) -> Left:
    """All that ranks wrote. Those that still run are given a moment to end."""
    here = socket.gethostname()
    deadline = time.monotonic() + _LATE_LOCAL_S
    while time.monotonic() < deadline and any(
        process.host == here and _is_running(process.pid) for process in started(folder)
    ):
        time.sleep(_POLL_S)
    deadline = time.monotonic() + _LATE_REMOTE_S
    while time.monotonic() < deadline and any(
        not (process.host == here or process.is_written or process.error)
        for process in started(folder)
    ):
        time.sleep(_POLL_S)
    files = _read(sorted(folder.glob("rank-*.json")), RankFile)
    unseen = _read(sorted(folder.glob("unseen-*.json")), str)
    refused = _read(sorted(folder.glob("refused-*.json")), str)
    known = {(file.rank, file.host, file.pid) for file in files}
    lost = [
        process
        for process in started(folder)
        if (process.rank, process.host, process.pid) not in known
    ]
    return Left(jobs(files), lost, unseen, refused)


def _is_running(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)
    except psutil.Error:
        return False


def started(folder: Path) -> list[Started]:
    """The ranks that started MPI, by the names of their files."""
    by_key: dict[tuple[str, str, str], Started] = {}
    for path in sorted(folder.glob("rank-*")):
        match = _NAME.fullmatch(path.name)
        if match is None:
            continue
        key = match["rank"], match["host"], match["pid"]
        before = by_key.get(key)
        by_key[key] = Started(
            rank=int(match["rank"]),
            host=match["host"],
            pid=int(match["pid"]),
            is_written=path.suffix == ".json" or (before is not None and before.is_written),
            error=int(match["error"] or 0),
        )
    return list(by_key.values())


def _read(paths: Iterable[Path], kind: type[_File]) -> list[_File]:
    files = []
    for path in paths:
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
            files.append(msgspec.json.decode(text, type=kind, strict=False))
        except (OSError, msgspec.DecodeError):
            continue
    return files


def jobs(files: Sequence[RankFile]) -> list[list[RankFile]]:
    """The files of each job, in the order in which the jobs started.

    A job is known by the launcher's name for it. Where it has none, the ranks of a job have one
    size, start together, and on a node are children of one process.
    """
    groups: list[list[RankFile]] = []
    for file in sorted(files, key=lambda file: (file.loaded_ns, file.rank)):
        job = next((job for job in groups if _belongs(file, job)), None)
        if job is None:
            groups.append([file])
        else:
            job.append(file)
    return [sorted(job, key=lambda file: (file.rank, file.host, file.pid)) for job in groups]


def _belongs(file: RankFile, job: Sequence[RankFile]) -> bool:
    first = job[0]
    if file.job or first.job:
        return file.job == first.job
    if any(file.parent != other.parent for other in job if other.host == file.host):
        return False
    if file.size == 1:
        # Each rank took itself for the only one, or the program was run several times.
        end_ns = min(other.loaded_ns + other.total_ns for other in job)
        return first.size == 1 and file.loaded_ns <= end_ns
    return file.size == first.size and all(file.rank != other.rank for other in job)


def losses(lost: Sequence[Started]) -> Iterator[str]:
    """Why ranks that started MPI left no file."""
    for error in sorted({process.error for process in lost}):
        ranks = named_ranks([process.rank for process in lost if process.error == error])
        if error == 0:
            yield (
                f"{ranks} started MPI and left no file: crashed, or killed, as by MPICH's launcher "
                "where a rank fails"
            )
        else:
            why = os.strerror(error) if error in errno.errorcode else f"error {error}"
            yield f"the counters of {ranks} could not be written: {why}"


def named_ranks(ranks: Sequence[int]) -> str:
    """`ranks 0, 1 and 14 more`"""
    shown = ", ".join(map(str, sorted(ranks)[:_MOST_NAMED]))
    hidden = f" and {len(ranks) - _MOST_NAMED} more" if len(ranks) > _MOST_NAMED else ""
    return f"rank{'' if len(ranks) == 1 else 's'} {shown}{hidden}"


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
    explained = [process for process in left.lost if process.rank in missing]
    yield from losses(explained)
    if silent := sorted(set(missing) - {process.rank for process in explained}):
        yield f"no file from {named_ranks(silent)}: killed, or the folder is not visible there"
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
