"""Runs a suite: a job for each start of each entry, then a summary and pictures."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from commlens import show
from commlens.errors import Status, say, status_text, worst
from commlens.launch.job import Job
from commlens.launch.options import Options
from commlens.records import Record
from commlens.results import reserve_folder
from commlens.run.entry import Entry, Overrides
from commlens.run.record_file import RecordFile
from commlens.run.session import Result, Session
from commlens.run.starts import print_tables, run_starts
from commlens.run.suite import Suite


def run_suite(session: Session, suite: Suite, overrides: Overrides) -> int:
    """Runs all of a suite, whatever fails on the way, and returns the worst status. Raises
    CommlensError for bad usage."""
    entries = [overrides.applied_to(entry) for entry in suite.entries]
    jobs = session.jobs(entries)
    if session.settings.dry_run:
        _print_commands(session, suite, entries, jobs)
        return Status.OK
    run = _SuiteRun(session, suite.name, len(entries))
    for entry, job in zip(entries, jobs):
        results = run.run(entry, job)
        if results[-1].interrupted:
            return results[-1].status
    return run.finish(overrides.options)


class _SuiteRun:
    """A suite on its way: its folder, and what its entries have given."""

    def __init__(self, session: Session, name: str, entries: int) -> None:
        self._session = session
        self._entries = entries
        self._folder = reserve_folder(session.settings.out, name)
        self._statuses: list[int] = []
        self._records: list[Record] = []
        self._elsewhere: dict[Path, None] = {}  # files of records that the user has named
        self._summary = _table("benchmark", "options", "records", "seconds", "status")

    def run(self, entry: Entry, job: Job) -> list[Result]:
        """All starts of the next entry."""
        number, began = len(self._statuses) + 1, time.monotonic()

        def announce(start: int) -> None:
            which = f", start {start} of {entry.starts}" if entry.starts > 1 else ""
            title = f"[{number}/{self._entries}] {job.benchmark} {shlex.join(_words(entry))}"
            print(f"\n{title}{which}", flush=True)

        results = run_starts(
            self._session,
            job,
            entry.starts,
            lambda start: self._record_file(entry, number, start),
            announce,
        )
        records = [record for result in results for record in result.records]
        self._records += records
        self._statuses.append(worst(result.status for result in results))
        self._summary.add_row(
            entry.benchmark,
            Text(shlex.join(_words(entry))),
            str(len(records)),
            f"{time.monotonic() - began:.1f}",
            _colored(self._statuses[-1]),
        )
        return results

    def finish(self, options: Options) -> int:
        """Prints the summary, draws, and says where everything is; the status of the whole."""
        show.console().print("", self._summary, "", sep="\n")
        if self._session.settings.wide:
            print_tables(self._records, options, wide=True)
        if not self._records:
            say(f"no record was written, so there is no picture in {self._folder}")
            return worst(self._statuses)
        places = list(self._elsewhere) or [self._folder]
        print(f"records:  {' '.join(map(str, places))}")
        _draw(self._records, self._folder)
        print(f"tables:   commlens show {shlex.join(map(str, places))}")
        return worst(self._statuses)

    def _record_file(self, entry: Entry, number: int, start: int) -> RecordFile:
        """Each start has a file of its own in the suite's folder, unless the user names another."""
        if given := entry.options.text("record"):
            self._elsewhere[Path(given)] = None
            return RecordFile.of_user(Path(given), self._session.settings.out)
        return RecordFile(self._folder / _file_name(entry, f"{number:02}", start))


def _file_name(entry: Entry, number: str, start: int) -> str:
    which = f"-start{start}" if entry.starts > 1 else ""
    return f"{number}-{entry.benchmark}{which}.jsonl"


def _print_commands(
    session: Session, suite: Suite, entries: Sequence[Entry], jobs: Sequence[Job]
) -> None:
    folder = session.settings.out / f"{suite.name}-TIME"
    for number, (entry, job) in enumerate(zip(entries, jobs), start=1):
        for start in range(1, entry.starts + 1):
            given = entry.options.text("record")
            file = Path(given) if given else folder / _file_name(entry, f"{number:02}", start)
            session.print_command(job, file)


def _words(entry: Entry) -> list[str]:
    """What is particular to the entry, as `commlens run` takes it."""
    ranks = ["--ranks", str(entry.ranks)] if entry.ranks else []
    variables = [word for item in entry.environment.items() for word in ("--env", "=".join(item))]
    own = shlex.join(entry.launcher_arguments)
    return [*entry.options.words(), *ranks, *variables, *(["--launcher-args", own] if own else [])]


def _draw(records: Sequence[Record], folder: Path) -> None:
    """An overview, and a picture for each benchmark that was measured; prints where they are."""
    try:
        from commlens import plot  # here, as loading matplotlib takes longer than many a command
    except ModuleNotFoundError as error:
        if str(error.name).startswith("commlens"):
            raise
        say(f"there are no pictures: Python has no {error.name}")
        return
    measured = [record for record in records if record.measured]
    for name in dict.fromkeys(["overview", *(record.benchmark for record in measured)]):
        chosen = [record for record in measured if name in ("overview", record.benchmark)]
        if chosen:
            for picture in plot.plot(chosen, folder / f"{name}.png").pictures:
                print(f"picture:  {picture}")


def _table(*columns: str) -> Table:
    return Table(*columns, box=None, pad_edge=False, padding=(0, 3, 0, 0))


def _colored(status: int) -> Text:
    return Text(status_text(status), style="green" if status == Status.OK else "red")
