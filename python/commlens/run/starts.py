"""Runs one benchmark, once or for several starts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from commlens import show
from commlens.errors import Status, say, worst
from commlens.launch.job import Job
from commlens.launch.options import Options
from commlens.records import Record
from commlens.run import dftfe
from commlens.run.entry import Entry
from commlens.run.record_file import RecordFile
from commlens.run.session import Result, Session


def run_benchmark(session: Session, entry: Entry) -> int:
    """Runs one benchmark and returns the exit status. Raises CommlensError for bad usage."""
    (job,) = session.jobs([entry])
    if session.settings.dry_run:
        for _ in range(entry.starts):
            session.print_command(job, planned_file(session, entry))
        return Status.OK

    def announce(start: int) -> None:
        if entry.starts > 1:
            say(f"{entry.benchmark}, start {start} of {entry.starts}")

    record_file = session.record_file(entry, several_jobs=entry.starts > 1)
    try:
        results = run_starts(session, job, entry.starts, lambda _: record_file, announce)
    finally:
        record_file.discard_if_empty()
    status = worst(result.status for result in results)
    if results[-1].interrupted:
        return results[-1].status
    records = [record for result in results for record in result.records]
    print_tables(records, entry.options, wide=session.settings.wide)
    if len(results) > 1 or not results[0].counted:
        record_file.tell([result.kept for result in results])
    return status


def run_starts(
    session: Session,
    job: Job,
    starts: int,
    file_of: Callable[[int], RecordFile],
    announce: Callable[[int], None],
) -> list[Result]:
    """Launches the whole job so often, whatever fails on the way, but for an interruption and for
    bad usage, which would be refused again."""
    results: list[Result] = []
    for start in range(1, starts + 1):
        announce(start)
        results.append(session.run(job, file_of(start)))
        if results[-1].interrupted or results[-1].status == Status.USAGE:
            break
    return results


def planned_file(session: Session, entry: Entry) -> Path:
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
