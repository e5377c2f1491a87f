"""Simulated launches: logarithms of their medians."""

from __future__ import annotations

import math

import numpy as np

Values = list[float]


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
