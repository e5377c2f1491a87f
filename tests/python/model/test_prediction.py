"""What replays of a program's trace say about its run."""

from __future__ import annotations

from typing import Any

import pytest

from commlens.model.prediction import Saving, saving
from record_helpers import parsed
from rule_records import replays, with_samples, without_interval


def predicted(other_us: float, **changes: Any) -> Saving | None:
    mpi, staged = parsed(*map(with_samples, replays(other_us, **changes)))
    return saving([mpi], [staged])


def test_the_share_is_of_the_recorded_run() -> None:
    """A replay of 1 s that becomes 0.9 s, of a run of 2 s; the intervals are 2% to each side."""
    result = predicted(0.9e6, recorded_s=2.0)
    assert result is not None
    assert result.value == pytest.approx(0.05)
    assert result.low == pytest.approx((1 - 0.9 * 1.02 / 0.98) / 2)
    assert result.high == pytest.approx((1 - 0.9 * 0.98 / 1.02) / 2)


@pytest.mark.parametrize(
    ("other_us", "text"),
    [
        (0.9e6, "10.0% of the run would be saved (95%: 6.3 to 13.5)"),
        (1.2e6, "the run would take 20.0% longer (95%: 15.3 to 24.9)"),
        (1.0e6, "the run would take as long (95%: 4.1% more to 3.9% less)"),
    ],
)
def test_it_is_said_in_one_line(other_us: float, text: str) -> None:
    assert str(predicted(other_us)) == text


def test_no_transport_saves_more_than_communication_for_free() -> None:
    text = "10.0% of the run would be saved (95%: 6.3 to 12.0); with communication for free 12%"
    assert str(predicted(0.9e6, free_communication_saves=0.12)) == text
    assert predicted(0.9e6, free_communication_saves=0.05) is None  # they contradict each other


def test_replays_that_do_not_do_the_same_predict_nothing() -> None:
    mpi, _ = parsed(*map(with_samples, replays(1e6)))
    other = parsed(*map(with_samples, replays(0.9e6, gaps="wall")))[1]
    assert saving([mpi], [other]) is None


def test_what_is_not_the_run_predicts_nothing() -> None:
    assert predicted(0.9e6, gaps="none") is None
    assert predicted(0.9e6, recorded_s=0.0) is None
    assert predicted(0.9e6, bytes_scale=2.0) is None


def test_without_an_interval_nothing_is_said() -> None:
    mpi, staged = parsed(*without_interval(replays(0.9e6)))
    assert saving([mpi], [staged]) is None
