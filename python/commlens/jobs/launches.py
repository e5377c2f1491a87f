"""Runs one benchmark, once or for several launches; and several jobs interleaved."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from commlens.base.errors import Status, say, worst
from commlens.jobs.options import Options
from commlens.jobs.record_file import RecordFile
from commlens.jobs.session import Result, Session
from commlens.jobs.spec import JobSpec
from commlens.model import Record
from commlens.render import dftfe, show


def run_benchmark(session: Session, entry: JobSpec) -> int:
    """Runs one benchmark and returns the exit status. Raises CommlensError for bad usage."""
    (job,) = session.jobs([entry])
    if session.settings.dry_run:
        for _ in range(job.launches):
            session.print_command(job, planned_file(session, entry))
        return Status.OK

    def announce(start: int) -> None:
        if job.launches > 1:
            say(f"{entry.benchmark}, start {start} of {job.launches}")

    record_file = session.record_file(entry, several_jobs=job.launches > 1)
    try:
        turns = Turns(session, job, job.launches, lambda _: record_file, announce)
        interruption = take_turns([turns])
    finally:
        record_file.discard_if_empty()
    if interruption:
        return interruption.status
    results = turns.results
    status = worst(result.status for result in results)
    records = [record for result in results for record in result.records]
    print_tables(records, entry.options, wide=session.settings.wide)
    if len(results) > 1 or not results[0].counted:
        record_file.tell([result.kept for result in results])
    return status


@dataclass
class Turns:
    """A job that is launched several times, interleaved with others."""

    session: Session
    job: JobSpec
    launches: int
    file_of: Callable[[int], RecordFile]
    announce: Callable[[int], None]
    results: list[Result] = field(default_factory=list)
    seconds: float = 0.0  # of all its launches so far

    @property
    def is_refused(self) -> bool:
        """Bad usage would be refused again."""
        return bool(self.results) and self.results[-1].status == Status.USAGE

    def run(self, start: int) -> Result:
        self.announce(start)
        began = time.monotonic()
        self.results.append(self.session.run(self.job, self.file_of(start)))
        self.seconds += time.monotonic() - began
        return self.results[-1]


def take_turns(jobs: Sequence[Turns]) -> Result | None:
    """The first start of each job, then the second: A B C A B C, so that drift hits all alike.

    Goes on whatever fails on the way, but for an interruption, which is returned.
    """
    for start in range(1, max(job.launches for job in jobs) + 1):
        for job in jobs:
            if start <= job.launches and not job.is_refused:
                result = job.run(start)
                if result.interrupted:
                    return result
    return None


def planned_file(session: Session, entry: JobSpec) -> Path:
    """Where a dry run says that records would be kept."""
    given = entry.options.text("record")
    return Path(given or session.settings.out / f"{entry.benchmark}-TIME.jsonl")


def is_for_people(options: Options) -> bool:
    """Whether the output is a table; programs read the other formats."""
    return options.text("format") in ("", "table")


def print_tables(records: Sequence[Record], options: Options, *, wide: bool) -> None:
    """The tables of `commlens show`; in the words of DFT-FE the nearest published lines."""
    if options.text("format") == dftfe.FORMAT:
        dftfe.print_published(records)
    if records and is_for_people(options):
        console = show.console()
        console.print()
        show.show(records, console, wide=wide)
