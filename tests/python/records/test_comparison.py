"""What is called better and what is a tie, in groups, tables and choices."""

from __future__ import annotations

from typing import Any

import pytest

from commlens.records import Group, groups
from commlens.records.results import Statistic
from record_helpers import parsed
from sample_applications import make_exchange_record
from sample_records import make_record, statistic
from show_helpers import shown


def grouped(*records: dict[str, Any]) -> Group:
    (group,) = groups(parsed(*records))
    return group


def ties(group: Group) -> list[bool]:
    found = [group.standing(one) for one in group.records]
    return [one.is_tie for one in found if one]


def without_interval(record: dict[str, Any], count: int = 5) -> dict[str, Any]:
    for own in record["statistics"].values():
        own |= {"count": count, "ci_low": None, "ci_high": None}
    return record


@pytest.mark.parametrize(
    ("changes", "tie", "why"),
    [
        ({}, True, "intervals of 10 and 10 samples overlap"),
        ({"ci_low": 2.04}, True, "overlap"),  # ends that touch
        ({"ci_low": 2.05}, False, ""),
        ({"ci_low": None, "ci_high": None, "count": 5}, True, "10 and 5 samples: too few"),
    ],
)
def test_medians_differ_where_intervals_do_not_overlap(
    changes: dict[str, Any], tie: bool, why: str
) -> None:
    one = Statistic(**statistic(2.0))
    other = Statistic(**{**statistic(2.07), "ci_low": 2.0, **changes})
    assert is_tie(one, other) is is_tie(other, one) is tie
    assert not tie or why in why_tie(one, other)


def test_what_the_samples_do_not_tell_apart_is_a_tie() -> None:
    """Intervals are 2% to each side: 2.00 and 2.05 overlap, 2.00 and 2.10 do not."""
    times = {"mpi": 2.0, "staged": 2.05, "ccl": 2.1}
    records = [make_record(median_us=us, transport=name) for name, us in times.items()]
    assert ties(grouped(*records)) == [True, True, False]
    assert ties(grouped(records[0], records[2])) == [False, False]


def test_without_an_interval_nothing_is_better() -> None:
    slow = without_interval(make_record(median_us=50, transport="ccl"))
    assert ties(grouped(make_record(median_us=2), slow)) == [True, True]


def test_tables_say_tie_and_how_many_samples_there_are() -> None:
    slow = without_interval(make_record(median_us=50, transport="staged"), count=2)
    lines = shown(make_record(median_us=2), slow)
    assert any("10 25% memory copy tie passed" in line for line in lines)
    assert any("too few samples 2 1% memory copy tie passed" in line for line in lines)


def test_a_choice_that_the_table_contradicts_was_within_noise() -> None:
    """`used` is who was faster in a few trials; the table has the samples."""

    def candidates(other_us: float, chosen_us: float) -> list[str]:
        chosen = make_exchange_record("pairwise", together_us=chosen_us, seconds=1e-6)
        other = make_exchange_record("all-reduce", together_us=other_us, seconds=2e-6)
        return [line for line in shown(chosen, other) if line.startswith("used config")]

    assert candidates(100, 100)[0].endswith("(in this table a tie: the choice was within noise)")
    assert "is 2.00x better: the choice was within noise" in candidates(50, 100)[0]
    assert "noise" not in candidates(100, 50)[0]


def test_an_interval_that_was_not_reached_is_told() -> None:
    harness = {"timing": "batch", "repeat": 100, "warmup": 10, "batches": 10}
    asked = {**harness, "until_ci_percent": 1.0, "max_time_s": 5.0}
    said = "--until-ci 1% not reached (mpi, host): +-2% after 10 samples within --max-time 5 s"
    assert said in shown(make_record(harness=asked))
    assert not any("until-ci" in line for line in shown(make_record(harness=harness)))
    reached = {**asked, "until_ci_percent": 3.0}
    assert not any("until-ci" in line for line in shown(make_record(harness=reached)))
    lines = shown(without_interval(make_record(harness=asked)))
    assert any("not reached (mpi, host): no interval" in line for line in lines)
