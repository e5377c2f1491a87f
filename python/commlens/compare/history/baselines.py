"""What one new launch is measured against: the launches of its case in a store, before it is added.

One launch decides nothing as `history check` does. It is remarkable where it is worse than all
launches of the baseline: of a case that does not change, one in as many launches is so by chance,
and fewer that are so by more than a threshold.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from commlens.compare.history.entries import Batch, rows_of
from commlens.compare.history.series import BASELINE, Selection, series_of
from commlens.compare.history.trends import Trend, judge
from commlens.model import Record
from commlens.model.start import Metric


class Baseline(NamedTuple):
    """What a case has measured so far."""

    metric: Metric  # the main one of the case
    value: float  # the median of the launches before the newest change
    limit: float  # worse than the worst of them by the threshold


def baselines_of(
    connection: sqlite3.Connection, records: Sequence[Record], machine: str, threshold: float
) -> list[Baseline | None]:
    """Of the case of each record, on a machine; None where the store has too few launches of it."""
    numbers = dict(connection.execute("SELECT key, id FROM cases"))
    cases = [_case_of(record, machine, numbers) for record in records]
    if not any(cases):
        return [None] * len(cases)
    series = [one for one in series_of(connection, Selection()) if one.case in cases]
    trends = judge(series, BASELINE, threshold)
    known = {trend.series.case: _baseline_of(trend, threshold) for trend in trends}
    return [known.get(case) for case in cases]


def _case_of(record: Record, machine: str, numbers: dict[str, int]) -> int:
    """Its number in the store; 0 where the store does not have it."""
    rows = rows_of(Batch([record], machine))
    return next((numbers.get(row.case.key, 0) for row in rows), 0)


def _baseline_of(trend: Trend, threshold: float) -> Baseline | None:
    value, metric = trend.middle, trend.series.metric
    if value is None or not trend.has_enough:
        return None
    medians = [point.median for point in trend.baseline if point.median is not None]
    is_lower_better = metric.better == "lower"
    limit = max(medians) * (1 + threshold) if is_lower_better else min(medians) / (1 + threshold)
    return Baseline(metric, value, limit)
