"""What a group has beside its main table: parts, shares, ceilings, calls, deviations, scaling."""

from __future__ import annotations

from typing import Any

from sample_applications import (
    COPIES,
    MULTIPLICATIONS,
    REDUCTIONS,
    make_overlap_record,
    make_transform_record,
    make_transform_records,
)
from sample_records import make_record
from show_helpers import shown


def on_ranks(*counts: int) -> list[dict[str, Any]]:
    return [record for ranks in counts for record in make_transform_records(ranks=ranks)]


# Parts


def test_show_has_the_parts_alone_and_together() -> None:
    parts = {MULTIPLICATIONS: 5e5, REDUCTIONS: 4e5, COPIES: 2e5}
    sweep = [
        make_overlap_record(block=block, transport=name, parts_us=parts, together_us=1.2e6)
        for block in (366, 732)
        for name in ("mpi", "staged")
    ]
    lines = shown(*sweep)
    head = lines.index(
        "multiplications alone reductions alone copies alone ideal together hidden overlap"
    )
    assert lines[head + 1 : head + 5] == [
        "block transport memory compute (s) communication (s) communication (s) (s) (s) "
        "communication efficiency",
        lines[head + 2],
        "366 mpi host 0.5000 0.4000 0.2000 0.6000 1.200 - 50%",
        "staged host 0.5000 0.4000 0.2000 0.6000 1.200 - 50%",
    ]
    without = {MULTIPLICATIONS: 500.0, REDUCTIONS: 400.0}
    lines = shown(make_overlap_record(parts_us=without, together_us=625.0))
    assert (
        "block transport memory compute (us) communication (us) (us) (us) communication efficiency"
        in lines
    )
    assert "732 mpi host 500.0 400.0 500.0 625.0 - 80%" in lines


def test_what_the_parts_say_is_not_said_twice() -> None:
    assert not any("overlap efficiency" in line for line in shown(make_overlap_record()))
    assert any("overlap efficiency" in line for line in shown(make_overlap_record(), wide=True))
    assert any("overlap efficiency" in line for line in shown(make_overlap_record(parts=[])))


def test_show_has_every_ceiling_with_its_rate() -> None:
    lines = shown(make_overlap_record(), make_record())
    assert "732 mpi host 58.40 TFLOP/s 85% 55.10 TFLOP/s 90% 55.00 GB/s 12%" in lines
    heads = [line for line in lines if "ceiling:" in line]
    assert heads == ["ceiling: ceiling: ceiling:"], "a record with one needs no table of them"
    heads = [line for line in shown(make_record(), wide=True) if "ceiling:" in line]
    assert heads == ["ceiling:"], "its rate is there if all is asked for"


def test_show_has_both_variants_and_what_one_is_worth() -> None:
    lines = shown(*make_transform_records())
    head = next(line for line in lines if line.startswith("transport memory communicators time"))
    assert "cp2k (Mflop/s) fft (GFLOP/s)" in head
    assert any(line.startswith("mpi host per-transpose 22.00 21.56 to 22.44") for line in lines)
    assert any(line.startswith("mpi host cached 18.00 17.64 to 18.36") for line in lines)
    gain = "speed-up 22.2% by the medians, 22.2% by the best times"
    assert f"cached over per-transpose (mpi, host): {gain}" in lines
    assert not any("by ranks" in line for line in lines), "there is but one number of ranks"


def test_show_has_the_shares_of_the_parts() -> None:
    lines = shown(*make_transform_records())
    assert "local FFT pack and unpack communication communicators other together" in lines
    row = (
        "mpi host per-transpose 6.000 ( 27%) 3.000 ( 14%) 8.000 ( 36%) 4.000 ( 18%) "
        "1.000 (4.5%) 22.00"
    )
    assert row in lines
    assert not any("alone" in line and "alltoall" not in line for line in lines)
    assert not any("overlap" in line for line in lines)


def test_show_has_the_ceilings_of_parts_and_the_calls() -> None:
    lines = shown(*make_transform_records())
    head = lines.index("ceiling of ceiling of")
    assert lines[head + 1 : head + 3] == [
        "pack and unpack: communication:",
        "transport memory communicators memory copy of it alltoall alone of it",
    ]
    assert "mpi host cached 24.00 GB/s 80% 7.200 ms 90%" in lines
    functions = "MPI_Cart_sub MPI_Cart_rank MPI_Comm_free MPI_Alltoallv"
    assert f"transport memory communicators {functions}" in lines
    assert "mpi host per-transpose 4 20 4 4" in lines
    assert "mpi host cached - - - 4" in lines


def test_calls_that_are_the_same_for_all_are_said_once() -> None:
    both = [make_record(transport=name, calls={"MPI_Isend": 64, "MPI_Wait": 1}) for name in "ab"]
    lines = shown(*both, make_record(transport="c"))
    assert "calls per operation: MPI_Isend 64, MPI_Wait 1" in lines
    assert not any("calls of" in line for line in lines)
    both[1]["calls"]["MPI_Wait"] = 2
    lines = shown(*both)
    assert any("calls of" in line for line in lines)
    assert not any("calls per operation" in line for line in lines)


def test_show_has_the_deviations() -> None:
    deviation = {"largest": 1.25e-15, "total": 3e-9}
    validation = {"status": "passed", "checks": 1, "elements": 1, "message": "", "exact": False}
    lines = shown(make_record(validation={**validation, "deviation": deviation}))
    assert "size transport memory largest error sum of errors" in lines
    assert "1 KiB mpi host 1.2e-15 3e-09" in lines


# Several numbers of ranks


def test_show_has_the_main_metric_by_ranks() -> None:
    times = {1: 1.7e6, 2: 0.9e6, 4: 0.85e6}
    lines = shown(*(make_overlap_record(ranks=n, together_us=us) for n, us in times.items()))
    head = lines.index("transport memory ranks time (s) 95% CI speed-up efficiency")
    assert any(line.startswith("pipeline by ranks strong scaling") for line in lines)
    assert lines[head + 2 : head + 5] == [
        "mpi host 1 1.700 1.666 to 1.734 1.00 100%",
        "2 0.9000 0.8820 to 0.9180 1.89 (inconclusive) 94%",
        "4 0.8500 0.8330 to 0.8670 2.00 (inconclusive) 50%",
    ]


def test_with_5_starts_each_a_speed_up_is_one() -> None:
    records = [
        make_overlap_record(ranks=ranks, together_us=us + 1e3 * start, start=f"{ranks}-{start}")
        for ranks, us in ((1, 1.7e6), (2, 0.9e6))
        for start in range(5)
    ]
    assert any(line.endswith(" 1.89 94%") for line in shown(*records))


def test_a_problem_that_grows_with_the_ranks_has_the_efficiency_of_weak_scaling() -> None:
    times = {1: 1.0e6, 2: 1.25e6}
    records = [
        make_record(
            benchmark="bp5", parameters={"edge": 20}, ranks=n, metric="time_us", median_us=us
        )
        for n, us in times.items()
    ]
    lines = shown(*records)
    assert any(line.startswith("bp5 by ranks weak scaling") for line in lines)
    head = next(n for n, line in enumerate(lines) if "95% CI efficiency" in line)
    assert lines[head + 2].endswith(" 100%") and lines[head + 3].endswith(" 80%")


def test_speed_up_of_overlapping_intervals_is_inconclusive() -> None:
    lines = shown(
        *(make_overlap_record(ranks=n, together_us=us) for n, us in ((1, 1e6), (2, 9.8e5)))
    )
    assert any("1.02 (inconclusive) 51%" in line for line in lines)


def test_what_is_no_problem_to_divide_has_its_metrics_by_ranks_and_no_efficiency() -> None:
    records = [
        make_record(ranks=ranks, bytes=size, metric="bandwidth_GBps", median_us=us)
        for ranks, us in ((2, 2.0), (4, 1.0))
        for size in (1024, 2048)
    ]
    lines = shown(*records)
    head = lines.index("size transport memory ranks bandwidth (GB/s) 95% CI")
    assert lines[head + 2].startswith("1 KiB mpi host 2 0.5120")
    assert lines[head + 3].startswith("4 1.024 1.004 to 1.044")
    assert lines[head + 4].startswith("2 KiB mpi host 2 1.024")


def test_what_failed_has_a_row() -> None:
    records = on_ranks(2, 4)
    records[3] |= {"status": "failed", "reason": "wrong"}
    lines = shown(*records)
    assert "mpi host 2 2x1 19.80 16.20 22.2% 22.00 18.00 22.2%" in lines
    assert "4 2x2 - - - - - - failed" in lines


def test_transports_are_in_the_order_of_their_starts() -> None:
    records = [
        make_transform_record(transport=name, transports=["ofi", "mpi"], ranks=ranks, variant=None)
        for ranks in (2, 4)
        for name in ("mpi", "ofi")
    ]
    lines = shown(*records)
    head = "transport memory ranks grid-of-ranks time (ms) 95% CI speed-up efficiency"
    table = lines[lines.index(head) :]
    assert table[2].startswith("ofi host 2") and table[4].startswith("mpi host 2")


def test_ranks_that_share_cores_are_marked() -> None:
    placement = [{"rank": rank, "host": "a", "cores": "0", "numa_nodes": "0"} for rank in range(2)]
    lines = shown(make_record(ranks=1), make_record(ranks=2, placement=placement))
    assert any(line.endswith("oversubscribed") for line in lines)
