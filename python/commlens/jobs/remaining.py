"""How long something will still take."""

from __future__ import annotations

import math

_FEWEST_S = 3.0  # before, nothing is known


def time_left(done: float, total: float, seconds: float) -> str:
    """`, about 2 min left`, where this much of the total was done in so many seconds; empty where
    that is not known yet."""
    if done <= 0 or done >= total or seconds < _FEWEST_S:
        return ""
    return f", about {rough_time(seconds * (total - done) / done)} left"


def rough_time(seconds: float) -> str:
    """`40 s`, `3 min`, `2 h 10 min`: no more digits than an estimate has."""
    if seconds <= 10:
        return f"{math.ceil(seconds)} s"
    if seconds <= 55:
        return f"{5 * math.ceil(seconds / 5)} s"
    minutes = math.ceil(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    minutes = 10 * math.ceil(minutes / 10)
    return f"{minutes // 60} h" + (f" {minutes % 60} min" if minutes % 60 else "")
