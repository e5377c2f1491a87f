"""One launch with a choice of settings, and what became of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from commlens.base.errors import CommlensError, Status
from commlens.jobs.explain import Result
from commlens.jobs.process import Times
from commlens.jobs.record_file import RecordFile
from commlens.jobs.session import Session
from commlens.jobs.spec import JobSpec, Options
from commlens.model import TIME_METRIC, Record, load
from commlens.tuning.launches import TrialOutcome
from commlens.tuning.space import Change

_QUICK = {"no-ceilings": None, "no-parts": None}  # of most trials: only the value is asked for
_MAX_TIME, _MAX_TIME_FINAL = "0.4", "1"  # seconds for each case
# Seconds of a batch of the slowest case: with as many operations as by default, a batch of large
# arrays takes longer than all else. Cases that are faster then need more batches.
_LONGEST_BATCH_S, _LEAST_TIME = 0.3, "0.1"
_STUCK_S = 60.0  # without progress, for the native watchdog, which reports which rank was where
GRACE = 1.5  # that comes first
_SLACK_S = 5.0


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
    times = {one.statistics[TIME_METRIC].median * 1e-6: one for one in records if one.measured}
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
        if self._has_grown() and self.is_bad(load([self.file]).records):
            self.ending = "stopped"
            return "the first sizes were clearly worse than the default"
        return ""

    def _has_grown(self) -> bool:
        size = self.file.stat().st_size if self.file.exists() else 0
        has_grown, self._size = size > self._size, size
        return has_grown


def _ending(result: Result, watch: _Watch) -> tuple[str, str]:
    """A wrong result counts for more than the status with which the job ended."""
    if watch.ending == "stopped":
        return watch.ending, result.reason
    records = result.records
    wrong = [one for one in records if one.validation.status == "failed"]
    if wrong:
        return "wrong", wrong[0].validation.message or wrong[0].reason or "wrong results"
    if watch.ending or result.status == Status.STALLED:
        return "hung", result.reason
    failed = next((one for one in records if one.status == "failed"), None)
    if failed is not None:
        return "wrong", failed.reason
    if result.status not in (Status.OK, Status.NOTHING_RAN):
        ending = "refused" if result.status == Status.USAGE else "crashed"
        return ending, result.reason or f"it ended with status {result.status}"
    if not any(one.measured for one in records):
        reasons = (one.reason for one in records if one.status == "skipped")
        return "skipped", next(reasons, "") or "nothing was measured"
    return "ok", ""
