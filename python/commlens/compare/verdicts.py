"""A verdict on each case, corrected for how many cases there are; what gates; what a fix does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from commlens.base.errors import Status, say
from commlens.base.text import format_number, format_ratio, plural
from commlens.compare.matching import Case, Matched
from commlens.model.comparison import THRESHOLD, Basis, Difference, Verdict, decide
from commlens.model.interference import MACHINE_WAS_BUSY
from commlens.model.rank_test import DECISION, fewest_for, launches_to_decide

_MOST_LAUNCHES = 100  # that anybody would wait for
_STEP = 4  # few launches do not show how many are needed: at most so many times as many next time
_BASIS: dict[Basis, str] = {
    "launches": "over launches",
    "samples": "over samples within the same launches",
    "few launches": "over samples of 3 or 4 launches, wider by a factor of 2; fewer have none",
}


@dataclass(frozen=True)
class Row:
    """One case with its verdict."""

    case: Case
    other: str  # the name of the side beside the baseline
    difference: Difference
    corrected_p_value: float
    verdict: Verdict
    launches_needed: int | None = None  # on each side, for the next time

    @property
    def name(self) -> str:
        """The name of the case."""
        return self.case.name

    @property
    def medians(self) -> tuple[float, float]:
        """Of each side the median over its records."""
        return self.difference.medians

    @property
    def why(self) -> str:
        """Why it is inconclusive, and what to do."""
        if self.verdict is not Verdict.INCONCLUSIVE:
            return ""
        if self.difference.why_busy:
            return f"{MACHINE_WAS_BUSY}: {self.difference.why_busy}"
        if self.difference.ratio is None:
            return "a median is 0"
        if self.launches_needed is None:
            return "too noisy: make each launch longer (--batches, --min-time)"
        return f"take {self.launches_needed} new launches of each"


@dataclass(frozen=True)
class ComparisonResult:
    """All that was compared, and by which measure."""

    matched: Sequence[Matched]
    rows: Sequence[Row]
    threshold: float

    def rows_of(self, sides: Matched) -> list[Row]:
        """The rows of one of the comparisons."""
        return [row for row in self.rows if row.other == sides.other.name]

    @property
    def how(self) -> list[str]:
        """How to read the numbers."""
        bases = ", ".join(dict.fromkeys(_BASIS[row.difference.basis] for row in self.rows))
        tests = plural(len(self.rows), "case")
        return [
            f"ratio: above 1 is worse than the baseline; 95% interval {bases}",
            f"same: the interval lies within {self.threshold:.3g} of 1; p: U test, corrected for"
            f" {tests} (Holm), below {DECISION:.2g} to be faster or slower",
        ]


def judge(matched: Sequence[Matched], threshold: float = THRESHOLD) -> ComparisonResult:
    """The cases of all comparisons; `threshold`: the fraction within which they are the same."""
    cases = [(sides.other.name, case) for sides in matched for case in sides.cases]
    differences = [Difference(case.baseline, case.other, case.metric) for _, case in cases]
    rows = []
    decisions = decide(differences, threshold)
    for (other, case), (difference, verdict, p_value) in zip(cases, decisions):
        needed = None
        if verdict is Verdict.INCONCLUSIVE:
            needed = launches_needed(difference, threshold, len(cases))
        rows.append(Row(case, other, difference, p_value, verdict, needed))
    return ComparisonResult(matched, rows, threshold)


def launches_needed(difference: Difference, threshold: float, tests: int) -> int | None:
    """New ones on each side; None where that would be too many to wait for."""
    if difference.logs is None:
        return None
    fewest = fewest_for(DECISION / max(1, tests))
    if difference.basis != "launches":
        return fewest
    needed = launches_to_decide(*difference.logs, math.log1p(threshold), tests)
    needed = max(needed, max(difference.launches) + 1)
    needed = min(needed, max(fewest, _STEP * max(difference.launches), _MOST_LAUNCHES // _STEP))
    return needed if needed <= _MOST_LAUNCHES else None


def gate(result: ComparisonResult, slower_by: float) -> int:
    """The exit status of `--fail-if-slower`, for continuous integration.

    Prints what is slower by at least this fraction, or is missing; each makes it fail.
    """
    slower = [row for row in result.rows if row.verdict is Verdict.SLOWER]
    ratios = [(row.name, row.difference.ratio or 1) for row in slower]
    failing = [(name, ratio) for name, ratio in ratios if ratio >= 1 + slower_by]
    for name, ratio in failing:
        say(f"slower: {name} by {100 * (ratio - 1):.1f}%")
    broken = [name for sides in result.matched for name in sides.broken]
    for name in broken:
        say(f"missing or failed: {name}")
    if failing or broken:
        return Status.FAILED
    inconclusive = [row for row in result.rows if row.verdict is Verdict.INCONCLUSIVE]
    if inconclusive:
        say(f"{plural(len(inconclusive), 'case')} inconclusive, which the gate lets pass")
    if len(inconclusive) == len(result.rows):
        say("no case could be decided: nothing was tested")
        return Status.NOTHING_RAN
    return Status.OK


@dataclass(frozen=True)
class Proof:
    """What a fix does: a median without it and one with it, or why there is none."""

    case: str  # `latency, 1 B, device to device, mpi`
    unit: str = ""
    before: float | None = None  # None: it fails
    after: float | None = None
    why_no_before: str = ""
    why_no_after: str = ""
    row: Row | None = None  # of the comparison, where both were measured

    @property
    def gain(self) -> float | None:
        """How many times better it is with the fix."""
        return 1 / self.row.difference.ratio if self.row and self.row.difference.ratio else None

    @property
    def _ends(self) -> tuple[float, float] | None:
        interval = self.row.difference.interval if self.row else None
        return (1 / interval.high, 1 / interval.low) if interval else None

    @property
    def verdict(self) -> str:
        """The verdict on the fix, in a word or two."""
        if self.row is not None:
            words = {Verdict.FASTER: "better", Verdict.SLOWER: "worse"}
            return words.get(self.row.verdict, self.row.verdict.value)
        return "fixed" if self.before is None and self.after is not None else "not fixed"

    def __str__(self) -> str:
        """`latency, 1 B, device, mpi: 186 us -> 14.6 us (12.7 times, 11.9 to 13.4): better`"""
        before = self._text(self.before, self.why_no_before)
        after = self._text(self.after, self.why_no_after)
        interval = ""
        if self.gain is not None and self.row is not None:
            low_high = ", 95% interval {:.3g} to {:.3g}".format(*self._ends) if self._ends else ""
            launches = plural(min(self.row.difference.launches), "launch")
            interval = f" ({format_ratio(self.gain)}{low_high}; {launches} each)"
        return f"{self.case}: {before} -> {after}{interval}: {self.verdict}."

    def _text(self, value: float | None, why: str) -> str:
        return f"fails ({why})" if value is None else f"{format_number(value)} {self.unit}".strip()

    @property
    def plain(self) -> dict[str, Any]:
        """The proof as a mapping for JSON."""
        fields = ("case", "unit", "before", "after", "why_no_before", "why_no_after", "gain")
        low, high = self._ends or (None, None)
        facts = {name: getattr(self, name) for name in fields}
        ends = {"gain_low": low, "gain_high": high, "verdict": self.verdict}
        return {"text": str(self), **facts, **ends}
