"""Load imbalance of a time over ranks.

After L. DeRose, B. Homer and D. Johnson, "Detecting application load imbalance on high end
massively parallel systems" (Euro-Par 2007).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Imbalance:
    mean_s: float
    imbalance_s: float  # time of the slowest rank less the mean
    percent: float  # 100: all the work is on one rank, 0: it is the same on each


def imbalance(mean_s: float, max_s: float, ranks: int) -> Imbalance:
    excess = max(0.0, max_s - mean_s)
    percent = 100 * excess / max_s * ranks / (ranks - 1) if max_s > 0 and ranks > 1 else 0.0
    return Imbalance(mean_s, excess, percent)


def imbalance_of(times_s: Sequence[float]) -> Imbalance:
    return imbalance(mean(times_s), max(times_s, default=0.0), len(times_s))


def mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0
