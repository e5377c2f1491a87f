"""Runs a suite: a job for each start of each entry, then a summary and pictures."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from commlens.base.errors import Status, say, status_text, worst
from commlens.base.outputs import reserve_folder
from commlens.jobs.launches import Turns, print_tables, take_turns
from commlens.jobs.options import Options
from commlens.jobs.record_file import RecordFile
from commlens.jobs.session import Session
from commlens.jobs.spec import JobSpec
from commlens.jobs.suite import Suite
from commlens.model import Record
from commlens.render import show


def run_suite(session: Session, suite: Suite, overrides: JobSpec) -> int:
    """Runs all of a suite, whatever fails on the way, and returns the worst status. Raises
    CommlensError for bad usage."""
    entries = [entry.overridden_by(overrides) for entry in suite.entries]
    jobs = session.jobs(entries)
    if session.settings.dry_run:
        _print_commands(session, suite, entries, jobs)
        return Status.OK
    run = _SuiteRun(session, suite.name, entries, jobs)
    interruption = take_turns(run.turns)
    return interruption.status if interruption else run.finish(overrides.options)


class _SuiteRun:
    """A suite on its way: its folder, and what its entries have given."""

    def __init__(
        self, session: Session, name: str, entries: Sequence[JobSpec], jobs: Sequence[JobSpec]
    ) -> None:
        self._session = session
        self._entries = entries
        self._folder = reserve_folder(session.settings.out, name)
        self._elsewhere: dict[Path, None] = {}  # files of records that the user has named
        self.turns = [
            self._turns(entry, job, number)
            for number, (entry, job) in enumerate(zip(entries, jobs), start=1)
        ]

    def _turns(self, entry: JobSpec, job: JobSpec, number: int) -> Turns:
        def announce(start: int) -> None:
            which = (
                f", start {start} of {max(1, entry.launches)}" if max(1, entry.launches) > 1 else ""
            )
            title = f"[{number}/{len(self._entries)}] {job.benchmark} {shlex.join(_words(entry))}"
            print(f"\n{title}{which}", flush=True)

        def file_of(start: int) -> RecordFile:
            return self._record_file(entry, number, start)

        return Turns(self._session, job, max(1, entry.launches), file_of, announce)

    def finish(self, options: Options) -> int:
        """Prints the summary, draws, and says where everything is; the status of the whole."""
        results = [result for own in self.turns for result in own.results]
        records = [record for result in results for record in result.records]
        status = worst(result.status for result in results)
        show.console().print("", self._summary(), "", sep="\n")
        if self._session.settings.wide:
            print_tables(records, options, wide=True)
        if not records:
            say(f"no record was written, so there is no picture in {self._folder}")
            return status
        places = list(self._elsewhere) or [self._folder]
        print(f"records:  {' '.join(map(str, places))}")
        _draw(records, self._folder)
        print(f"tables:   commlens show {shlex.join(map(str, places))}")
        return status

    def _summary(self) -> Table:
        summary = _table("benchmark", "options", "launches", "records", "seconds", "status")
        for entry, own in zip(self._entries, self.turns):
            summary.add_row(
                entry.benchmark,
                Text(shlex.join(_words(entry))),
                str(len(own.results)),
                str(sum(len(result.records) for result in own.results)),
                f"{own.seconds:.1f}",
                _colored(worst(result.status for result in own.results)),
            )
        return summary

    def _record_file(self, entry: JobSpec, number: int, start: int) -> RecordFile:
        """Each start has a file of its own in the suite's folder, unless the user names another."""
        if given := entry.options.text("record"):
            self._elsewhere[Path(given)] = None
            return RecordFile.of_user(Path(given), self._session.settings.out)
        return RecordFile(self._folder / _file_name(entry, f"{number:02}", start))


def _file_name(entry: JobSpec, number: str, start: int) -> str:
    which = f"-start{start}" if max(1, entry.launches) > 1 else ""
    return f"{number}-{entry.benchmark}{which}.jsonl"


def _print_commands(
    session: Session, suite: Suite, entries: Sequence[JobSpec], jobs: Sequence[JobSpec]
) -> None:
    folder = session.settings.out / f"{suite.name}-TIME"
    for start in range(1, max(max(1, entry.launches) for entry in entries) + 1):
        for number, (entry, job) in enumerate(zip(entries, jobs), start=1):
            if start > max(1, entry.launches):
                continue
            given = entry.options.text("record")
            file = Path(given) if given else folder / _file_name(entry, f"{number:02}", start)
            session.print_command(job, file)


def _words(entry: JobSpec) -> list[str]:
    """What is particular to the entry, as `commlens run` takes it."""
    ranks = ["--ranks", str(entry.ranks)] if entry.ranks else []
    variables = [word for item in entry.environment.items() for word in ("--env", "=".join(item))]
    own = shlex.join(entry.launcher_arguments)
    return [*entry.options.words(), *ranks, *variables, *(["--launcher-args", own] if own else [])]


def _draw(records: Sequence[Record], folder: Path) -> None:
    """An overview, and a picture for each benchmark that was measured; prints where they are."""
    try:
        from commlens.render import plots as plot
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
