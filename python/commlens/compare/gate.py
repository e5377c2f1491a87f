"""`--fail-if-slower`: the exit status of a comparison, for continuous integration."""

from __future__ import annotations

from commlens.base.errors import Status, say
from commlens.base.text import plural
from commlens.compare.result import ComparisonResult
from commlens.compare.verdicts import Verdict


def gate(result: ComparisonResult, slower_by: float) -> int:
    """Names what is slower by at least this fraction, or is there no more; each makes it fail."""
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
