"""What few values show of a difference: ranks alone, so that no distribution is assumed.

Values are logarithms of medians, one per launch: differences are ratios. The interval is that of
Hodges and Lehmann: all shifts that the U test of Mann and Whitney does not refuse (Hollander,
Wolfe and Chicken, Nonparametric Statistical Methods, 3rd edition, 4.2 and 4.3). It covers what it
says with 5 values as well as with 100; a percentile bootstrap over 3 or 4 covers too little.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from functools import cache, cached_property
from itertools import accumulate
from statistics import NormalDist, variance

LEVEL = 0.05  # of intervals: how often they may miss
_TAIL = round(2 / LEVEL)  # one in so many are beyond each end of an interval
# How often one comparison may see a difference where there is none: who is asked for more launches
# compares up to three times, and all of them together are to be wrong in 5 of 100 cases.
DECISION = 0.05 / 3
FEWEST = 5  # values on each side: with fewer, complete separation is more likely than DECISION
_ENDLESS = 10**9
_MARGIN = 2.0
_FEW = 10_000  # differences, which are sorted in a few milliseconds
_MOST_EXACT_TEST = 8  # values on the smaller side, as in scipy
_MOST_EXACT = 40  # values on a side; with more the normal distribution is as good


def shift(baseline: Sequence[float], other: Sequence[float]) -> float:
    """By how much `other` lies above `baseline`: the median of all differences."""
    differences = _Differences(baseline, other)
    middle = differences.count // 2
    if differences.count % 2:
        return differences.of_rank(middle + 1)
    return (differences.of_rank(middle) + differences.of_rank(middle + 1)) / 2


def shift_interval(
    baseline: Sequence[float], other: Sequence[float], level: float = LEVEL
) -> tuple[float, float] | None:
    """The interval of the shift that misses it with a probability of at most `level`; None for too
    few values."""
    rank = _lower_rank_of_differences(len(baseline), len(other), level)
    if rank == 0:
        return None
    differences = _Differences(baseline, other)
    return differences.of_rank(rank), differences.of_rank(differences.count + 1 - rank)


class _Differences:
    """All differences between a value of one side and one of the other, by their size. They are
    kept only where they are few: 10,000 values on each side have 100 million."""

    def __init__(self, baseline: Sequence[float], other: Sequence[float]) -> None:
        self._baseline, self._other = sorted(baseline), sorted(other)
        self.count = len(baseline) * len(other)

    def of_rank(self, rank: int) -> float:
        """The smallest has rank 1. By halving the range, whose ends stay differences: the result is
        exact, and 0 where two values are equal."""
        if self.count <= _FEW:
            return self._all[rank - 1]
        low = self._other[0] - self._baseline[-1]
        high = self._other[-1] - self._baseline[0]
        while low < high:
            middle = (low + high) / 2
            count, below, above = self._split(middle if middle < high else low)
            low, high = (low, below) if count >= rank else (above, high)
        return high

    @cached_property
    def _all(self) -> list[float]:
        return sorted([other - value for value in self._baseline for other in self._other])

    def up_to(self, size: float) -> int:
        """How many of them are not larger."""
        return self._split(size)[0]

    def _split(self, size: float) -> tuple[int, float, float]:
        """How many are not larger, the largest of these, and the smallest of the rest."""
        count = end = 0
        below, above = -math.inf, math.inf
        for value in self._baseline:  # of a larger one no fewer differences are so small
            while end < len(self._other) and self._other[end] - value <= size:
                end += 1
            count += end
            if end > 0:
                below = max(below, self._other[end - 1] - value)
            if end < len(self._other):
                above = min(above, self._other[end] - value)
        return count, below, above


@cache
def _lower_rank_of_differences(count: int, other_count: int, level: float) -> int:
    """The largest r with P(U < r) <= level / 2, 0 where there is none."""
    if max(count, other_count) > _MOST_EXACT:
        deviation = math.sqrt(count * other_count * (count + other_count + 1) / 12)
        quantile = NormalDist().inv_cdf(level / 2)
        return max(0, math.floor(count * other_count / 2 + quantile * deviation + 0.5))
    allowed = level / 2 * math.comb(count + other_count, count)
    return sum(below <= allowed for below in accumulate(_ways(count, other_count)))


def _ways(count: int, other_count: int) -> list[int]:
    """In how many orders of all values U is 0, 1, 2 ...: the Gaussian binomial coefficient."""
    length = count * other_count + 1
    ways = [1] + [0] * (length - 1)
    for number in range(1, count + 1):
        for u in range(length - 1, other_count + number - 1, -1):  # times 1 - q^(other + number)
            ways[u] -= ways[u - other_count - number]
        for u in range(number, length):  # over 1 - q^number
            ways[u] += ways[u - number]
    return ways


@cache
def lower_rank_of_median(count: int) -> int:
    """The rank of the lower end of a 95% interval of the median of so many values, from 1; 0: there
    is none (fewer than 6). As src/measure/statistics.cpp has it for samples."""
    ways = accumulate(range(1, count // 2), lambda n, k: n * (count - k + 1) // k, initial=1)
    return sum(_TAIL * below <= 2**count for below in accumulate(ways))  # may exceed any float


def u_test(baseline: Sequence[float], other: Sequence[float]) -> float:
    """The two-sided p value of the U test of Mann and Whitney, that of scipy's mannwhitneyu,
    which is slower. Exact where a side has few values and no two are equal, else by the normal
    distribution, corrected for ties and for continuity."""
    count, other_count = len(baseline), len(other)
    pairs, total = count * other_count, count + other_count
    ranked = sorted(other)
    twice = sum(bisect_left(ranked, value) + bisect_right(ranked, value) for value in baseline)
    largest = max(twice / 2, pairs - twice / 2)
    alike = Counter((*baseline, *other))
    if min(count, other_count) <= _MOST_EXACT_TEST and len(alike) == total:
        below = _orders_up_to(*sorted((count, other_count)))[pairs - int(largest)]
        return min(1.0, 2 * below / math.comb(total, count))
    ties = sum(size**3 - size for size in alike.values())
    variance_of_u = pairs / 12 * (total + 1 - ties / (total * (total - 1)))
    if variance_of_u <= 0:
        return 1.0
    return min(1.0, math.erfc((largest - pairs / 2 - 0.5) / math.sqrt(2 * variance_of_u)))


@cache
def _orders_up_to(count: int, other_count: int) -> list[int]:
    return list(accumulate(_ways(count, other_count)))


def holm(p_values: Sequence[float]) -> list[float]:
    """The p values corrected for their number: the chance of one false difference among all is
    that of one test (Holm, Scandinavian Journal of Statistics 6, 1979)."""
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    corrected = [1.0] * len(p_values)
    largest = 0.0
    for step, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - step) * p_values[index]))
        corrected[index] = largest
    return corrected


def launches_to_decide(
    baseline: Sequence[float], other: Sequence[float], least: float, tests: int
) -> int:
    """How many values a side show a shift as large as that of these values, or of `least`, with a
    power of 95%, among so many tests.

    Of the shift that was seen two thirds count, since those that are looked at again are more often
    too large. The smaller of two estimates: from the spread, raised to its upper 90% bound (Browne,
    Statistics in Medicine 14, 1995; 3/pi is the efficiency of the U test); and from the order of
    the values alone, which a few disturbed ones do not move far (Noether, Journal of the American
    Statistical Association 82, 1987), with a margin for how few they are.
    """
    level = DECISION / max(1, tests)
    quantiles = NormalDist().inv_cdf(1 - level / 2) + NormalDist().inv_cdf(0.95)
    seen = shift(baseline, other)
    size = max(abs(seen) * 2 / 3, least)
    by_spread = 2 * _upper_variance(baseline, other) * (quantiles / size) ** 2 * math.pi / 3
    # How likely a value is above one of the other side, if their shift were as much less. One half
    # more of a pair is counted on the other side, as few pairs never show the rare ones.
    differences = _Differences(baseline, other)
    above = (differences.count - differences.up_to(seen - size) - 0.5) / differences.count
    by_order = _MARGIN * (quantiles / (above - 0.5)) ** 2 / 6 if above > 0.5 else math.inf
    needed = min(by_spread, by_order)
    return max(fewest_for(level), math.ceil(needed) if needed < _ENDLESS else _ENDLESS)


def _upper_variance(baseline: Sequence[float], other: Sequence[float]) -> float:
    """Within the sides; infinite for a single value each."""
    from scipy.special import chdtri  # scipy.stats takes half a second to load

    freedom = len(baseline) + len(other) - 2
    if freedom < 1:
        return math.inf
    squares = sum((len(side) - 1) * variance(side) for side in (baseline, other) if len(side) > 1)
    return squares / float(chdtri(freedom, 0.9))


def fewest_for(level: float) -> int:
    """Values a side with which complete separation is less likely than `level`."""
    count = FEWEST
    while 2 / math.comb(2 * count, count) > level:
        count += 1
    return count
