"""What the ranks of a command left in a folder: their files, by job; and what is said of those
without one."""

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
from typing import Generic, NamedTuple, Protocol, TypeVar

import msgspec
import psutil

from commlens.knowledge.secrets import mask_words

# As rank_file.cpp names them: complete, begun, or with the error that kept it from being written.
_NAME = re.compile(
    r"rank-(?P<rank>\d+)-(?P<host>.*)-(?P<pid>\d+)\.json(?:\.(?:part|error-(?P<error>\d+)))?"
)
_LATE_LOCAL_S = 5.0  # how long ranks may outlive their launcher
_LATE_REMOTE_S = 2.0  # and files of other nodes may take to become visible
_POLL_S = 0.05
_MOST_NAMED = 8  # ranks

_Read = TypeVar("_Read")


class WrittenByRank(Protocol):
    """What each file of a rank has, whichever library wrote it."""

    @property
    def rank(self) -> int:
        """In MPI_COMM_WORLD."""

    @property
    def size(self) -> int:
        """Of MPI_COMM_WORLD."""

    @property
    def host(self) -> str:
        """Its node."""

    @property
    def pid(self) -> int:
        """Its process."""

    @property
    def parent(self) -> int:
        """The process that started it."""

    @property
    def job(self) -> str:
        """The launcher's name for the job; empty: it has none."""

    @property
    def loaded_ns(self) -> int:
        """Start of the process, since 1970."""

    @property
    def total_ns(self) -> int:
        """From MPI_Init to its end."""

    @property
    def mpi(self) -> str:
        """The version of the MPI library."""

    @property
    def program(self) -> str:
        """The file that the process runs."""


File = TypeVar("File", bound=WrittenByRank)


class Stamp(NamedTuple):
    """What identifies the record of a job."""

    time: str
    run: str
    command: list[str]

    @classmethod
    def of(cls, command: Sequence[str], job: int) -> Stamp:
        """Of the job with this number among those that the command has started."""
        now = f"{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
        run = f"{now}-{os.uname().nodename}-{os.getpid()}" + (f"-{job + 1}" if job else "")
        # Bytes that are not UTF-8 are replaced.
        words = [word.encode("utf-8", "replace").decode() for word in mask_words(command)]
        return cls(now, run, words)


@dataclass(frozen=True)
class Started:
    """A rank that started MPI."""

    rank: int
    host: str
    pid: int
    is_written: bool
    error: int  # of the system, where its file could not be written


@dataclass(frozen=True)
class Left(Generic[File]):
    """What the ranks of a command left, by job."""

    jobs: list[list[File]]  # each by rank
    lost: list[Started]  # ranks without a file
    unseen: list[str]  # programs that used MPI by none of its MPI_ functions
    refused: list[str]  # the MPIs of ranks for which the library was not built

    def missing(self, job: int) -> list[int]:
        """The ranks of a job of which there is no file."""
        files = self.jobs[job]
        size = max(file.size for file in files)
        return sorted(set(range(size)) - {file.rank for file in files})

    def warnings(self, job: int) -> Iterator[str]:
        """What is to say of the files of a job."""
        files = self.jobs[job]
        if len(self.jobs) > 1:
            program = Path(files[0].program).name
            yield f"job {job + 1} of {len(self.jobs)} that the command started: {program}"
        if len(files) > 1 and all(file.size == 1 for file in files):
            yield (
                f"each of {len(files)} processes ran as the only rank: "
                f"the launcher is not that of the program's MPI ({files[0].mpi})"
            )
        missing = self.missing(job)
        explained = [process for process in self.lost if process.rank in missing]
        yield from losses(explained)
        if silent := sorted(set(missing) - {process.rank for process in explained}):
            yield f"no file from {named_ranks(silent)}: killed, or the folder is not visible there"


def collect(folder: Path, kind: type[File]) -> Left[File]:
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
    files = _read(sorted(folder.glob("rank-*.json")), kind)
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


def _read(paths: Iterable[Path], kind: type[_Read]) -> list[_Read]:
    found = []
    for path in paths:
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
            found.append(msgspec.json.decode(text, type=kind, strict=False))
        except (OSError, msgspec.DecodeError):
            continue
    return found


def jobs(files: Sequence[File]) -> list[list[File]]:
    """The files of each job, in the order in which the jobs started.

    A job is known by the launcher's name for it. Where it has none, the ranks of a job have one
    size, start together, and on a node are children of one process.
    """
    groups: list[list[File]] = []
    for file in sorted(files, key=lambda file: (file.loaded_ns, file.rank)):
        job = next((job for job in groups if _belongs(file, job)), None)
        if job is None:
            groups.append([file])
        else:
            job.append(file)
    return [sorted(job, key=lambda file: (file.rank, file.host, file.pid)) for job in groups]


def _belongs(file: File, job: Sequence[File]) -> bool:
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
