"""A verdict on each case, corrected for how many cases there are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import median

from commlens.compare.matching import Case, Matched
from commlens.model import Record
from commlens.model.comparison import Basis, Difference, Ratio
from commlens.model.rank_test import DECISION, fewest_for, holm, launches_to_decide

THRESHOLD = 0.03  # of a ratio: within it two sides are the same, unless another is asked for
_MOST_LAUNCHES = 100  # that anybody would wait for
_STEP = (
    4  # few launches do not show how many are needed: the next time at most so many times as many
)


class Verdict(str, Enum):
    """What a comparison of a case found."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class Row:
    """One case with its verdict."""

    case: Case
    other: str  # the name of the side beside the baseline
    medians: tuple[float, float]
    launches: tuple[int, int]
    basis: Basis
    ratio: float | None  # above 1: worse than the baseline
    interval: Ratio | None
    p_value: float  # of this case alone
    corrected_p_value: float
    verdict: Verdict
    launches_needed: int | None = None  # on each side, for the next time

    @property
    def name(self) -> str:
        """The name of the case."""
        return self.case.name

    @property
    def why(self) -> str:
        """Why it is inconclusive, and what to do."""
        if self.verdict is not Verdict.INCONCLUSIVE:
            return ""
        if self.ratio is None:
            return "a median is 0"
        if self.launches_needed is None:
            return "too noisy: make each launch longer (--batches, --min-time)"
        return f"take {self.launches_needed} new launches of each"


def judge(matched: Sequence[Matched], threshold: float) -> list[Row]:
    """The cases of all comparisons; `threshold`: the fraction within which they are the same."""
    cases = [(one.other.name, case) for one in matched for case in one.cases]
    found = [Difference(case.baseline, case.other, case.metric) for _, case in cases]
    corrected = holm([one.p_value for one in found])
    return [
        _row(case, other, one, p_value, threshold, len(cases))
        for (other, case), one, p_value in zip(cases, found, corrected)
    ]


def _row(
    case: Case, other: str, found: Difference, corrected: float, threshold: float, tests: int
) -> Row:
    verdict = verdict_of(found.interval, corrected, threshold)
    needed = launches_needed(found, threshold, tests) if verdict is Verdict.INCONCLUSIVE else None
    return Row(
        case,
        other,
        (_median(case.baseline, case.metric.name), _median(case.other, case.metric.name)),
        found.launches,
        found.basis,
        found.ratio,
        found.interval,
        found.p_value,
        corrected,
        verdict,
        needed,
    )


def verdict_of(interval: Ratio | None, corrected: float, threshold: float) -> Verdict:
    """By the interval of a ratio, and the corrected p value."""
    if interval is None:
        return Verdict.INCONCLUSIVE
    if 1 / (1 + threshold) <= interval.low and interval.high <= 1 + threshold:
        return Verdict.SAME
    if interval.leaves_out_1 and corrected < DECISION:
        return Verdict.SLOWER if interval.low > 1 else Verdict.FASTER
    return Verdict.INCONCLUSIVE


def launches_needed(found: Difference, threshold: float, tests: int) -> int | None:
    """New ones on each side; None where that would be too many to wait for."""
    if found.logs is None:
        return None
    fewest = fewest_for(DECISION / max(1, tests))
    if found.basis != "launches":
        return fewest
    needed = launches_to_decide(*found.logs, math.log1p(threshold), tests)
    needed = max(needed, max(found.launches) + 1)
    needed = min(needed, max(fewest, _STEP * max(found.launches), _MOST_LAUNCHES // _STEP))
    return needed if needed <= _MOST_LAUNCHES else None


def _median(records: Sequence[Record], metric: str) -> float:
    return median(record.statistics[metric].median for record in records)
