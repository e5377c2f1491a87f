"""Several starts as one record, in tables and in pictures."""

from __future__ import annotations

from commlens.model import groups, launches_of, over_launches
from commlens.model.launches import OverLaunches
from record_helpers import launches, parsed
from sample_applications import make_exchange_record
from sample_records import make_record
from show_helpers import shown


def test_a_record_over_starts_has_the_median_of_their_medians() -> None:
    (merged,) = over_launches(parsed(*launches(2, 5, 3)))
    assert isinstance(merged, OverLaunches)
    statistic = merged.statistics["latency_us"]
    assert (statistic.count, statistic.median, statistic.min, statistic.max) == (3, 3, 2, 5)
    assert statistic.ci_low is None  # 6 make an interval
    assert len(launches_of(merged)) == 3


def test_from_6_starts_on_there_is_an_interval() -> None:
    (merged,) = over_launches(parsed(*launches(2, 5, 3, 4, 7, 6)))
    statistic = merged.statistics["latency_us"]
    assert (statistic.median, statistic.ci_low, statistic.ci_high) == (4.5, 2, 7)


def test_other_settings_versions_and_failures_stay_apart() -> None:
    records = [
        make_record(start="one"),
        make_record(start="two", environment={"UCX_TLS": "sm"}),
        make_record(start="three", versions={"mpi": "Open MPI 5.0.7"}),
        make_record(start="four", status="failed", reason="a wrong byte"),
    ]
    assert not any(isinstance(record, OverLaunches) for record in over_launches(parsed(*records)))


def test_a_case_measured_twice_in_a_start_stays_twice() -> None:
    (raw,) = launches(2)
    assert len(over_launches(parsed(raw, {**raw, "time": "2025-01-02T03:04:06Z"}))) == 2


def test_a_case_that_several_starts_skipped_is_named_once() -> None:
    records = parsed(*launches(2, 3, status="skipped", reason="no GPU"))
    assert len(over_launches(records)) == 1


def test_tables_have_a_row_over_starts_and_wide_each() -> None:
    records = launches(2, 5, 3)
    lines = shown(*records)
    assert any(line.endswith("timing batch · medians of 3 launches") for line in lines)
    assert any("3.000 2.000 to 5.000 (range) 3 launches" in line for line in lines)
    wide = shown(*records, wide=True)
    assert sum(" host default settings, start" in line for line in wide) >= 3
    assert any(line.endswith("timing batch · one launch") for line in wide)


def test_an_interval_over_starts_is_no_range() -> None:
    lines = shown(*launches(2, 5, 3, 4, 7, 6))
    assert any("4.500 2.000 to 7.000 6 launches" in line for line in lines)


def test_an_application_uses_the_fastest_over_launches() -> None:
    records = [
        make_exchange_record(mode, together_us=100, seconds=seconds, start=start)
        for start in ("one", "two", "three")
        for mode, seconds in (("pairwise", 1e-6), ("all-reduce", 2e-6))
    ]
    (group,) = groups(over_launches(parsed(*records)))
    used = [record for record in group.records if record in group.used]
    assert len(used) == 1


def test_parts_and_ceilings_are_medians_over_starts() -> None:
    records = launches(2, 4, 8)
    for raw, rate in zip(records, (10.0, 30.0, 20.0)):
        raw["ceilings"][0]["rate"] = rate
    (merged,) = over_launches(parsed(*records))
    assert merged.ceilings[0].rate == 20
    assert merged.ceilings[0].fraction == 0.125
