"""Where a series of launches changes: E-divisive (Matteson and James, Journal of the American
Statistical Association 109, 2014), on which Hunter and Apache Otava build.

A segment is split where the energy distance of both sides is largest, if permutations of its values
reach that distance seldom; both sides are then looked at in the same way. Of values of one
dimension, rounded to levels, the energy distance is the sum over levels of the squared difference
of both cumulative distributions, which makes a permutation cheap.

Two things are added. A value that its neighbors do not confirm, as that of a launch that something
disturbed, is moved to where theirs end. And the ranks of both sides must differ by the U test:
where they do so beyond doubt, or do not, permutations are spared.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from commlens.model.comparison import FEWEST_APART
from commlens.model.rank_test import DECISION, u_test

Array = NDArray[np.float64]
MOST_VALUES = 120  # the newest: what is older is how it was, and is not looked at
LEVEL = 0.01
_PERMUTATIONS = 199
_AT_A_TIME = 30  # most series have no change, which few permutations show
_SEED = 20140101
_LEVELS = 32  # to which values are rounded
_NEIGHBORS = 2  # on each side of a value
_FAR = 3.0  # standard deviations from the median of its neighbors
_NORMAL = 0.6745 * 2**0.5  # the median of the absolute difference of two normal values


def change_points(values: Sequence[float]) -> list[int]:
    """The index of the first value after each change, in ascending order; none twice, and at least
    3 values lie between two of them. The same values always give the same."""
    known = _confirmed(np.asarray(values, dtype=float))
    found: list[int] = []
    segments = [(0, len(known))]
    while segments:
        first, last = segments.pop()
        place = _split(known[first:last])
        if place is not None:
            found.append(first + place)
            segments += [(first, first + place), (first + place, last)]
    return sorted(found)


def _confirmed(values: Array) -> Array:
    """With a lone value moved to where its neighbors end (Hampel's filter)."""
    if len(values) < 2 * FEWEST_APART:
        return values
    steps = np.sort(np.abs(np.diff(values)))
    spread = float(steps[len(steps) // 2]) / _NORMAL
    width = 2 * _NEIGHBORS + 1
    padded = np.pad(values, _NEIGHBORS, mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(padded, width)
    middles = np.sort(windows, axis=1)[:, _NEIGHBORS]
    return np.clip(values, middles - _FAR * spread, middles + _FAR * spread)


def _split(values: Array) -> int | None:
    """Where the values change most, if they do."""
    count = len(values)
    low, high = (float(values.min()), float(values.max())) if count else (0.0, 0.0)
    if count < 2 * FEWEST_APART or high <= low:
        return None
    levels = np.rint((values - low) / (high - low) * (_LEVELS - 1)).astype(np.int8)
    distances = _distances(levels[np.newaxis])[0]
    place = int(np.argmax(distances)) + FEWEST_APART
    if not _is_confirmed(values, place):
        return None
    p_value = u_test(values[:place].tolist(), values[place:].tolist())
    if p_value >= DECISION:
        return None
    if p_value * len(distances) < LEVEL:  # sure among all places, however they depend on each other
        return place
    return place if _is_rare(levels, float(distances.max())) else None


def _is_confirmed(values: Array, place: int) -> bool:
    """Whether all of a side that has only 3 values are nearer to its median than to the other's:
    where two have changed, the third is there to make them a side."""
    sides = np.split(values, [place])
    medians = [float(np.sort(side)[len(side) // 2]) for side in sides]
    return all(
        len(side) > FEWEST_APART or bool((abs(side - own) < abs(side - other)).all())
        for side, own, other in zip(sides, medians, reversed(medians))
    )


def _is_rare(levels: NDArray[np.int8], distance: float) -> bool:
    """Whether permutations of the values reach this distance as seldom as LEVEL."""
    reached, orders = 1, _orders(len(levels))  # the order at hand is one of them
    for begin in range(0, _PERMUTATIONS, _AT_A_TIME):
        some = _distances(levels[orders[begin : begin + _AT_A_TIME]])
        reached += int(np.count_nonzero(some.max(axis=1) >= distance * (1 - 1e-9)))
        if reached > LEVEL * (_PERMUTATIONS + 1):
            return False
    return True


@cache
def _orders(count: int) -> NDArray[np.intp]:
    """Permutations of so many values, the same for all series of this length."""
    random = np.random.default_rng(_SEED + count)
    return random.permuted(np.tile(np.arange(count), (_PERMUTATIONS, 1)), axis=1)


def _distances(levels: NDArray[np.int8]) -> Array:
    """Of each row of values, for each place of a split from the third value on: the energy distance
    of both sides, weighed as the statistic of the test is, n m / (n + m).

    With C values up to a level on the left of `place`, and T in all, the two distributions differ
    by C / place - (T - C) / (count - place).
    """
    count = levels.shape[1]
    below = levels[:, :, np.newaxis] <= np.arange(_LEVELS - 1, dtype=np.int8)
    sums = np.cumsum(below, axis=1, dtype=np.float32)
    places = np.arange(FEWEST_APART, count - FEWEST_APART + 1, dtype=np.float32)
    left = sums[:, FEWEST_APART - 1 : count - FEWEST_APART]
    excess = left - sums[:, -1:] * (places / count)[np.newaxis, :, np.newaxis]
    distances: Array = (
        np.einsum("ijk,ijk->ij", excess, excess) * count / (places * (count - places))
    )
    return distances
