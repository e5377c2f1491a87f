"""Very many records: every case has its row, and the work for a case does not grow with them."""

from __future__ import annotations

import cProfile
import pstats

import pytest

from commlens.compare import Side, judge, match
from commlens.compare.verdicts import ComparisonResult
from commlens.model import read
from commlens.model.rank_test import DECISION, fewest_for
from commlens.render.comparison import comparison_of
from sample_records import lines, make_record

CASES = 2_000


def side(name: str, us: float, cases: int, launches: int) -> Side:
    records = (
        make_record(median_us=us * (1 + 0.001 * start), start=f"{name}{start}", bytes=size)
        for start in range(launches)
        for size in range(1, cases + 1)
    )
    return Side(name, read(lines(records)).records)


def compared(baseline: Side, other: Side) -> ComparisonResult:
    return judge([match(baseline, other)])


def test_thousands_of_cases_have_a_row_each(capsys: pytest.CaptureFixture[str]) -> None:
    result = compared(side("before", 2.0, CASES, 1), side("after", 2.2, CASES + 500, 1))
    assert len(result.rows) == CASES
    assert all(row.difference.ratio == pytest.approx(1.1) for row in result.rows)
    comparison_of(result).print_as("table")
    table = capsys.readouterr().out
    assert {row.launches_needed for row in result.rows} == {fewest_for(DECISION / CASES)}
    assert sum("inconclusive  " in line for line in table.splitlines()) == CASES
    assert "only in after (500 cases)" in table
    assert "and 488 more cases (--format json has all)" in table
    assert f"{CASES} cases: {CASES} inconclusive" in table


def test_a_case_takes_as_many_calls_among_many_as_among_few() -> None:
    def calls(cases: int) -> int:
        sides = side("before", 2.0, cases, 5), side("after", 2.2, cases, 5)
        profile = cProfile.Profile()
        result = profile.runcall(compared, *sides)
        assert len(result.rows) == cases
        return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]

    calls(10)  # what is done once
    few, many = calls(100), calls(400)
    assert many - few < 3.5 * few
