"""Ends a job that does not start, or that shows no activity any more.

A rank that makes no progress is the business of the native program's own watchdog (`--timeout`),
which reports which rank was where. That cannot look before MPI has started the ranks, and not where
they are stopped; this can.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from commlens.jobs import causes
from commlens.jobs.process import Times
from commlens.jobs.spec import Options

_LIMIT_S = 120.0
_LEAST_S = 30.0  # MPI takes its time to start; and ranks that live report every ten seconds


@dataclass
class Watchdog:
    """Watches a job: called all the time, it gives the reason to end it, or an empty text."""

    record_file: Path  # its first line is written when all ranks have started
    limit_s: float | None
    may_wait: bool = False  # for its start, as in the queue of a resource manager
    _has_started: bool = False

    def __call__(self, times: Times) -> str:
        """Why the job is to be ended; empty: it goes on."""
        self._has_started = self._has_started or self._is_written()
        if self.limit_s is None:
            return ""
        if self._has_started and times.since_output > self.limit_s:
            return causes.of_job("no-activity", limit=f"{self.limit_s:g}")
        if not self._has_started and times.since_start > self.limit_s and not self.may_wait:
            return causes.of_job("not-started", limit=f"{self.limit_s:g}")
        return ""

    def _is_written(self) -> bool:
        with suppress(OSError):
            return self.record_file.stat().st_size > 0
        return False


def limit_of(options: Options) -> float | None:
    """The limit of `--timeout`, if it is not too short for a launch; None: never."""
    given = options.text("timeout")
    if not given:
        return _LIMIT_S
    return max(float(given), _LEAST_S) if float(given) > 0 else None
