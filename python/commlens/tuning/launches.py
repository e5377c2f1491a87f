"""Launches with a choice of settings: what became of each is a line of JSON in a file, from which
an interrupted search goes on."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, NamedTuple

import msgspec
from msgspec.structs import asdict

from commlens.base import inputs
from commlens.base.errors import CommlensError, Status, reason
from commlens.jobs.causes import Result
from commlens.jobs.process import Times
from commlens.jobs.record_file import RecordFile
from commlens.jobs.session import Session
from commlens.jobs.spec import JobSpec, Options
from commlens.model import TIME_METRIC, Record, load
from commlens.model.interference import why_busy
from commlens.model.reading import TRIALS
from commlens.tuning.scores import Slots, SlotValues
from commlens.tuning.space import Change, Choice

JOURNAL = "search.journal"
_LOCK_LIMIT_S = 2.0
OTHER_TRANSPORTS = "other transports"  # a stage

_QUICK = {"no-ceilings": None, "no-parts": None}  # of most trials: only the value is asked for
_MAX_TIME, _MAX_TIME_FINAL = "0.4", "1"  # seconds for each case
# Seconds of a batch of the slowest case: with as many operations as by default, a batch of large
# arrays takes longer than all else. Cases that are faster then need more batches.
_LONGEST_BATCH_S, _LEAST_TIME = 0.3, "0.1"
_STUCK_S = 60.0  # without progress, for the native watchdog, which reports which rank was where
GRACE = 1.5  # that comes first
_SLACK_S = 5.0


class TrialOutcome(NamedTuple):
    """What became of a launch."""

    ending: str  # ok, stopped, wrong, crashed, hung, refused, skipped
    reason: str
    seconds: float


class _Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line of the journal."""

    stage: str  # default, screening, or its purpose: "combination mpi"
    choice: dict[str, str]
    ending: str
    reason: str
    seconds: float


class Launch(_Line, frozen=True, kw_only=True):
    """One launch of the benchmark with a choice of settings."""

    number: int
    file: Path  # its records
    values: SlotValues  # none of a launch that failed
    why_busy: str = ""  # the machine was, with what

    @property
    def is_ok(self) -> bool:
        """Whether it measured everything, with right results."""
        return self.ending == "ok"


class Launches:
    """The launches in a folder, in the order in which they were made."""

    def __init__(self, folder: Path, slots: Slots) -> None:
        """Raises CommlensError for a folder that another search uses or that has no journal."""
        self.folder, self.slots = folder, slots
        self._journal = _claim(folder)
        self.done: list[Launch] = []
        self.others: list[Launch] = []  # of transports that are not tuned
        for line in _lines(self._journal):
            self._keep(line)

    def close(self) -> None:
        """Lets another process continue the search."""
        self._journal.close()

    def find(self, choice: Choice | None = None, stage: str = "") -> list[Launch]:
        """Those with exactly this choice, or with any; of one stage or of all."""
        launches = (launch for launch in self.done if stage in ("", launch.stage))
        return [launch for launch in launches if choice in (None, launch.choice)]

    def add(
        self, stage: str, choice: dict[str, str], measure: Callable[[Path], TrialOutcome]
    ) -> Launch:
        """Makes a launch. Where `measure` raises, as by an interruption, it does not count."""
        file = self._next_file
        file.parent.mkdir(exist_ok=True)
        file.unlink(missing_ok=True)
        line = _Line(stage, choice, *measure(file))
        self._journal.write(msgspec.json.encode(line).decode() + "\n")
        self._journal.flush()
        return self._keep(line)

    def _keep(self, line: _Line) -> Launch:
        file = self._next_file
        has_values = line.ending == "ok" and file.is_file()
        records = load([file]).records if has_values else []
        values = self.slots.values(records) if has_values else {}
        number = len(self.done) + len(self.others)
        busy = next(filter(None, map(why_busy, records)), "")
        launch = Launch(**asdict(line), number=number, file=file, values=values, why_busy=busy)
        (self.others if line.stage == OTHER_TRANSPORTS else self.done).append(launch)
        return launch

    @property
    def _next_file(self) -> Path:
        return self.folder / TRIALS / f"{len(self.done) + len(self.others):04}.jsonl"


def _claim(folder: Path) -> IO[str]:
    """Opens the journal. Until it is closed, or this process ends, no other one can."""
    path = folder / JOURNAL
    if path.exists():  # what has no end, and what waits for somebody, is refused
        inputs.open_input(path, "--resume", "the folder of a search").close()
    try:
        journal = path.open("a+", encoding="utf-8", newline="\n")
    except OSError as error:
        raise CommlensError(f"{path}: the search cannot be kept there ({reason(error)})") from None
    deadline = time.monotonic() + _LOCK_LIMIT_S
    while True:
        try:
            fcntl.flock(journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            # A search that was killed just now: a process that it was about to launch has its lock.
            if time.monotonic() > deadline:
                journal.close()
                raise CommlensError(
                    f"--resume {folder}: this search is running; wait for its end"
                ) from None
            time.sleep(0.05)
        except OSError:
            return journal  # a file system without locks
        else:
            return journal


def _lines(journal: IO[str]) -> list[_Line]:
    """Reads the journal. Half a line, of a process that ended while it wrote, is dropped.

    Raises CommlensError where it is no journal.
    """
    journal.seek(0)
    try:
        text = journal.read()
        whole = text[: text.rfind("\n") + 1]
        if len(whole) < len(text):
            journal.truncate(len(whole.encode()))
        return msgspec.json.decode(f"[{','.join(whole.splitlines())}]", type=list[_Line])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise CommlensError(
            f"{journal.name}: this is no search of this version of commlens ({error})"
        ) from None


class InterruptionError(Exception):
    """By a signal, with which status the command ends."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


@dataclass
class Runner:
    """Launches the benchmark with the user's own options and a change."""

    session: Session
    entry: JobSpec
    _jobs: dict[tuple[str, ...], JobSpec] = field(default_factory=dict)
    _repeat: int | None = None  # operations of a batch; None: as by default

    def run(
        self,
        change: Change,
        file: Path,
        limit_s: float,
        transports: Sequence[str],
        is_bad: Callable[[Sequence[Record]], bool],
        *,
        ceilings: bool = False,
        final: bool = False,
    ) -> TrialOutcome:
        """`final`: with more samples. `is_bad` is asked as records come, and may end the launch.

        Raises InterruptionError.
        """
        began = time.monotonic()
        quick = self._quick(limit_s, ceilings, final)
        try:
            job = self._job(change, quick, {"transport": ",".join(transports)})
        except CommlensError as error:
            return TrialOutcome("refused", str(error), time.monotonic() - began)
        watch = _Watch(file, GRACE * limit_s + _SLACK_S, is_bad)
        result = self.session.run(job, RecordFile(file), why_end=watch)
        if result.interrupted:
            raise InterruptionError(result.status)
        if self._repeat is None:
            self._repeat = _repeat_of(result.records)
        return TrialOutcome(*_ending(result, watch), time.monotonic() - began)

    def _quick(self, limit_s: float, ceilings: bool, final: bool) -> Options:
        """Options with which a launch is short, unless the user has others."""
        quick: dict[str, str | None] = {
            "max-time": _MAX_TIME_FINAL if final else _MAX_TIME,
            "timeout": f"{min(limit_s, _STUCK_S):.0f}",
            **({} if ceilings else _QUICK),
        }
        if self._repeat is not None and "max-time" not in self.entry.options:
            quick.update({"repeat": str(self._repeat), "min-time": _LEAST_TIME})
        return Options(quick)

    def _job(self, change: Change, quick: Options, transport: dict[str, str | None]) -> JobSpec:
        """The native program is asked once for each set of options."""
        options = quick.replaced_by(self.entry.options).replaced_by(transport)
        entry = replace(self.entry, options=options.replaced_by(change.options), launches=1)
        words = tuple(entry.options.words())
        if words not in self._jobs:
            (self._jobs[words],) = self.session.jobs([entry])
        return replace(
            self._jobs[words],
            environment={**entry.environment, **change.environment},
            launcher_arguments=(*entry.launcher_arguments, *change.launcher_arguments),
        )


def _repeat_of(records: Sequence[Record]) -> int | None:
    """As many operations as keep the batches of the slowest case short; None: as by default."""
    measured = [record for record in records if record.measured]
    times = {record.statistics[TIME_METRIC].median * 1e-6: record for record in measured}
    slowest = max(times, default=0.0)
    if not slowest or times[slowest].harness.timing != "batch":
        return None
    is_short = times[slowest].harness.repeat * slowest <= _LONGEST_BATCH_S
    return None if is_short else max(1, int(_LONGEST_BATCH_S / slowest))


@dataclass
class _Watch:
    """Ends a launch that takes too long, or whose first values are clearly bad."""

    file: Path
    limit_s: float
    is_bad: Callable[[Sequence[Record]], bool]
    ending: str = ""
    _size: int = 0

    def __call__(self, times: Times) -> str:
        if times.since_start > self.limit_s:
            self.ending = "hung"
            return f"it did not end within {self.limit_s:.0f} s"
        size = self.file.stat().st_size if self.file.exists() else 0
        has_grown, self._size = size > self._size, size
        if has_grown and self.is_bad(load([self.file]).records):
            self.ending = "stopped"
            return "the first sizes were clearly worse than the default"
        return ""


def _ending(result: Result, watch: _Watch) -> tuple[str, str]:
    """A wrong result counts for more than the status with which the job ended."""
    if watch.ending == "stopped":
        return watch.ending, result.reason
    records = result.records
    wrong = [record for record in records if record.validation.status == "failed"]
    if wrong:
        return "wrong", wrong[0].validation.message or wrong[0].reason or "wrong results"
    if watch.ending or result.status == Status.STALLED:
        return "hung", result.reason
    failed = next((record for record in records if record.status == "failed"), None)
    if failed is not None:
        return "wrong", failed.reason
    if result.status not in (Status.OK, Status.NOTHING_RAN):
        ending = "refused" if result.status == Status.USAGE else "crashed"
        return ending, result.reason or f"it ended with status {result.status}"
    if not any(record.measured for record in records):
        reasons = (record.reason for record in records if record.status == "skipped")
        return "skipped", next(reasons, "") or "nothing was measured"
    return "ok", ""
