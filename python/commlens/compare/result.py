"""All that a comparison gave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from commlens.base.errors import Status, say
from commlens.base.text import plural
from commlens.compare.matching import Matched
from commlens.compare.verdicts import Row, Verdict
from commlens.model.rank_test import DECISION

_BASIS = {
    "launches": "over launches",
    "samples": "over samples within the same launches",
    "few launches": "over samples of 3 or 4 launches, wider by a factor of 2; fewer have none",
}


@dataclass(frozen=True)
class ComparisonResult:
    """All that was compared, and by which measure."""

    matched: Sequence[Matched]
    rows: Sequence[Row]
    threshold: float

    def rows_of(self, one: Matched) -> list[Row]:
        """The rows of one of the comparisons."""
        return [row for row in self.rows if row.other == one.other.name]

    @property
    def how(self) -> list[str]:
        """How to read the numbers."""
        bases = ", ".join(dict.fromkeys(_BASIS[row.basis] for row in self.rows))
        tests = plural(len(self.rows), "case")
        return [
            f"ratio: above 1 is worse than the baseline; 95% interval {bases}",
            f"same: the interval lies within {self.threshold:.3g} of 1; p: U test, corrected for"
            f" {tests} (Holm), below {DECISION:.2g} to be faster or slower",
        ]


def gate(result: ComparisonResult, slower_by: float) -> int:
    """The exit status of `--fail-if-slower`, for continuous integration.

    Prints what is slower by at least this fraction, or is missing; each makes it fail.
    """
    slower = [row for row in result.rows if row.verdict is Verdict.SLOWER]
    failing = [row for row in slower if row.ratio is not None and row.ratio >= 1 + slower_by]
    for row in failing:
        assert row.ratio is not None
        say(f"slower: {row.name} by {100 * (row.ratio - 1):.1f}%")
    broken = [name for one in result.matched for name in one.broken]
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
