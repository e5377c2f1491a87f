"""Whether two measurements differ: the rule behind every `best`, `tie`, `speed-up` and `used`.

Two medians differ where each has a 95% confidence interval and the intervals do not overlap. An
interval takes at least 6 samples. Everything else is a tie: the samples do not tell which is
better.
"""

from __future__ import annotations

from commlens.records.results import Statistic

TIE = "tie"


def is_tie(one: Statistic, other: Statistic) -> bool:
    if one.ci_low is None or one.ci_high is None or other.ci_low is None or other.ci_high is None:
        return True
    return one.ci_low <= other.ci_high and other.ci_low <= one.ci_high


def why_tie(one: Statistic, other: Statistic) -> str:
    """`2 and 20 samples` where there are too few for an interval, else that they overlap."""
    counts = f"{one.count} and {other.count} samples"
    has_intervals = one.ci_low is not None and other.ci_low is not None
    return f"intervals of {counts} overlap" if has_intervals else f"{counts}: too few"
