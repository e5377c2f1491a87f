"""The traces of the jobs that a profiled command has started."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from commlens.base import outputs
from commlens.base.errors import CommlensError, say
from commlens.jobs.preload.ranks import Left
from commlens.model.profile import library_name
from commlens.profile.rank_files import RankFile
from commlens.profile.traces import container
from commlens.profile.traces.merge import merged
from commlens.profile.traces.raw import RankTrace, read_rank

KIND = outputs.Kind("a trace", rf"\A{container.MARK.decode()}")
_NAME = re.compile(r"trace-(?P<rank>\d+)-(?P<host>.*)-(?P<pid>\d+)\.raw")


def write_traces(folder: Path, left: Left[RankFile], file: Path) -> Iterator[Path]:
    """One for each job: the first is `file`, the next `file`-2, with the same ending."""
    recorded = dict(_recorded(folder))
    jobs = [
        [recorded.pop(_key(rank)) for rank in job if _key(rank) in recorded] for job in left.jobs
    ]
    libraries = [library_name(job[0].mpi) for job in left.jobs]
    if len(jobs) == 0:  # ranks that were killed have left no counters
        jobs, libraries = [[]], [""]
    jobs[0] += recorded.values() if len(jobs) == 1 else []
    for number, (ranks, library) in enumerate(zip(jobs, libraries), start=1):
        if not ranks:
            continue
        path = file if number == 1 else file.with_name(f"{file.stem}-{number}{file.suffix}")
        outputs.write(path, container.written(merged(ranks, library)), KIND, "--trace")
        for line in _missing(ranks):
            say(f"{path}: {line}")
        yield path


def _key(file: RankFile) -> tuple[str, str, str]:
    return str(file.rank), file.host, str(file.pid)


def _recorded(folder: Path) -> Iterator[tuple[tuple[str, str, str], RankTrace]]:
    for path in sorted(folder.glob("trace-*.raw")):
        match = _NAME.fullmatch(path.name)
        try:
            if match:
                yield (match["rank"], match["host"], match["pid"]), read_rank(path, match["host"])
        except (CommlensError, OSError, ValueError) as error:
            say(f"the trace of a rank is lost: {error}")


def _missing(ranks: Sequence[RankTrace]) -> Iterator[str]:
    """What the trace has not."""
    dropped = sum(rank.dropped for rank in ranks)
    if dropped:
        yield f"{dropped} calls are not in it: of several threads at a time, or there was no room"
    unfinished = sum(not rank.is_complete for rank in ranks)
    if unfinished:
        yield f"{unfinished} of {len(ranks)} ranks did not come to MPI_Finalize: it ends there"
    if len(ranks) < ranks[0].size:
        yield f"{ranks[0].size - len(ranks)} of {ranks[0].size} ranks left no trace"
