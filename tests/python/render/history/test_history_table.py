"""How the history of a case is written in a row."""

from __future__ import annotations

import pytest

from commlens.render.history import change_text, sparkline


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([1.0], "▅"),
        ([1.0, 2.0], "▁█"),
        ([1.0, 2.0, 1.5], "▁█▅"),
        ([100.0, 101.0], "▄▅"),  # noise is no mountain
        ([0.0, 0.0], "▁▁"),
        (list(map(float, range(100, 200))), "▁▁▂▂▂▃▃▃▃▄▄▄▅▅▅▆▆▆▆▇▇▇██"),
    ],
)
def test_a_sparkline(values: list[float], text: str) -> None:
    assert sparkline(values) == text


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (None, ""),
        ((0.18, 0.14, 0.22), "+18% [14, 22]"),
        ((0.042, 0.031, 0.12), "+4.2% [3.1, 12]"),
        ((-0.15, -0.18, -0.12), "-15% [-18, -12]"),
        ((19.0, 17.0, 21.0), "20x [18, 22]"),
        ((1.9, 1.7, 2.2), "+190% [170, 220]"),
    ],
)
def test_a_change(change: tuple[float, float, float] | None, text: str) -> None:
    assert change_text(change) == text
