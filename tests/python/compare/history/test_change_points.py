"""Where a series of launches changes, and how often one is seen where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from building_helpers import tool
from commlens.compare.history.change_points import MOST_VALUES, change_points

calibration = tool("history/calibration")


def steps(*levels: tuple[int, float], spread: float = 0.01, seed: int = 0) -> list[float]:
    random = np.random.default_rng(seed)
    values = np.concatenate([np.full(count, level) for count, level in levels])
    return [float(value) for value in values + spread * random.standard_normal(len(values))]


@pytest.mark.parametrize(
    ("levels", "places"),
    [
        ([(40, 0.0)], []),
        ([(40, 0.0), (3, 0.1)], [40]),
        ([(30, 0.0), (20, 0.1)], [30]),
        ([(30, 0.1), (20, 0.0)], [30]),
        ([(30, 0.0), (30, 0.2), (30, 0.0)], [30, 60]),
        ([(20, 0.0), (20, 0.05), (20, 0.1), (20, 3.0)], [20, 40, 60]),
    ],
)
def test_a_change_is_found_where_it_is(levels: list[tuple[int, float]], places: list[int]) -> None:
    """A segment without one is split now and then, as LEVEL has it."""
    more = 0
    for seed in range(5):
        found = change_points(steps(*levels, seed=seed))
        more += len(found) - len(places)
        assert all(min(abs(place - one) for one in found) <= 1 for place in places)
    assert 0 <= more <= 1


def test_the_same_values_give_the_same() -> None:
    values = steps((30, 0.0), (4, 0.03), spread=0.015, seed=3)
    assert len({tuple(change_points(values)) for _ in range(5)}) == 1


@pytest.mark.parametrize(
    "values",
    [[], [1.0], [1.0] * 5, [1.0] * 200, [0.0, 1.0, 2.0, 3.0, 4.0], [1e300, -1e300] * 3],
    ids=["none", "one", "few", "equal", "rising", "huge"],
)
def test_values_without_a_change(values: list[float]) -> None:
    assert change_points(values) == []


@pytest.mark.parametrize("disturbed", [[40], [40, 41], [10, 25, 41], [39, 41], [0], [0, 1]])
def test_one_disturbed_launch_or_two_are_no_alarm(disturbed: list[int]) -> None:
    for seed in range(5):
        values = steps((42, 0.0), seed=seed)
        for place in disturbed:
            values[place] += 0.5
        assert not calibration.alarms(values)


def test_values_that_two_equal_levels_take_turns_in_are_no_change() -> None:
    assert change_points([0.0, 0.04] * 30) == []


def test_false_alarms_and_hits_are_those_of_the_table() -> None:
    """Of a part of the series of tools/history/calibration.py, which has the whole table."""
    counts = [
        calibration.simulate(noise, 30, percent=10, seed=100 + number)
        for number, noise in enumerate(calibration.KINDS.values())
    ]
    series = sum(count.series for count in counts)
    assert sum(count.alarms_ever for count in counts) <= 0.05 * series
    assert sum(count.found[2] for count in counts) >= 0.95 * series


def test_the_calibration_sees_an_alarm() -> None:
    values = steps((40, 0.0), (10, 0.2))
    assert calibration.alarms(values)
    assert not calibration.alarms([-value for value in values])


def test_what_is_older_than_the_newest_launches_is_not_needed() -> None:
    values = steps((MOST_VALUES - 10, 0.0), (10, 0.1))
    assert change_points(values) == [MOST_VALUES - 10]
