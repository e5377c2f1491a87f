"""The statistics: known values, scipy's own test, and how often they are wrong in simulations: of
one comparison, and over all steps of whoever is told to take more launches and compares again."""

from __future__ import annotations

import math
import tracemalloc
from itertools import product
from statistics import median

import numpy as np
import pytest

from commlens.compare.verdicts import launches_needed
from commlens.model.comparison import Basis, Difference, Verdict, verdict_of
from commlens.model.rank_test import (
    DECISION,
    fewest_for,
    holm,
    launches_to_decide,
    lower_rank_of_median,
    shift,
    shift_interval,
    u_test,
)

TRIALS = 200
THRESHOLD = 0.03
MOST_STEPS = 8
Values = list[float]  # logarithms of medians of launches


def start_medians(
    generator: np.random.Generator, launches: int, between: float, slowdown: float = 0.0
) -> Values:
    """Starts vary by `between`, and their samples are skewed and depend on each other."""
    factors = between * generator.standard_t(4, launches) / math.sqrt(2)  # heavy tails
    noise = np.empty((launches, 30))
    noise[:, 0] = generator.exponential(1, launches)
    for sample in range(1, 30):
        noise[:, sample] = 0.7 * noise[:, sample - 1] + 0.3 * generator.exponential(1, launches)
    times = (1 + 0.1 * noise) * np.exp(factors)[:, None] * (1 + slowdown)
    values: Values = np.log(np.median(times, axis=1)).tolist()
    return values


@pytest.mark.parametrize(("count", "rank"), [(5, 0), (6, 1), (8, 1), (9, 2), (20, 6), (2000, 956)])
def test_the_interval_of_a_median_is_that_of_samples(count: int, rank: int) -> None:
    """As src/measure/statistics.cpp has it."""
    assert lower_rank_of_median(count) == rank


def p_of_scipy(*sides: Values, **options: str) -> float:
    from scipy.stats import mannwhitneyu  # takes a second: not in every process of pytest

    return float(mannwhitneyu(*sides, **options).pvalue)


def test_p_is_that_of_scipy() -> None:
    generator = np.random.default_rng(1)
    counts = [(5, 5), (8, 8), (9, 9), (30, 30), (1, 1), (3, 900), (1500, 2), (1024, 1100)]
    for number, digits in product(range(len(counts)), (9, 1, 0)):
        sides = [
            generator.normal(mean, 1, count).round(digits).tolist()
            for mean, count in enumerate(counts[number])
        ]
        expected = p_of_scipy(*sides, alternative="two-sided")
        assert u_test(*sides) == pytest.approx(expected, rel=1e-10)
        shift_interval(*sides)  # of a thousand values and more too


@pytest.mark.parametrize("counts", [(4, 4), (5, 5), (6, 4), (7, 8)])
def test_the_interval_leaves_out_0_where_the_exact_test_refuses(counts: tuple[int, int]) -> None:
    generator = np.random.default_rng(2)
    for _ in range(100):
        baseline = generator.normal(0, 1, counts[0]).tolist()
        other = generator.normal(generator.uniform(0, 3), 1, counts[1]).tolist()
        interval = shift_interval(baseline, other)
        assert interval is not None
        assert interval[0] <= shift(baseline, other) <= interval[1]
        is_refused = p_of_scipy(baseline, other, method="exact") <= 0.05
        assert is_refused == (interval[0] > 0 or interval[1] < 0)


@pytest.mark.parametrize("counts", [(5, 5), (5, 7), (41, 38), (51, 50), (80, 70)])
@pytest.mark.parametrize("digits", [1, 15])  # with many equal values, and with none
def test_the_interval_and_the_shift_are_exact_whatever_the_count(
    counts: tuple[int, int], digits: int
) -> None:
    generator = np.random.default_rng(7)
    for _ in range(5):
        baseline, other = (generator.normal(-11, 1, count).round(digits) for count in counts)
        ordered = np.sort(np.subtract.outer(other, baseline), axis=None).tolist()
        interval = shift_interval(baseline.tolist(), other.tolist())
        assert interval is not None
        assert ordered.index(interval[0]) + 1 <= len(ordered) / 2
        assert interval[1] in ordered
        assert shift(baseline.tolist(), other.tolist()) == median(ordered)
    assert shift_interval([1.0] * counts[0], [2.0] * counts[1]) == (1, 1)


@pytest.mark.parametrize("launches", [50, 51, 200])
def test_equal_medians_do_not_differ_by_rounding(launches: int) -> None:
    """Two of five are faster by a tick of the clock: the interval ends at 0, and not below."""
    usual, faster = math.log(20e-6), math.log(19e-6)
    baseline = [usual] * launches
    other = [faster] * (2 * launches // 5) + [usual] * (launches - 2 * launches // 5)
    assert shift(baseline, other) == 0
    for interval in (shift_interval(baseline, other), shift_interval(other, baseline)):
        assert interval is not None
        assert 0 in interval


def test_thousands_of_starts_a_side_are_compared_in_little_memory() -> None:
    """All their differences at once would be 72 MB."""
    many = np.random.default_rng(8).normal(0, 1, 3_000).tolist()
    tracemalloc.start()
    low, high = shift_interval(many, many)  # type: ignore[misc]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert low < 0 < high and peak < 2e6


def test_three_values_a_side_have_no_interval() -> None:
    assert shift_interval([1, 2, 3], [11, 12, 13]) is None
    assert shift_interval([1, 2, 3, 4], [11, 12, 13, 14]) == (7, 13)


def test_intervals_of_many_values_are_those_of_the_normal_distribution() -> None:
    generator = np.random.default_rng(3)
    baseline, other = generator.normal(0, 1, 41).tolist(), generator.normal(0, 1, 40).tolist()
    many, few = shift_interval(baseline, other), shift_interval(baseline[:40], other)
    assert many is not None
    assert few is not None
    assert many == pytest.approx(few, abs=0.15)


def test_holm_multiplies_the_smallest_by_their_number() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.6]) == [1.0, 1.0]
    assert holm([]) == []


def test_more_cases_take_more_starts() -> None:
    assert [fewest_for(DECISION / cases) for cases in (1, 2, 3, 7, 8, 28)] == [5, 5, 6, 6, 7, 7]


@pytest.mark.parametrize("launches", [5, 6, 8, 12])
@pytest.mark.parametrize("between", [0.01, 0.1])
def test_the_same_differs_in_5_of_300_at_most(launches: int, between: float) -> None:
    generator = np.random.default_rng(launches)
    wrong = missed = 0
    for _ in range(TRIALS):
        baseline, other = (start_medians(generator, launches, between) for _ in range(2))
        interval = shift_interval(baseline, other)
        assert interval is not None
        missed += not interval[0] <= 0 <= interval[1]
        wrong += u_test(baseline, other) < DECISION
    assert wrong / TRIALS <= DECISION + 0.02  # two deviations of so many trials
    assert missed / TRIALS <= 0.05 + 0.03


def disturbed(
    generator: np.random.Generator, launches: int, between: float, share: float, slowdown: float
) -> Values:
    """Of which a share is slower by up to a factor of 5."""
    values = np.array(start_medians(generator, launches, between, slowdown))
    is_slow = generator.random(launches) < share
    slowed: Values = (values + is_slow * generator.uniform(0, math.log(5), launches)).tolist()
    return slowed


@pytest.mark.parametrize(
    ("between", "share", "pilot_slowdown", "least"),
    [(0.01, 0, 0, 1.1), (0.03, 0, 0, 1.1), (0.08, 0, 0, 1.1),
     (0.01, 0.1, 0.1, 1.03), (0.01, 0.2, 0.1, 1.03)],
)  # fmt: skip
def test_as_many_starts_as_it_asks_for_find_a_tenth(
    between: float, share: float, pilot_slowdown: float, least: float
) -> None:
    """A pilot of 5 launches each decides, or asks for so many new ones as find a slowdown of 10%:
    also where it was of two that are the same."""
    generator, seen = np.random.default_rng(17), 0
    for _ in range(TRIALS):
        pilot = [disturbed(generator, 5, between, share, slow) for slow in (0, pilot_slowdown)]
        if pilot_slowdown and u_test(*pilot) < DECISION:
            seen += shift(*pilot) > 0
            continue
        launches = min(200, launches_to_decide(*pilot, math.log(least), tests=1))
        sides = [disturbed(generator, launches, between, share, slow) for slow in (0, 0.1)]
        seen += u_test(*sides) < DECISION and shift(*sides) > 0
    assert seen / TRIALS >= 0.95 - 0.03  # two deviations of so many trials


def test_among_many_cases_any_is_wrong_in_5_of_300() -> None:
    """All cases of a start share what is particular to it."""
    generator = np.random.default_rng(11)
    wrong = 0
    for _ in range(100):
        shared = [0.05 * generator.standard_normal(8) for _ in range(2)]
        p_values = []
        for _ in range(20):
            sides = [side + 0.03 * generator.standard_normal(8) for side in shared]
            p_values.append(u_test(*(side.tolist() for side in sides)))
        wrong += min(holm(p_values)) < DECISION
    assert wrong <= 5


def test_a_bootstrap_over_few_starts_is_wrong_more_often() -> None:
    """Why the interval is not one: with 3 launches a side it leaves out the truth in 1 of 10."""
    generator = np.random.default_rng(13)
    wrong = 0
    for _ in range(TRIALS):
        sides = [generator.normal(0, 0.05, 3) for _ in range(2)]
        draws = [np.median(side[list(product(range(3), repeat=3))], axis=1) for side in sides]
        low, high = np.quantile(draws[1][:, None] - draws[0][None, :], (0.025, 0.975))
        wrong += low > 0 or high < 0
    assert wrong / TRIALS > 0.08


class OfLaunches(Difference):
    """Of starts of which nothing but the medians is known."""

    basis: Basis = "launches"

    def __init__(self, baseline: Values, other: Values) -> None:
        self.logs = baseline, other

    @property
    def launches(self) -> tuple[int, int]:
        return len(self.logs[0]), len(self.logs[1])


def last_verdict(generator: np.random.Generator, between: float, slowdown: float) -> Verdict:
    count: int | None = 5
    for _ in range(MOST_STEPS):
        assert count is not None
        difference = OfLaunches(
            start_medians(generator, count, between),
            start_medians(generator, count, between, slowdown),
        )
        verdict = verdict_of(difference.interval, difference.p_value, THRESHOLD)
        count = launches_needed(difference, THRESHOLD, tests=1)
        if verdict is not Verdict.INCONCLUSIVE or count is None:
            return verdict
    return Verdict.INCONCLUSIVE


def share(verdicts: set[Verdict], between: float, slowdown: float, trials: int) -> float:
    generator = np.random.default_rng(23)
    last = [last_verdict(generator, between, slowdown) for _ in range(trials)]
    return sum(verdict in verdicts for verdict in last) / trials


@pytest.mark.parametrize(("between", "trials"), [(0.01, 200), (0.03, 400), (0.08, 300)])
def test_the_same_differs_in_5_of_100_at_most_over_all_steps(between: float, trials: int) -> None:
    wrong = share({Verdict.FASTER, Verdict.SLOWER}, between, 0.0, trials)
    assert wrong <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / trials)


@pytest.mark.parametrize("between", [0.01, 0.03, 0.08])
def test_a_tenth_is_seen(between: float) -> None:
    assert share({Verdict.SLOWER}, between, 0.1, trials=100) >= 0.95
