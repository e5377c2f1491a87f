"""What the ranks of a profiled command left: their files, job by job."""

from __future__ import annotations

import errno
import os
import re
import socket
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from commlens.profile.rank_files import RankFile

# As rank_file.cpp names them: complete, begun, or with the error that kept it from being written.
_NAME = re.compile(
    r"rank-(?P<rank>\d+)-(?P<host>.*)-(?P<pid>\d+)\.json(?:\.(?:part|error-(?P<error>\d+)))?"
)
_LATE_LOCAL_S = 5.0  # how long ranks may outlive their launcher
_LATE_REMOTE_S = 2.0  # and files of other nodes may take to become visible
_POLL_S = 0.05
_MOST_NAMED = 8  # ranks

_File = TypeVar("_File")


@dataclass(frozen=True)
class Started:
    """A rank that started MPI."""

    rank: int
    host: str
    pid: int
    is_written: bool
    error: int  # of the system, where its file could not be written

    @property
    def is_running(self) -> bool:
        """On this machine; a zombie has ended."""
        try:
            state = Path(f"/proc/{self.pid}/stat").read_text(errors="replace")
        except OSError:
            return False
        has_ended = state.rpartition(")")[2].split()[:1] in (["Z"], ["X"])
        return self.host == socket.gethostname() and not has_ended

    @property
    def is_awaited(self) -> bool:
        """Whether its file may become visible: of another node."""
        return not (self.host == socket.gethostname() or self.is_written or self.error)


@dataclass(frozen=True)
class Left:
    """What the ranks of a command left, by job."""

    jobs: list[list[RankFile]]  # each by rank
    lost: list[Started]  # ranks without a file
    unseen: list[str]  # programs that used MPI by none of its MPI_ functions
    refused: list[str]  # the MPIs of ranks for which the library was not built


def collect(folder: Path) -> Left:
    """All that ranks wrote. Those that still run are given a moment to end."""
    deadline = time.monotonic() + _LATE_LOCAL_S
    while any(own.is_running for own in started(folder)) and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    deadline = time.monotonic() + _LATE_REMOTE_S
    while any(own.is_awaited for own in started(folder)) and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    files = _read(sorted(folder.glob("rank-*.json")), RankFile)
    unseen = _read(sorted(folder.glob("unseen-*.json")), str)
    refused = _read(sorted(folder.glob("refused-*.json")), str)
    known = {(file.rank, file.host, file.pid) for file in files}
    lost = [own for own in started(folder) if (own.rank, own.host, own.pid) not in known]
    return Left(jobs(files), lost, unseen, refused)


def started(folder: Path) -> list[Started]:
    """The ranks that started MPI, by the names of their files."""
    found: dict[tuple[str, str, str], Started] = {}
    for path in sorted(folder.glob("rank-*")):
        match = _NAME.fullmatch(path.name)
        if match is None:
            continue
        key = match["rank"], match["host"], match["pid"]
        before = found.get(key)
        found[key] = Started(
            rank=int(match["rank"]),
            host=match["host"],
            pid=int(match["pid"]),
            is_written=path.suffix == ".json" or (before is not None and before.is_written),
            error=int(match["error"] or 0),
        )
    return list(found.values())


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
    found: list[list[RankFile]] = []
    for file in sorted(files, key=lambda file: (file.loaded_ns, file.rank)):
        job = next((job for job in found if _belongs(file, job)), None)
        if job is None:
            found.append([file])
        else:
            job.append(file)
    return [sorted(job, key=lambda file: (file.rank, file.host, file.pid)) for job in found]


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
    for error in sorted({own.error for own in lost}):
        ranks = named_ranks([own.rank for own in lost if own.error == error])
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
