"""What a variant is worth, and one problem on several numbers of ranks."""

from __future__ import annotations

from typing import Any

import pytest

from commlens.model import Record, groups
from commlens.model.scaling import pairs, scalings
from commlens.render.show.scaling import format_gain
from record_helpers import parsed
from sample_applications import (
    make_overlap_record,
    make_transform_record,
    make_transform_records,
)
from sample_records import make_record, statistic


def on_ranks(*counts: int, **changes: Any) -> list[dict[str, Any]]:
    return [record for ranks in counts for record in make_transform_records(ranks=ranks, **changes)]


# What a variant is worth


def test_the_speed_up_is_before_over_after_less_1() -> None:
    before = make_transform_record("per-transpose", together_ms=238.0)
    after = make_transform_record("cached", together_ms=213.0)
    after["statistics"]["time_ms"]["min"] = 119.0  # of before 0.9 * 238
    (group,) = groups(parsed(before, after))
    (pair,) = pairs(group)
    assert (pair.before.variant_value, pair.after.variant_value) == ("per-transpose", "cached")
    assert pair.metric.name == "time_ms"
    assert format_gain(pair.gain) == "11.7%", "the seed's table rounds it to 12"
    assert format_gain(pair.gain_of_best) == "80.0%"


def test_a_loss_is_negative_and_a_rate_is_compared_by_its_time() -> None:
    metrics = ["fft_GFLOPs", "cp2k_Mflops", "time_ms"]
    before, after = make_transform_records(metrics=metrics)
    for record, microseconds in ((before, 10.0), (after, 20.0)):
        record["statistics"]["time_us"] = statistic(microseconds)
    (group,) = groups(parsed(before, after))
    assert [pair.metric.name for pair in pairs(group)] == ["time_us"]
    assert [format_gain(pair.gain) for pair in pairs(group)] == ["-50.0%"]


def test_what_is_many_times_as_fast_has_no_percentage() -> None:
    assert [format_gain(gain) for gain in (9.5, 10, 5632.2)] == ["950.0%", "11x", "5,633x"]


def test_only_measured_records_are_compared() -> None:
    before, after = make_transform_records()
    staged = make_transform_record("cached", transport="staged")
    (group,) = groups(parsed(before, {**after, "status": "failed", "reason": "wrong"}, staged))
    assert pairs(group) == []
    assert pairs(groups(parsed(make_record(), make_record(transport="staged")))[0]) == []


# What belongs to one problem


def test_a_problem_keeps_its_name_when_its_ranks_are_arranged_anew() -> None:
    (scaling,) = scalings(groups(parsed(*on_ranks(8, 2, 4))))
    assert [group.ranks for group in scaling.groups] == [2, 4, 8]
    assert [parameter.title for parameter in scaling.arrangements] == ["grid-of-ranks"]
    assert "grid-of-ranks" not in scaling.title
    assert scaling.title.startswith("grid 125x125x125 · exchange alltoallv")


def test_an_arrangement_that_was_asked_for_is_another_problem() -> None:
    roles = {"grid_of_ranks": "setting"}
    assert scalings(groups(parsed(*on_ranks(8, 2, 4, roles=roles)))) == []


def test_parameters_that_follow_from_the_size_are_no_arrangement() -> None:
    records = [
        make_record(parameters={"bytes": size, "count": size // 8}, ranks=ranks)
        for ranks in (2, 4)
        for size in (1024, 2048)
    ]
    (scaling,) = scalings(groups(parsed(*records)))
    assert scaling.arrangements == []


def test_other_problems_stay_apart() -> None:
    grids = [make_transform_record(ranks=ranks, grid=f"{ranks}x8x8") for ranks in (2, 4)]
    sizes = [make_record(bytes=8 * ranks, ranks=ranks) for ranks in (2, 4)]
    names = [make_record(benchmark=str(ranks), ranks=ranks) for ranks in (2, 4)]
    backends = [make_record(backend=str(ranks), ranks=ranks) for ranks in (2, 4)]
    for records in (grids, sizes, names, backends):
        all_groups = groups(parsed(*records))
        assert scalings(all_groups) == []
        assert len(scalings(all_groups, fewest=1)) == 2


def test_nodes_may_grow_with_the_ranks() -> None:
    records = [make_record(ranks=ranks, nodes=ranks // 2) for ranks in (2, 4)]
    assert len(scalings(groups(parsed(*records)))) == 1


def test_skipped_records_are_no_problem() -> None:
    skipped = [make_record(status="skipped", reason="none", ranks=ranks) for ranks in (1, 2)]
    assert scalings(groups(parsed(*skipped)), fewest=1) == []


def test_ranks_that_share_cores_are_oversubscribed() -> None:
    def placed(*places: tuple[str, str]) -> Record:
        placement = [
            {"rank": rank, "host": host, "cores": cores, "numa_nodes": "0"}
            for rank, (host, cores) in enumerate(places)
        ]
        return parsed(make_record(ranks=len(places), placement=placement))[0]

    assert not placed(("a", "0"), ("a", "1")).start.is_oversubscribed
    assert not placed(("a", "0-3"), ("a", "0-3")).start.is_oversubscribed
    assert not placed(("a", "0"), ("b", "0")).start.is_oversubscribed
    assert not placed(("a", ""), ("a", "")).start.is_oversubscribed, "not known"
    assert placed(("a", "0,2"), ("a", "0,2"), ("a", "2")).start.is_oversubscribed
    assert placed(("b", "0-7"), ("a", "5"), ("a", "5")).start.is_oversubscribed


@pytest.mark.parametrize("fewest", [1, 2])
def test_a_sweep_and_a_single_size_are_two_problems(fewest: int) -> None:
    sweep = [make_record(bytes=size, ranks=2, start="a") for size in (8, 16)]
    all_groups = groups(parsed(*sweep, make_record(bytes=8, ranks=4, start="b")))
    assert len(scalings(all_groups, fewest)) == (2 if fewest == 1 else 0)
    overlap = [make_overlap_record(ranks=ranks) for ranks in (1, 2)]
    assert len(scalings(groups(parsed(*overlap)), fewest)) == 1
