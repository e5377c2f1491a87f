"""How long something will still take."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from statistics import mean, pstdev

_FEWEST_S = 3.0  # before, nothing is known
_HEAD = 100  # bytes of a line, which say of what it is
_WORTH_S = 10.0  # a wait for less needs no estimate


def time_left(done: float, total: float, seconds: float) -> str:
    """`, about 2 min left`, where this much of the total was done in so many seconds; empty where
    that is not known yet."""
    if done <= 0 or done >= total or seconds < _FEWEST_S:
        return ""
    return f", about {rough_time(seconds * (total - done) / done)} left"


class CasesLeft:
    """How long a running launch still takes, by the cases in the file of records that it writes."""

    def __init__(self, path: Path) -> None:
        self._path, self._began = path, time.monotonic()
        self._offset = path.stat().st_size if path.exists() else 0
        self._done = self._total = 0

    def __call__(self) -> str:
        """As `time_left`; empty for a program that does not say how many records it writes."""
        with suppress(OSError, ValueError), self._path.open("rb") as file:
            file.seek(self._offset)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._offset += len(line)
                if b'"kind":"start"' in line[:_HEAD].replace(b" ", b""):
                    self._total += int(json.loads(line).get("records") or 0)
                else:
                    self._done += 1
        return time_left(self._done, self._total, time.monotonic() - self._began)


def launches_left(done: Sequence[Sequence[float]], left: Sequence[int]) -> str:
    """`, about 2 min left` or `, 2 min to 5 min left`: of jobs, each with the seconds of its
    launches so far and the number of those that are left. Empty where nothing is known, or too
    little is left to wait for."""
    ends = _ends(done, left)
    return f", {_between(ends)} left" if ends and ends[1] >= _WORTH_S else ""


def launches_take(done: Sequence[Sequence[float]], launches: Sequence[int]) -> str:
    """`about 2 min` or `2 min to 5 min`: the same of all launches; empty where nothing is known."""
    ends = _ends(done, launches)
    return _between(ends) if ends else ""


def _ends(done: Sequence[Sequence[float]], left: Sequence[int]) -> tuple[float, float] | None:
    """Of the interval of the time; a job without a launch is taken to be like the others."""
    every = [seconds for of_job in done for seconds in of_job]
    if not every or not any(left):
        return None
    spread = pstdev(every) if len(every) > 1 else 0.0
    total = variance = 0.0
    for of_job, count in zip(done, left):
        total += count * mean(of_job or every)
        # Launches of a job differ less than jobs do.
        variance += count * (pstdev(of_job) if len(of_job) > 1 else 0 if of_job else spread) ** 2
    margin = 2 * math.sqrt(variance)
    return max(total - margin, total / 4), total + margin


def _between(ends: tuple[float, float]) -> str:
    low, high = map(rough_time, ends)
    return f"about {high}" if low == high else f"{low} to {high}"


def rough_time(seconds: float) -> str:
    """`40 s`, `3 min`, `2 h 10 min`: no more digits than an estimate has."""
    if seconds <= 10:
        return f"{math.ceil(seconds)} s"
    if seconds <= 55:
        return f"{5 * math.ceil(seconds / 5)} s"
    minutes = math.ceil(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    minutes = 10 * math.ceil(minutes / 10)
    return f"{minutes // 60} h" + (f" {minutes % 60} min" if minutes % 60 else "")
