"""What another transport or setting would save of a program's run, by replays of its trace.

Both replays do the same between the calls, so that they differ by the communication alone. Their
difference is given as a share of the time that the program took when it was recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from commlens.model.comparison import Difference
from commlens.model.record import TIME_METRIC, Record

_REPLAY = "replay"
_FREE = "none"  # the gaps of a replay of communication alone


class Saving(NamedTuple):
    """Shares of the program's run; below 0: it would take longer."""

    value: float
    low: float  # of the interval of 95%
    high: float
    free: float | None = None  # what communication for free would save: the most that there is

    def __str__(self) -> str:
        """`8.1% of the run would be saved (95%: 7.2 to 9.0); with communication for free 61%`"""
        if self.low > 0:
            most = "" if self.free is None else f"; with communication for free {self.free:.0%}"
            return f"{_percent(self)}% of the run would be saved ({_interval(self)}){most}"
        if self.high < 0:
            slower = Saving(-self.value, -self.high, -self.low)
            return f"the run would take {_percent(slower)}% longer ({_interval(slower)})"
        longer, saved = -100 * self.low, 100 * self.high
        return f"the run would take as long (95%: {longer:.1f}% more to {saved:.1f}% less)"


def _percent(saving: Saving) -> str:
    return f"{100 * saving.value:.1f}"


def _interval(saving: Saving) -> str:
    return f"95%: {100 * saving.low:.1f} to {100 * saving.high:.1f}"


def saving(baseline: Sequence[Record], other: Sequence[Record]) -> Saving | None:
    """By replays of both sides, each of one or several launches. None where these are none of a
    whole run, differ in what they do, or have no interval."""
    recorded_s = _recorded_s([*baseline, *other])
    if recorded_s <= 0:
        return None
    difference = Difference(baseline, other, baseline[0].start.metrics[TIME_METRIC])
    ratio = difference.interval
    if ratio is None or difference.why_busy:
        return None
    share = difference.medians[0] * 1e-6 / recorded_s
    value, low, high = (share * (1 - times) for times in (ratio.value, ratio.high, ratio.low))
    free = [record.number("free_communication_saves") for record in baseline]
    bounds = [share * bound for bound in free if bound is not None]
    if not bounds:
        return Saving(value, low, high)
    most = median(bounds)
    # What is above the bound is the error of either measurement.
    return Saving(min(value, most), low, min(high, most), most) if low <= most else None


def _recorded_s(replays: Sequence[Record]) -> float:
    """The time of the program; 0 where they are no replays of its whole run that do the same: of
    communication alone, or with messages of another length."""
    first = replays[0]
    are_alike = len({tuple(record.parameters.items()) for record in replays}) == 1
    is_of_run = first.benchmark == _REPLAY and first.parameters.get("gaps") != _FREE
    if not are_alike or not is_of_run or first.facts.get("bytes_scale", 1) != 1:
        return 0.0
    return first.number("recorded_s") or 0.0
