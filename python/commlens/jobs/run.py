"""Runs a list of jobs interleaved: the first launch of each, then the second, A B C A B C, so that
drift hits all alike. Returns what was run; printing it is not done here."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from commlens.base.errors import Status, worst
from commlens.base.outputs import reserve
from commlens.jobs.causes import Result
from commlens.jobs.record_file import RecordFile
from commlens.jobs.remaining import launches_left
from commlens.jobs.session import Session
from commlens.jobs.spec import JobSpec
from commlens.model import Record


@dataclass
class JobRun:
    """A job with all its launches, interleaved with others."""

    session: Session
    job: JobSpec
    file_of: Callable[[int], RecordFile]  # for the records of a launch
    announce: Callable[[int, str], None] = lambda _launch, _left: None
    results: list[Result] = field(default_factory=list)
    times_s: list[float] = field(default_factory=list)  # of its launches so far

    @property
    def seconds(self) -> float:
        """Of all its launches so far."""
        return sum(self.times_s)

    @property
    def is_refused(self) -> bool:
        """Whether another launch would end as the last one did: it was bad usage."""
        return bool(self.results) and self.results[-1].status == Status.USAGE

    @property
    def has_failed(self) -> bool:
        """Whether it is refused, or two launches have left no record."""
        return not self.records and (self.is_refused or len(self.results) > 1)

    @property
    def records(self) -> list[Record]:
        """The records of all launches so far."""
        return [record for result in self.results for record in result.records]

    @property
    def status(self) -> int:
        """The worst exit status of its launches."""
        return worst(result.status for result in self.results)

    def run(self, launch: int, left: str) -> Result:
        """Runs the launch of this number, from 1; `left`: how long all launches will still take."""
        self.announce(launch, left)
        began = time.monotonic()
        self.results.append(self.session.run(self.job, self.file_of(launch)))
        self.times_s.append(time.monotonic() - began)
        return self.results[-1]


def interleave(runs: Sequence[JobRun], *, all_needed: bool = False) -> Result | None:
    """Runs all launches of all jobs, whatever fails on the way, but for an interruption, which is
    returned. With `all_needed`, for records that are of no use without those of the others, it ends
    once a job has failed."""
    for index, launch in _order([run.job for run in runs]):
        if all_needed and any(run.has_failed for run in runs):
            return None
        if not runs[index].is_refused:
            result = runs[index].run(launch, _left(runs))
            if result.interrupted:
                return result
    return None


def _left(runs: Sequence[JobRun]) -> str:
    """How long it will still take, as far as the launches so far show."""
    counts = [0 if run.is_refused else run.job.launches - len(run.results) for run in runs]
    return launches_left([run.times_s for run in runs], counts)


def _order(jobs: Sequence[JobSpec]) -> Iterator[tuple[int, int]]:
    """The index of a job and the number of its launch, one after the other."""
    for launch in range(1, max(job.launches for job in jobs) + 1):
        yield from ((index, launch) for index, job in enumerate(jobs) if launch <= job.launches)


@dataclass(frozen=True)
class Ran:
    """What `commlens run` has run."""

    specs: Sequence[JobSpec]  # as they were asked for
    runs: Sequence[JobRun]
    places: Sequence[Path]  # the files and folders of the records
    interruption: Result | None = None
    folder: Path | None = None  # of a suite

    @property
    def results(self) -> list[Result]:
        """Of all launches, job by job."""
        return [result for run in self.runs for result in run.results]

    @property
    def records(self) -> list[Record]:
        """Of all launches, job by job."""
        return [record for run in self.runs for record in run.records]

    @property
    def status(self) -> int:
        """The exit status of the whole."""
        if self.interruption:
            return self.interruption.status
        return worst(result.status for result in self.results)


def run_into_file(
    session: Session, specs: Sequence[JobSpec], titles: Sequence[str] = ()
) -> Ran | None:
    """Runs variants of a benchmark, whose records go into one file; None after a dry run.

    `titles` announce them; without any, launches are announced where there are several. Raises
    CommlensError for bad usage.
    """
    jobs = session.jobs(specs)
    benchmark, given, out = jobs[0].benchmark, specs[0].options.text("record"), session.settings.out
    if session.settings.dry_run:
        planned = Path(given or out / f"{benchmark}-TIME.jsonl")
        for index, _ in _order(jobs):
            session.print_command(jobs[index], planned)
        session.print_estimate(jobs)
        return None
    if given:
        record_file = RecordFile.of_user(Path(given), out)
    else:
        collects = bool(titles) or jobs[0].launches > 1
        record_file = RecordFile(reserve(out, benchmark, ".jsonl"), collects=collects)

    def announce(index: int, launch: int, left: str) -> None:
        if titles or jobs[index].launches > 1:
            title = titles[index] if titles else benchmark
            session.say(f"{title}{_which(jobs[index], launch)}{left}")

    runs = [
        JobRun(session, job, lambda _: record_file, partial(announce, index))
        for index, job in enumerate(jobs)
    ]
    try:
        interruption = interleave(runs)
    finally:
        record_file.discard_if_empty()
    return Ran(specs, runs, [record_file.path], interruption)


def run_suite(session: Session, name: str, specs: Sequence[JobSpec]) -> Ran | None:
    """Runs all of a suite, with a file of records for each launch in a new folder; None after a dry
    run. Raises CommlensError for bad usage."""
    jobs = session.jobs(specs)
    out, is_dry = session.settings.out, session.settings.dry_run
    folder = out / f"{name}-TIME" if is_dry else reserve(out, name)

    def path_of(index: int, launch: int) -> Path:
        job = jobs[index]
        which = f"-launch{launch}" if job.launches > 1 else ""
        path = folder / f"{index + 1:02}-{job.benchmark}{which}.jsonl"
        return Path(job.options.text("record") or path)

    if is_dry:
        for index, launch in _order(jobs):
            session.print_command(jobs[index], path_of(index, launch))
        session.print_estimate(jobs)
        return None

    def file_of(index: int, launch: int) -> RecordFile:
        path = path_of(index, launch)
        return RecordFile(path) if path.parent == folder else RecordFile.of_user(path, out)

    def announce(index: int, launch: int, left: str) -> None:
        which = f"{_which(jobs[index], launch)}{left}"
        # What a program reads has no other lines.
        stream = sys.stdout if specs[index].options.has_tables else sys.stderr
        if not session.settings.silent:
            print(f"\n[{index + 1}/{len(jobs)}] {specs[index]}{which}", file=stream, flush=True)

    runs = [
        JobRun(session, job, partial(file_of, index), partial(announce, index))
        for index, job in enumerate(jobs)
    ]
    given = [Path(text) for job in jobs if (text := job.options.text("record"))]
    return Ran(specs, runs, list(dict.fromkeys(given)) or [folder], interleave(runs), folder)


def _which(job: JobSpec, launch: int) -> str:
    return f", launch {launch} of {job.launches}" if job.launches > 1 else ""
