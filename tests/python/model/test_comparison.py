"""What is called better and what is a tie, in groups, tables and choices."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from commlens.compare import Verdict, judge, match, split
from commlens.model import Group, Metric, Record, difference, groups
from commlens.model.comparison import Difference, decide
from record_helpers import launches, parsed
from run_helpers import cases
from sample_applications import make_exchange_record
from sample_records import make_record, statistic
from show_helpers import shown


def grouped(*records: dict[str, Any]) -> Group:
    (group,) = groups(parsed(*records))
    return group


def ties(group: Group) -> list[bool]:
    standings = [group.standing(record) for record in group.records]
    return [bool(standing.tie) for standing in standings if standing]


def without_interval(record: dict[str, Any], count: int = 5) -> dict[str, Any]:
    for values in record["statistics"].values():
        values |= {"count": count, "ci_low": None, "ci_high": None}
    return record


def pair(
    baseline: dict[str, Any], other: dict[str, Any], launches: tuple[str, str] = ("one", "one")
) -> tuple[Record, Record, Metric]:
    """Two records with these statistics of their latency, of these launches."""
    records: list[Record] = []
    for transport, values, start in zip(("mpi", "staged"), (baseline, other), launches):
        raw = make_record(transport=transport, start=start)
        raw["statistics"]["latency_us"] = values
        raw["samples"]["values_s"] = [1e-6 * values["median"]] * 10
        records += parsed(raw)
    return records[0], records[1], records[0].start.metrics["latency_us"]


@pytest.mark.parametrize(("changes", "tie", "why"), cases("intervals of medians"))
def test_in_a_start_medians_differ_where_intervals_do_not_overlap(
    changes: dict[str, Any], tie: str, why: str
) -> None:
    baseline, other = statistic(2.0), {**statistic(2.07), "ci_low": 2.0, **changes}
    for arguments in (pair(baseline, other), pair(other, baseline)):
        assert decide([difference(*arguments)])[0].tie == tie
    arguments = pair(baseline, other)
    assert not tie or why in difference(*arguments).why_tie


@pytest.mark.parametrize("us", [2.5, 4.4, 200])
def test_of_two_starts_none_is_better(us: float) -> None:
    arguments = pair(statistic(2.0), statistic(us), ("one", "another"))
    assert difference(*arguments).verdict is Verdict.INCONCLUSIVE
    assert difference(*arguments).why_tie == "1 and 1 launches: too few"


@pytest.mark.parametrize(("baseline", "other", "together", "differs"), cases("medians of launches"))
def test_launches_differ_by_more_than_launches_may(
    baseline: list[float], other: list[float], together: bool, differs: bool
) -> None:
    first = parsed(*launches(*baseline, name="a"))
    second = parsed(*launches(*other, name="a" if together else "b"))
    assert Difference(first, second, first[0].start.metrics["latency_us"]).differs is differs


def test_more_is_worse_or_better_as_the_metric_says() -> None:
    slow, fast = (
        parsed(*launches(*(us + 0.01 * n for n in range(5)), name=name, metric="bandwidth_GBps"))
        for us, name in ((2.2, "a"), (2.0, "b"))
    )
    compared = Difference(slow, fast, slow[0].start.metrics["bandwidth_GBps"])
    assert compared.ratio == pytest.approx(2 / 2.2, rel=0.01)
    assert compared.interval is not None
    assert compared.interval.high < 1


def test_a_median_of_0_has_no_ratio() -> None:
    raw = make_record()
    raw["statistics"]["latency_us"] |= {"median": 0.0, "ci_low": 0.0, "min": 0.0}
    baseline, other = parsed(raw, make_record(start="other"))
    compared = Difference([baseline], [other], baseline.start.metrics["latency_us"])
    assert compared.ratio is None
    assert not compared.differs


@pytest.mark.parametrize("launches", [1, 5])
def test_absurd_values_have_a_ratio_that_is_a_number(launches: int) -> None:
    least, most = (
        [make_record(start=f"{name}{number}") for number in range(launches)] for name in "ab"
    )
    for raw in least:
        raw["statistics"]["latency_us"] |= {"min": 0.0, "median": 1e-310, "ci_low": 1e-310}
    for raw in most:
        raw["statistics"]["latency_us"] |= {"median": 1e30, "ci_high": 1e30, "max": 1e30}
    baseline, other = parsed(*least), parsed(*most)
    compared = Difference(baseline, other, baseline[0].start.metrics["latency_us"])
    assert compared.ratio == pytest.approx(sys.float_info.max)
    assert compared.differs is (launches == 5)


def test_samples_that_do_not_differ_are_a_tie() -> None:
    """Intervals are 2% to each side: 2.00 and 2.05 overlap, 2.00 and 2.10 do not."""
    times = {"mpi": 2.0, "staged": 2.05, "ccl": 2.1}
    records = [make_record(median_us=us, transport=name) for name, us in times.items()]
    assert ties(grouped(*records)) == [True, True, False]
    assert ties(grouped(records[0], records[2])) == [False, False]


@pytest.mark.parametrize(("sizes", "is_sure"), [(1, True), (10, False)])
def test_a_table_and_a_comparison_decide_alike(sizes: int, is_sure: bool) -> None:
    """By one function, with the same correction for the number of cases: what is sure of one case
    is not of the least sure ones of many."""
    near = [2.0 + 0.01 * n for n in range(10)], [2.055 + 0.01 * n for n in range(10)]
    records = []
    for size in range(1, sizes + 1):
        for transport, values in zip(("mpi", "staged"), near):
            record = make_record(bytes=size, transport=transport, median_us=values[5])
            record["samples"]["values_s"] = [1e-6 * value for value in values]
            ends = {"ci_low": 0.99 * values[5], "ci_high": 1.01 * values[5]}
            record["statistics"]["latency_us"] |= ends
            records.append(record)
    group = grouped(*records)
    (baseline, other), key_of = split(group.records, "transport")
    verdicts = {row.verdict for row in judge([match(baseline, other, key_of)]).rows}
    assert ties(group) == [not is_sure] * len(records)
    assert verdicts == {Verdict.SLOWER if is_sure else Verdict.INCONCLUSIVE}


def test_without_an_interval_nothing_is_better() -> None:
    slow = without_interval(make_record(median_us=50, transport="ccl"))
    assert ties(grouped(make_record(median_us=2), slow)) == [True, True]


def test_tables_say_tie_and_how_many_samples_there_are() -> None:
    slow = without_interval(make_record(median_us=50, transport="staged"), count=2)
    lines = shown(make_record(median_us=2), slow)
    assert any("10 25% memory copy inconclusive passed" in line for line in lines)
    assert any("too few samples 2 1% memory copy inconclusive passed" in line for line in lines)


def test_a_choice_that_the_table_contradicts_was_within_noise() -> None:
    """`used` is who was faster in a few trials; the table has the samples."""

    def candidates(other_us: float, chosen_us: float) -> list[str]:
        chosen = make_exchange_record("pairwise", together_us=chosen_us, seconds=1e-6)
        other = make_exchange_record("all-reduce", together_us=other_us, seconds=2e-6)
        return [line for line in shown(chosen, other) if line.startswith("used config")]

    assert candidates(100, 100)[0].endswith(
        "(in this table inconclusive: the choice was within noise)"
    )
    assert "is 2.00x better: the choice was within noise" in candidates(50, 100)[0]
    assert "noise" not in candidates(100, 50)[0]


def test_an_interval_that_was_not_reached_is_named() -> None:
    harness = {"timing": "batch", "repeat": 100, "warmup": 10, "batches": 10}
    asked = {**harness, "until_ci_percent": 1.0, "max_time_s": 5.0}
    said = "--until-ci 1% not reached (mpi, host): +-2% after 10 samples within --max-time 5 s"
    assert said in shown(make_record(harness=asked))
    assert not any("until-ci" in line for line in shown(make_record(harness=harness)))
    reached = {**asked, "until_ci_percent": 3.0}
    assert not any("until-ci" in line for line in shown(make_record(harness=reached)))
    lines = shown(without_interval(make_record(harness=asked)))
    assert any("not reached (mpi, host): no interval" in line for line in lines)
