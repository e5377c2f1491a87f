"""Whoever is told to take more launches compares again: how often the last verdict is wrong.

Each comparison has new launches, as many as the one before asked for.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from commlens.compare.verdicts import Verdict, launches_needed, verdict_of
from commlens.model.comparison import Basis, Difference
from simulated_launches import Values, start_medians

THRESHOLD = 0.03
MOST_STEPS = 8


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
        found = OfLaunches(
            start_medians(generator, count, between),
            start_medians(generator, count, between, slowdown),
        )
        own = verdict_of(found.interval, found.p_value, THRESHOLD)
        count = launches_needed(found, THRESHOLD, tests=1)
        if own is not Verdict.INCONCLUSIVE or count is None:
            return own
    return Verdict.INCONCLUSIVE


def share(verdicts: set[Verdict], between: float, slowdown: float, trials: int) -> float:
    generator = np.random.default_rng(23)
    found = [last_verdict(generator, between, slowdown) for _ in range(trials)]
    return sum(one in verdicts for one in found) / trials


@pytest.mark.parametrize(("between", "trials"), [(0.01, 200), (0.03, 400), (0.08, 300)])
def test_the_same_differs_in_5_of_100_at_most_over_all_steps(between: float, trials: int) -> None:
    wrong = share({Verdict.FASTER, Verdict.SLOWER}, between, 0.0, trials)
    assert wrong <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / trials)


@pytest.mark.parametrize("between", [0.01, 0.03, 0.08])
def test_a_tenth_is_found(between: float) -> None:
    assert share({Verdict.SLOWER}, between, 0.1, trials=100) >= 0.95
