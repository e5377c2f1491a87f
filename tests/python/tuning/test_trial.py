"""What a start of a search asks of the benchmark."""

from __future__ import annotations

import pytest

from commlens.tuning.trial import _repeat_of
from record_helpers import record


@pytest.mark.parametrize(
    ("slowest_us", "repeat"),
    [(2.0, None), (2990.0, None), (100_000.0, 3), (2e6, 1)],
)
def test_a_batch_of_the_slowest_case_is_short(slowest_us: float, repeat: int | None) -> None:
    records = [record(median_us=1.0), record(median_us=slowest_us), record(status="skipped")]
    assert _repeat_of(records) == repeat


def test_without_figures_the_benchmark_decides() -> None:
    assert _repeat_of([]) is None
    assert _repeat_of([record(status="skipped")]) is None
