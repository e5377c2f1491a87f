"""Two sets of records, case by case: what became faster, slower, or stayed the same."""

from commlens.compare.matching import Case, Matched, Side, match, split
from commlens.compare.verdicts import Row, judge
from commlens.model.comparison import Verdict

__all__ = ["Case", "Matched", "Row", "Side", "Verdict", "judge", "match", "split"]
