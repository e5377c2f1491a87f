"""Whether two measurements differ: the rule behind every `best`, `tie`, `faster` and `slower`.

They differ where the interval of their ratio leaves out 1 and the U test agrees, whose p value is
corrected for the number of cases that are decided together. What the interval is of depends on how
often the job was launched, since launches differ more than samples:

- 5 launches or more on each side: their medians, by ranks (rank_test.py).
- The same launches on both sides, and fewer: within each of them, the intervals of the medians over
  its samples. The two differ where they do so in all of these launches, in the same direction.
- 3 or 4 launches, each side its own: as before for any two of them, and a factor of 2 is allowed
  for on top, as launches of one program may differ by as much.
- 1 or 2 launches, each side its own: nothing can be said.

Launches in which the machine was busy are left out where each side has 3 quiet ones or more; else
nothing can be said.

An interval over samples takes at least 6 of them. What does not differ is a tie where the interval
lies within 3% of 1, and else inconclusive: the measurements do not show which is better.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from enum import Enum
from functools import cached_property
from itertools import product
from statistics import median
from typing import Literal, NamedTuple

from commlens.model import rank_test
from commlens.model.interference import MACHINE_WAS_BUSY, why_busy
from commlens.model.launches import launches_of
from commlens.model.record import Record
from commlens.model.results import Statistic
from commlens.model.start import Metric

THRESHOLD = 0.03  # of a ratio: within it two sides are the same, unless another is asked for
ALLOWANCE = 2.0  # by how much launches of one program may differ
FEWEST_APART = 3  # launches of a side of its own: one may be slow by any factor on a busy machine
Basis = Literal["launches", "samples", "few launches"]
_MOST_SAMPLES = 20_000  # of a start, for a p value


class Ratio(NamedTuple):
    """How many times worse one is than the other, with its interval."""

    value: float
    low: float
    high: float

    @property
    def leaves_out_1(self) -> bool:
        """Whether the interval excludes a ratio of 1."""
        return self.low > 1 or self.high < 1


class Verdict(str, Enum):
    """What a comparison of a case found."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    INCONCLUSIVE = "inconclusive"


_TIES = {Verdict.SAME: "tie", Verdict.INCONCLUSIVE: Verdict.INCONCLUSIVE.value}


def verdict_of(interval: Ratio | None, p_value: float, threshold: float = THRESHOLD) -> Verdict:
    """The one function that decides, by the interval of a ratio and the p value, which is corrected
    where there are several cases."""
    if interval is None:
        return Verdict.INCONCLUSIVE
    if 1 / (1 + threshold) <= interval.low and interval.high <= 1 + threshold:
        return Verdict.SAME
    if interval.leaves_out_1 and p_value < rank_test.DECISION:
        return Verdict.SLOWER if interval.low > 1 else Verdict.FASTER
    return Verdict.INCONCLUSIVE


class Decision(NamedTuple):
    """The verdict on one of several cases."""

    difference: Difference
    verdict: Verdict
    p_value: float  # corrected for their number

    @property
    def tie(self) -> str:
        """Empty where the two differ; else `tie` where they are the same, or `inconclusive`."""
        return _TIES.get(self.verdict, "")

    @property
    def why_tie(self) -> str:
        """`2 and 20 samples: too few`, or of what the intervals overlap."""
        of_all = self.tie and self.difference.differs
        return "not sure among so many cases" if of_all else self.difference.why_tie


def decide(differences: Sequence[Difference], threshold: float = THRESHOLD) -> list[Decision]:
    """The verdicts on the cases of one table, whose p values are corrected for their number."""
    corrected = rank_test.holm([difference.p_value for difference in differences])
    return [
        Decision(difference, difference.decide(p_value, threshold), p_value)
        for difference, p_value in zip(differences, corrected)
    ]


class Difference:
    """Two sides of one case, each measured in one or several launches."""

    def __init__(self, baseline: Sequence[Record], other: Sequence[Record], metric: Metric) -> None:
        # Of each launch the first record, where one has measured the same twice.
        self._sides = tuple(
            {record.start.start: record for record in reversed(side)} for side in (baseline, other)
        )
        self._metric = metric
        self.why_busy = ""
        self._leave_out_busy()

    def _leave_out_busy(self) -> None:
        whys = [why_busy(record) for side in self._sides for record in side.values()]
        if not any(whys):
            return
        if not all(any(record.interference for record in side.values()) for side in self._sides):
            # Which launches of the other program were disturbed is not known: to leave out those of
            # one side would favor it.
            if 2 * sum(map(bool, whys)) > min(self.launches):
                self.why_busy = next(filter(None, whys))
            return
        # What the same launches measured stays in pairs.
        are_pairs = self._sides[0].keys() == self._sides[1].keys()
        busy = {start for side in self._sides for start, record in side.items() if why_busy(record)}
        calm = tuple(
            {
                start: record
                for start, record in side.items()
                if not (start in busy if are_pairs else why_busy(record))
            }
            for side in self._sides
        )
        if min(map(len, calm)) >= FEWEST_APART:
            self._sides = calm
        else:
            self.why_busy = next(filter(None, whys))

    @property
    def launches(self) -> tuple[int, int]:
        """The number of launches of each side."""
        return len(self._sides[0]), len(self._sides[1])

    @property
    def medians(self) -> tuple[float, float]:
        """Of each side the median over those launches that count."""
        before, after = (
            median(self._statistic(record).median for record in side.values())
            for side in self._sides
        )
        return before, after

    @cached_property
    def basis(self) -> Basis:
        """What the interval is of: launches, samples, or samples of too few launches."""
        if min(self.launches) >= rank_test.FEWEST:
            return "launches"
        return "samples" if self._sides[0].keys() == self._sides[1].keys() else "few launches"

    @cached_property
    def ratio(self) -> float | None:
        """How many times worse the other is, by the medians; None where one of them is 0."""
        logs = self.logs
        return _times(rank_test.shift(*logs)) if logs else None

    @cached_property
    def interval(self) -> Ratio | None:
        """The ratio with its interval of 95%; None for too few values, or where one is 0."""
        return self._interval()

    @cached_property
    def verdict(self) -> Verdict:
        """Of this case alone; several together are corrected for their number."""
        return decide([self])[0].verdict

    def decide(self, p_value: float, threshold: float = THRESHOLD) -> Verdict:
        """The verdict with a p value that is corrected for the number of cases."""
        if self.why_busy:
            return Verdict.INCONCLUSIVE
        return verdict_of(self.interval, p_value, threshold)

    @property
    def differs(self) -> bool:
        """Whether one of the two is better."""
        return self.verdict not in _TIES

    @property
    def why_tie(self) -> str:
        """`2 and 20 samples: too few`, or of what the intervals overlap."""
        first, second = self.launches
        if self.why_busy:
            return f"{MACHINE_WAS_BUSY}: {self.why_busy}"
        if self.verdict is Verdict.SAME:
            return f"within {THRESHOLD:.0%}"
        if self.basis == "few launches":
            return f"{first} and {second} launches: too few"
        if self.basis == "launches":
            return f"intervals of {first} and {second} launches overlap"
        if first > 1:
            return f"not in each of {first} launches"
        counts = [self._statistic(record).count for side in self._sides for record in side.values()]
        samples = f"{counts[0]} and {counts[1]} samples"
        return f"{samples}: too few" if self.interval is None else f"intervals of {samples} overlap"

    @cached_property
    def p_value(self) -> float:
        """Of the U test over launches; else over the samples of two, the largest of them."""
        if self.logs and self.basis == "launches":
            return rank_test.u_test(*self.logs)
        sides = [[record.samples.values_s for record in pair] for pair in self._pairs()]
        thinned = [[side[:: max(1, len(side) // _MOST_SAMPLES)] for side in pair] for pair in sides]
        return max((rank_test.u_test(*pair) for pair in thinned), default=1.0)

    @cached_property
    def logs(self) -> tuple[list[float], list[float]] | None:
        """Of the launches' medians: larger is worse. None where one of them has no logarithm."""
        medians = tuple(
            [self._statistic(record).median for record in side.values()] for side in self._sides
        )
        if not all(math.isfinite(value) and value > 0 for side in medians for value in side):
            return None
        sign = 1 if self._metric.better == "lower" else -1
        baseline, other = ([sign * math.log(value) for value in side] for side in medians)
        return (baseline, other) if baseline and other else None

    def _interval(self) -> Ratio | None:
        if self.logs is None or self.ratio is None:
            return None
        if self.basis == "launches":
            return interval_over_launches(*self.logs)
        if self.basis == "few launches" and min(self.launches) < FEWEST_APART:
            return None
        ratios = [
            _ratio_of_samples(self._statistic(baseline), self._statistic(other), self._metric)
            for baseline, other in self._pairs()
        ]
        if not ratios or None in ratios:
            return None
        lows, highs = zip(*filter(None, ratios))
        allowed = 1.0 if self.basis == "samples" else ALLOWANCE
        return Ratio(self.ratio, min(lows) / allowed, max(highs) * allowed)

    def _pairs(self) -> Iterator[tuple[Record, Record]]:
        baseline, other = self._sides
        if self.basis == "samples":
            return ((baseline[start], other[start]) for start in baseline)
        return product(baseline.values(), other.values())

    def _statistic(self, record: Record) -> Statistic:
        return record.statistics[self._metric.name]


def interval_over_launches(
    baseline: Sequence[float], other: Sequence[float], level: float = rank_test.LEVEL
) -> Ratio | None:
    """How many times worse `other` is, from the logarithms of one value per launch.

    With fewer than 5 launches on a side the interval is their range, wider by the factor that
    launches may differ by; with fewer than 3 there is none.
    """
    fewest = min(len(baseline), len(other))
    if fewest < FEWEST_APART:
        return None
    ratio = _times(rank_test.shift(baseline, other))
    if fewest < rank_test.FEWEST:
        low, high = min(other) - max(baseline), max(other) - min(baseline)
        return Ratio(ratio, _times(low) / ALLOWANCE, _times(high) * ALLOWANCE)
    interval = rank_test.shift_interval(baseline, other, level)
    return Ratio(ratio, _times(interval[0]), _times(interval[1])) if interval else None


def _times(log: float) -> float:
    """The ratio; the largest number for one that has no other: absurd records may have it."""
    return math.exp(min(log, math.log(sys.float_info.max)))


def difference(baseline: Record, other: Record, metric: Metric) -> Difference:
    """Of two records, each of one or several launches."""
    return Difference(launches_of(baseline), launches_of(other), metric)


def _ratio_of_samples(
    baseline: Statistic, other: Statistic, metric: Metric
) -> tuple[float, float] | None:
    """The least and the largest ratio that the two intervals allow."""
    low, high = baseline.ci_low, baseline.ci_high
    other_low, other_high = other.ci_low, other.ci_high
    if low is None or high is None or other_low is None or other_high is None:
        return None
    if min(low, other_low) <= 0:
        return None
    if metric.better == "lower":
        return other_low / high, other_high / low
    return low / other_high, high / other_low
