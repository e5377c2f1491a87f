"""The verdict on a series, and what changed with it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from commlens.base.errors import CommlensError
from commlens.cli.history import FEWEST_BEFORE
from commlens.compare.history.causes import causes_of
from commlens.compare.history.change_points import change_points
from commlens.compare.history.entries import Explanations
from commlens.compare.history.series import CaseSeries, LaunchPoint, Selection, day, series_of
from commlens.compare.history.store import reading
from commlens.compare.history.trends import FEWEST, Trend, judge
from commlens.model.comparison import FEWEST_APART, Verdict
from commlens.model.rank_test import DECISION
from commlens.model.start import Metric
from history_helpers import VERSIONS, day_of, launch, launches, medians, noise, stored
from sample_records import BUSY, QUIET

METRIC = Metric(name="time_us", label="time", unit="us", better="lower", definition="")


def trends(
    records: list[dict[str, Any]], selection: Selection | None = None, **options: Any
) -> list[Trend]:
    with reading(stored(Path("history.sqlite"), records)) as connection:
        return judge(series_of(connection, selection), **options)


def trend(records: list[dict[str, Any]], **options: Any) -> Trend:
    (only,) = trends(records, **options)
    return only


def test_a_case_that_became_slower() -> None:
    seen = trend(launches(40, slower_from=35))
    assert seen.verdict is Verdict.SLOWER and seen.since[:10] == day_of(35)
    assert seen.change is not None
    value, low, high = seen.change
    assert low < 0.2 < high and value == pytest.approx(0.2, abs=0.02)
    assert len(seen.baseline) == 35 and seen.interval is not None
    assert seen.interval[0] <= 2.0 <= seen.interval[1]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_three_launches_are_enough_and_two_are_not(count: int) -> None:
    seen = trend(launches(37 + count, slower_from=37, by=1.1))
    assert seen.is_slower == (count == 3)


def test_a_change_below_the_threshold_is_not_called_slower() -> None:
    seen = trend(launches(60, slower_from=45, by=1.025))
    assert seen.ratio is not None and 1 < seen.ratio.low < 1.03 < seen.ratio.high
    assert (seen.verdict, seen.changed) == (Verdict.INCONCLUSIVE, True)
    assert seen.why == "it has changed by less than the threshold"
    assert trend(launches(60, slower_from=45, by=1.025), threshold=0.01).is_slower


def test_without_a_change_point_nothing_is_slower() -> None:
    """However the newest launches compare with those before: who looks often finds a difference."""
    stable = []
    for seed in range(150):
        points = [
            LaunchPoint(day_of(number), value, "", (Explanations(), Explanations()))
            for number, value in enumerate(noise(40, 0.06, seed))
        ]
        series = CaseSeries(seed, "", "", "", {}, METRIC, points)
        stable += [seen for seen in judge([series]) if not seen.changed]
    assert len(stable) > 140 and not any(seen.is_decided for seen in stable)
    different = [seen for seen in stable if seen.p_value < DECISION]
    assert different and {seen.why for seen in different} == {
        "no change point yet: take more launches"
    }


def test_a_case_that_became_faster_and_one_that_stayed() -> None:
    faster = trend(launches(40, slower_from=30, by=0.8))
    assert faster.verdict is Verdict.FASTER and faster.change and faster.change[0] < -0.1
    Path("history.sqlite").unlink()
    same = trend(launches(40))
    assert (same.verdict, same.since, same.change) == (Verdict.SAME, "", None)


def test_of_a_rate_a_smaller_value_is_worse() -> None:
    seen = trend(launches(40, slower_from=30, benchmark="bandwidth", metric="bandwidth_GBps"))
    assert seen.verdict is Verdict.SLOWER
    assert seen.change and seen.change[0] == pytest.approx(1 / 1.2 - 1, abs=0.02)
    assert seen.change[1] < seen.change[0] < seen.change[2]


def test_the_baseline_is_before_the_newest_change_and_after_the_one_before() -> None:
    values = [*noise(30), *(1.5 * value for value in noise(30)), *noise(12)]
    records = [launch(number, value) for number, value in enumerate(values)]
    seen = trend(records)
    assert seen.verdict is Verdict.FASTER and seen.since[:10] == day_of(60)
    assert [point.median for point in seen.baseline] == medians(records)[30:60]
    assert len(trend(records, baseline=20).baseline) == 20


def test_an_earlier_change_below_the_threshold_does_not_shorten_the_baseline() -> None:
    levels = [1.0] * 30 + [1.01] * 30 + [1.2] * 5
    factors = noise(len(levels), 0.002)
    values = [level * factor for level, factor in zip(levels, factors)]
    records = [launch(number, value) for number, value in enumerate(values)]
    seen = trend(records)
    assert len(change_points([math.log(value) for value in values])) == 2
    assert (len(seen.baseline), seen.since[:10]) == (60, day_of(60))


def test_too_few_launches_say_how_many_more() -> None:
    seen = trend(launches(FEWEST - 4, slower_from=FEWEST - 7, by=3))
    assert (seen.word, seen.why) == ("not enough launches", "4 more launches decide")
    assert FEWEST_BEFORE == FEWEST - FEWEST_APART


def test_the_fewest_launches_are_enough() -> None:
    seen = trend(launches(FEWEST, slower_from=FEWEST - 3))
    assert seen.verdict is Verdict.SLOWER


def test_many_cases_are_corrected_for_their_number() -> None:
    """What decides for one case need not among 100."""
    sizes = [8 * number for number in range(1, 101)]
    records = [
        record
        for number, factor in enumerate(noise(20, 0.001))
        for size in sizes
        for record in [launch(number, factor * (1.2 if number > 16 else 1), bytes=size)]
    ]
    verdicts = {seen.verdict for seen in trends(records)}
    assert verdicts == {Verdict.INCONCLUSIVE}
    one = trends(records, Selection())[:1]
    assert judge([one[0].series])[0].verdict is Verdict.SLOWER
    assert "more launch" in one[0].why


def test_launches_of_a_busy_machine_are_left_out() -> None:
    records = [
        launch(
            number, 2 * factor * (1.5 if is_busy else 1), interference=BUSY if is_busy else QUIET
        )
        for number, factor in enumerate(noise(40))
        for is_busy in [number > 34]
    ]
    assert trend(records).verdict is Verdict.SAME
    assert trend(records, with_busy=True).verdict is Verdict.SLOWER


def test_a_machine_that_is_always_busy() -> None:
    seen = trend([launch(number, 2.0, interference=BUSY) for number in range(40)])
    assert seen.word == "not enough launches" and "stress used 1.0 of 2 cores" in seen.why


def test_a_case_that_fails_now() -> None:
    records = [*launches(20), launch(20, 2.0, status="failed", reason="wrong")]
    seen = trend(records)
    assert (seen.word, seen.is_worse_by(1)) == ("fails now", True)
    Path("history.sqlite").unlink()
    assert trend([*records, launch(21, 2.0)]).word != "fails now"


def test_a_change_is_explained_by_what_changed_with_it() -> None:
    seen = causes_of(trend(launches(40, slower_from=35)))
    assert str(seen) == "changed at once: ucx 1.18.0 → 1.19.0; not changed: kernel, mpi"


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        ({}, {"environment": {"UCX_TLS": "tcp"}}, "UCX_TLS not set → tcp"),
        ({}, {"selection": {"pml": "ob1"}}, "selected pml not set → ob1"),
        ({}, {"libraries": {"blas": "OpenBLAS"}}, "blas not set → OpenBLAS"),
        ({"versions": {"ucx": "1"}}, {"versions": {}}, "ucx 1 → not set"),
    ],
)
def test_all_that_may_be_a_cause(before: dict[str, Any], after: dict[str, Any], text: str) -> None:
    factors = enumerate(noise(30))
    records = [
        launch(number, factor * (1.3 if number > 24 else 1), **(after if number > 24 else before))
        for number, factor in factors
    ]
    assert text in causes_of(trend(records)).changed


def test_what_changed_long_before_or_at_random_is_no_cause() -> None:
    records = [
        launch(
            number,
            factor * (1.3 if number > 34 else 1),
            versions={**VERSIONS, "mpi": "a" if number < 20 else "b"},
            environment={"UCX_RANDOM": str(number), "UCX_OF_A_JOB": str(number // 5)},
        )
        for number, factor in enumerate(noise(40))
    ]
    assert str(causes_of(trend(records))) == (
        "changed at once: nothing that records have; not changed: kernel, mpi, ucx"
    )


def test_cases_of_two_machines_are_two() -> None:
    path = stored(Path("history.sqlite"), launches(20), machine="old")
    stored(path, launches(25), machine="new")
    with reading(path) as connection:
        names = {series.name for series in series_of(connection)}
        assert [len(series.points) for series in series_of(connection)] == [20, 5]
        assert all("old" in name or "new" in name for name in names)
        assert len(series_of(connection, Selection(machine="new"))) == 1
        with pytest.raises(CommlensError, match="--machine none: the history has none; it has new"):
            series_of(connection, Selection(machine="none"))
        with pytest.raises(CommlensError, match="fft: the history has none; it has latency"):
            series_of(connection, Selection("fft"))


def test_only_launches_since_a_day() -> None:
    with reading(stored(Path("history.sqlite"), launches(20))) as connection:
        (series,) = series_of(connection, Selection(since=day_of(12)))
        assert len(series.points) == 8
        with pytest.raises(CommlensError, match="no launch since 2030-01-01"):
            series_of(connection, Selection(since="2030-01-01"))


def test_of_a_launch_the_first_record_of_a_case_counts() -> None:
    records = [*launches(15), launch(14, 99.0)]
    assert len(trend(records).series.points) == 15


@pytest.mark.parametrize("text", ["", "d", "-1d", "1m", "2026-3-2", "2026-02-30", "99999d", "x"])
def test_what_is_no_day(text: str) -> None:
    assert day(text) is None


def test_days() -> None:
    assert day("2026-03-02") == "2026-03-02"
    assert day("0d") > day("1d") > day("1w") > day("1y")  # type: ignore[operator]
