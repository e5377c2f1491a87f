"""All that a comparison gave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from commlens.base.text import plural
from commlens.compare.matching import Matched
from commlens.compare.verdicts import Row
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
