"""`commlens run`: from a benchmark or a suite and its options to records, pictures and an exit status."""

from __future__ import annotations

import os
import re
import shlex
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from commlens import launchers, noise, probe, results, scaling, show, suite
from commlens.errors import CommlensError, Status, worst
from commlens.launch import Outcome, run_job
from commlens.native import Native
from commlens.records import cases, load
from commlens.text import plural

_GPU_OFF = "--gpu-aware-mpi-off"

# Lines of the native program that say how it goes, not why it ended.
_NO_REASON = re.compile(r"commlens: warning\b")

_STATUSES = {
    Status.OK: "ok",
    Status.FAILED: "failed",
    Status.USAGE: "bad usage",
    Status.STALLED: "stalled",
    Status.NOTHING_RAN: "skipped",
}


@dataclass(frozen=True)
class Settings:
    """The options of `commlens run` itself."""

    ranks: int | None
    launcher: str
    launcher_arguments: Sequence[str]
    out: Path
    dry_run: bool
    use_probe: bool


@dataclass(frozen=True)
class Result:
    status: int
    interrupted: bool = False
    counted: bool = False  # the user was told how many records were kept


def say(message: str) -> None:
    """One line to the user; the standard output belongs to the native program."""
    print(f"commlens: {message}", file=sys.stderr, flush=True)


class Runner:
    """Runs benchmarks of one native program with one launcher; the probe is made once."""

    def __init__(self, native: Native, settings: Settings) -> None:
        self.native = native
        self._settings = settings
        self._launcher = launchers.choose(settings.launcher, native)
        self._verdict: probe.Verdict | None = None

    def run_benchmark(self, name: str, options: Sequence[str]) -> int:
        """Runs one benchmark and returns the exit status. Raises CommlensError for bad usage."""
        self.native.benchmark(name)
        given = _record_option(options)
        self.ranks(name, options)  # a number that cannot be is found before a file is made
        if self._settings.dry_run:
            record_file = Path(given or self._settings.out / f"{name}-TIME.jsonl")
            print(shlex.join(self._command(name, options, record_file, ranks=None)))
            return Status.OK
        record_file = Path(given) if given else results.reserve_record_file(self._settings.out, name)
        before = results.record_count(record_file)
        try:
            result = self._run(name, options, record_file, ranks=None)
        finally:
            if not given:
                results.discard_if_empty(record_file)
        written = results.record_count(record_file) - before
        if written and not result.counted:
            say(f"{plural(written, 'record')} in {record_file}")
        return result.status

    def run_scaling(self, name: str, options: Sequence[str], counts: Sequence[int]) -> int:
        """Runs one benchmark on each number of ranks, whatever fails on the way, and returns the worst status.

        Each is a start of its own; all records go into one file. Raises CommlensError for bad usage.
        """
        self.native.benchmark(name)
        given = _record_option(options)
        if self._settings.dry_run:
            record_file = Path(given or self._settings.out / f"{name}-TIME.jsonl")
            for count in counts:
                print(shlex.join(self._command(name, options, record_file, count)))
            return Status.OK
        record_file = Path(given) if given else results.reserve_record_file(self._settings.out, name)
        before, statuses = results.record_count(record_file), list[int]()
        try:
            for number, count in enumerate(counts, start=1):
                say(f"[{number}/{len(counts)}] {name} on {plural(count, 'rank')}")
                already = results.record_count(record_file)
                result = self._run(name, options, record_file, count, most_ranks=max(counts))
                if result.interrupted:
                    return result.status
                statuses.append(result.status)
                if result.status != Status.OK and results.record_count(record_file) == already:
                    say(f"{plural(count, 'rank')}: {_STATUSES.get(Status(result.status))}, and no record to show")
        finally:
            if not given:
                results.discard_if_empty(record_file)
        written = results.record_count(record_file) - before
        if written:
            _print_scaling(record_file, before, suite.parse_options(options).get("format", "table"))
            say(f"{plural(written, 'record')} in {record_file}")
        return worst(statuses)

    def run_suite(self, wanted: suite.Suite, options: Sequence[str]) -> int:
        """Runs all of a suite, whatever fails on the way, and returns the worst status.

        `options` replace those of the entries. Raises CommlensError for bad usage.
        """
        suite.check(wanted, self.native)
        for entry in wanted.entries:
            words = suite.arguments(entry.options, options)
            _record_option(words)
            self.ranks(entry.benchmark, words, entry.ranks)
        if self._settings.dry_run:
            for entry in wanted.entries:
                record_file = self._settings.out / f"{wanted.name}-TIME" / "records.jsonl"
                words = suite.arguments(entry.options, options)
                print(shlex.join(self._command(entry.benchmark, words, record_file, entry.ranks)))
            return Status.OK
        folder = results.reserve_folder(self._settings.out, wanted.name)
        record_file = folder / "records.jsonl"
        summary = Table(
            "benchmark", "options", "records", "seconds", "status", box=None, pad_edge=False, padding=(0, 3, 0, 0)
        )
        statuses: list[int] = []
        for number, entry in enumerate(wanted.entries, start=1):
            words = suite.arguments(entry.options, options)
            title = f"[{number}/{len(wanted.entries)}] {entry.benchmark} {shlex.join(words)}"
            print(f"\n{title}", flush=True)
            before, started = results.record_count(record_file), time.monotonic()
            result = self._run(entry.benchmark, words, record_file, entry.ranks)
            if result.interrupted:
                return result.status
            statuses.append(result.status)
            summary.add_row(
                entry.benchmark,
                Text(shlex.join(words)),
                str(results.record_count(record_file) - before),
                f"{time.monotonic() - started:.1f}",
                _status_text(result.status),
            )
        Console().print("", summary, "", sep="\n")
        return worst([*statuses, _draw_pictures(folder, record_file)])

    def ranks(self, name: str, options: Sequence[str], in_suite: int | None = None) -> int:
        """As asked for, or as the suite says; else two a pair for a benchmark of pairs, or one a GPU, two at least.

        Raises CommlensError for more pairs than can be.
        """
        if self._settings.ranks or in_suite:
            return self._settings.ranks or in_suite or 0
        benchmark, about = self.native.benchmark(name), self.native.about
        pairs = suite.parse_options(options).get("pairs") or benchmark.default("pairs")
        if pairs is not None:
            number = int(pairs) if pairs.isdecimal() else 0
            if 2 * number > launchers.MOST_RANKS:
                raise CommlensError(
                    f"--pairs {pairs}: a pair is two ranks, and more than {launchers.MOST_RANKS:,} cannot be started"
                )
            return 2 * max(number, 1)
        return max(2, about.gpus) if about.has_gpu else 2

    def _command(self, benchmark: str, options: Sequence[str], record_file: Path, ranks: int | None) -> list[str]:
        # Ours come first: an option of the user's that lacks its value must not take one of them for it.
        record = [] if "record" in suite.parse_options(options) else ["--record", str(record_file)]
        program = [str(self.native.path), benchmark, *record, *options]
        return self._launcher.command(
            self.ranks(benchmark, options, ranks),
            program,
            self._settings.launcher_arguments,
            with_gpus=self.native.about.has_gpu,
        )

    def _run(
        self,
        benchmark: str,
        options: Sequence[str],
        record_file: Path,
        ranks: int | None,
        most_ranks: int | None = None,
    ) -> Result:
        """One job. What goes wrong in it is said here, in one line unless the native program has said it already.

        `most_ranks` are those of the largest job to come, for which the probe is to speak too.
        """
        if self._settings.use_probe and probe.is_needed(self.native, suite.parse_options(options)):
            interrupted = self._probe(most_ranks or self.ranks(benchmark, options, ranks))
            if interrupted:
                say("interrupted while MPI was tried with GPU memory; no record was written")
                return Result(128 + interrupted, interrupted=True, counted=True)
            assert self._verdict is not None
            if self._verdict.fitness is probe.Fitness.BROKEN:
                return Result(Status.FAILED)
            if self._verdict.fitness is probe.Fitness.UNFIT:
                options = [_GPU_OFF, self._verdict.sentence, *options]
        before = results.record_count(record_file)
        output = noise.OutputFilter(_writer(sys.stdout.buffer))
        error = noise.ErrorFilter(_writer(sys.stderr.buffer))
        outcome = run_job(self._command(benchmark, options, record_file, ranks), os.environ, output.feed, error.feed)
        output.finish()
        error.finish()
        if outcome.interrupted:
            name = signal.Signals(outcome.interrupted).name
            say(f"interrupted by {name}; {results.kept(record_file, before)}")
            return Result(128 + outcome.interrupted, interrupted=True, counted=True)
        if outcome.status == 0:
            return Result(Status.OK)
        return self._explain(outcome, output, error, record_file, before)

    def _explain(
        self,
        outcome: Outcome,
        output: noise.OutputFilter,
        error: noise.ErrorFilter,
        record_file: Path,
        before: int,
    ) -> Result:
        """Says why a job failed where the native program has not, and turns its status into one of ours."""
        launcher_said = "\n".join(error.held + output.held)
        death, departure = noise.death(launcher_said, outcome.status), noise.departure(launcher_said)
        has_said = any(line.startswith("commlens: ") and not _NO_REASON.match(line) for line in error.lines)
        # A launcher's status may be the number of the signal that a rank died of: then it is none of ours.
        is_ours = outcome.status in list(Status) and (death is None or (has_said and death.signal != outcome.status))
        status = outcome.status if is_ours else Status.FAILED
        if has_said or (death is None and not departure and _records_tell(record_file, before)):
            return Result(status)
        ending = noise.ending(launcher_said)
        if (
            ending
            and not departure
            and (ending.signal == death.signal if death else all(map(noise.ending, error.held)))
        ):
            print(ending.line, file=sys.stderr, flush=True)
            return Result(status)
        failed_start = probe.explain_failed_start(
            "\n".join([*error.lines, launcher_said]),
            self.native.about.mpi,
            launchers.settings(self._settings.launcher_arguments),
        )
        if failed_start:
            say(failed_start)
            return Result(status)
        if death or departure:
            say(f"{death or departure}; {results.kept(record_file, before)}")
        else:
            for line in error.held + output.held:
                print(line, file=sys.stderr)
            program = Path(self._launcher.program).name
            say(f"{program} ended with status {outcome.status}; {results.kept(record_file, before)}")
        return Result(status, counted=True)

    def _probe(self, ranks: int) -> int | None:
        """Makes the probe unless it was made before, says what it found, and returns the signal that ended it."""
        if self._verdict is not None:
            return None
        self._verdict, outcome = probe.run_probe(
            self._launcher, self._settings.launcher_arguments, self.native, min(ranks, 2)
        )
        if self._verdict.sentence and not outcome.interrupted:
            say(self._verdict.sentence)
        return outcome.interrupted


def _writer(stream: BinaryIO) -> Callable[[bytes], None]:
    def write(data: bytes) -> None:
        stream.write(data)
        stream.flush()

    return write


def _records_tell(record_file: Path, skip: int) -> bool:
    """Whether the records after the first `skip` tell what failed or was skipped, as the program's table then does."""
    records = load([record_file]).records if results.is_file(record_file) else []
    return any(record.status != "ok" for record in records[skip:])


def _record_option(options: Sequence[str]) -> str | None:
    """The user's own file of records, if there is one. Raises CommlensError where its name is missing."""
    given = suite.parse_options(options).get("record")
    if given == "":
        raise CommlensError("--record '': name a file")
    return given


def _status_text(status: int) -> Text:
    return Text(_STATUSES.get(Status(status), str(status)), style="green" if status == Status.OK else "red")


def _print_scaling(record_file: Path, skip: int, output_format: str) -> None:
    """What the records after the first `skip` say by ranks; not amid other formats, which programs read."""
    if output_format != "table" or not results.is_file(record_file):
        return
    for found in scaling.scalings(cases(load([record_file]).records[skip:]), fewest=1):
        show.console().print("", scaling.table(found), sep="\n")


def _draw_pictures(folder: Path, record_file: Path) -> int:
    """An overview, and a picture for each benchmark that was measured; prints where they are."""
    from commlens import plot  # here, as loading matplotlib takes longer than many a command

    if not record_file.exists():
        say(f"no record was written, so there is no picture in {folder}")
        return Status.OK
    loaded = load([record_file])
    measured = [record for record in loaded.records if record.measured]
    print(f"records:  {record_file}")
    for name in dict.fromkeys(["overview", *(record.benchmark for record in measured)]):
        chosen = [record for record in measured if name in ("overview", record.benchmark)]
        if chosen:
            picture = folder / f"{name}.png"
            plot.plot(chosen, picture)
            print(f"picture:  {picture}")
    for problem in loaded.problems:
        say(problem)
    return Status.FAILED if loaded.problems else Status.OK
