from __future__ import annotations

import pytest

from commlens.jobs.remaining import rough_time, time_left


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "1 s"), (9.1, "10 s"), (31, "35 s"), (55, "55 s"), (56, "1 min"), (61, "2 min"),
        (3540, "59 min"), (3550, "1 h"), (3601, "1 h 10 min"), (7200, "2 h"),
    ],
)  # fmt: skip
def test_a_rough_time_has_few_digits(seconds: float, text: str) -> None:
    assert rough_time(seconds) == text


@pytest.mark.parametrize(
    ("done", "total", "seconds", "text"),
    [
        (1, 4, 10, ", about 30 s left"),
        (0, 4, 10, ""),  # nothing is known
        (1, 4, 1, ""),
        (4, 4, 10, ""),
        (0.5, 1, 600, ", about 10 min left"),
    ],
)
def test_time_left(done: float, total: float, seconds: float, text: str) -> None:
    assert time_left(done, total, seconds) == text
