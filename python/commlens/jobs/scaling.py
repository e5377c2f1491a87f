"""Runs one benchmark on several numbers of ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from commlens.base.errors import Status, say, status_text, worst
from commlens.base.text import plural
from commlens.jobs.launches import Turns, is_for_people, planned_file, take_turns
from commlens.jobs.session import Session
from commlens.jobs.spec import JobSpec
from commlens.model import Record, groups, over_launches
from commlens.model.scaling import scalings
from commlens.render import dftfe, show


def run_scaling(session: Session, entry: JobSpec, counts: Sequence[int]) -> int:
    """Runs a benchmark on each number of ranks, whatever fails on the way, and returns the worst
    status.

    Each is a job of its own; all records go into one file. Raises CommlensError for bad usage.
    """
    jobs = session.jobs([replace(entry, ranks=count) for count in counts])
    if session.settings.dry_run:
        for job in jobs:
            session.print_command(job, planned_file(session, entry))
        return Status.OK
    record_file = session.record_file(entry, several_jobs=True)

    def turns(number: int, job: JobSpec) -> Turns:
        place = f"[{number}/{len(jobs)}] {entry.benchmark} on {plural(job.ranks, 'rank')}"

        def announce(start: int) -> None:
            say(place if job.launches == 1 else f"{place}, start {start} of {job.launches}")

        return Turns(session, job, job.launches, lambda _: record_file, announce)

    all_turns = [turns(number, job) for number, job in enumerate(jobs, start=1)]
    try:
        interruption = take_turns(all_turns)
    finally:
        record_file.discard_if_empty()
    if interruption:
        return interruption.status
    for own in all_turns:
        status = worst(result.status for result in own.results)
        if status != Status.OK and not any(result.records for result in own.results):
            say(f"{plural(own.job.ranks, 'rank')}: {status_text(status)}, and no record to show")
    results = [result for own in all_turns for result in own.results]
    records = [record for result in results for record in result.records]
    if entry.options.text("format") == dftfe.FORMAT:
        dftfe.print_published(records)
    if records and is_for_people(entry.options):
        _print(records)
    record_file.tell([result.kept for result in results])
    return worst(result.status for result in results)


def _print(records: Sequence[Record]) -> None:
    """What the records say by ranks."""
    console = show.console()
    for scaling in scalings(groups(over_launches(records)), fewest=1):
        console.print()
        show.show_scaling(scaling, console)
