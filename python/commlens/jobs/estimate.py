"""How long a run would take, estimated from earlier launches of the same commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from commlens.base.errors import CommlensError
from commlens.base.text import plural
from commlens.jobs.remaining import launches_take
from commlens.jobs.spec import GPU_OFF, JobSpec
from commlens.model import Record, Start, load

_NEWEST = 100  # files that are read
_MPI_S = 1.0  # the start and the end of a job, which records do not have
_Key = tuple[str, ...]


def estimate(jobs: Sequence[JobSpec], folder: Path) -> str:
    """How long these jobs with all their launches would take, and from which launches that is
    estimated, as a sentence."""
    earlier = _earlier(folder)
    done = [earlier.get(_key(job.program(Path())), []) for job in jobs]
    text = launches_take(done, [job.launches for job in jobs])
    commands = "command" if len(jobs) == 1 else "commands"
    if not text:
        return f"no estimate of the time: {folder} has no launch of the same {commands}"
    count = plural(sum(map(len, done)), "launch")
    others = sum(not seconds for seconds in done)
    like = f"; {others} of {len(jobs)} commands estimated from the others"
    source = f"{count} of the same {commands} in {folder}{like if others else ''}"
    return f"estimated time: {text}, from {source}"


def _earlier(folder: Path) -> dict[_Key, list[float]]:
    """The seconds of each whole launch in the newest files, by its command."""
    files = [file for file in folder.rglob("*.jsonl") if file.is_file()]
    files = sorted(files, key=lambda file: file.stat().st_mtime)[-_NEWEST:]
    found: dict[_Key, list[float]] = {}
    for file in files:
        with suppress(CommlensError, ValueError):  # a file that cannot be read, a time that is none
            for start, last in _whole_launches(load([file]).records):
                took = _moment(last.time) - _moment(start.time)
                found.setdefault(_key(start.command), []).append(took.total_seconds() + _MPI_S)
    return found


def _whole_launches(records: Sequence[Record]) -> Iterator[tuple[Start, Record]]:
    """With the last of their records."""
    by_launch: dict[str, list[Record]] = {}
    for record in records:
        by_launch.setdefault(record.start.start, []).append(record)
    for some in by_launch.values():
        if len(some) == some[0].start.records:
            yield some[0].start, some[-1]


def _key(command: Sequence[str]) -> _Key:
    """Without what differs between launches that take as long: the program's path, the file of
    records, and what a probe has found."""
    left = iter(command[1:])
    ignored = ("--record", f"--{GPU_OFF}")
    return tuple(word for word in left if word not in ignored or next(left, None) is None)


def _moment(time: str) -> datetime:
    return datetime.fromisoformat(time.replace("Z", "+00:00"))
