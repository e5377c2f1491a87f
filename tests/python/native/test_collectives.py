"""Collective operations as benchmarks: sizes, types, calls, and the layouts of OSU and nccl-tests.
That every operation gives every rank what it must is tested by collectives_test."""

from __future__ import annotations

from pathlib import Path

import pytest

from native_helpers import (
    BRIEFLY,
    NOTHING_RAN,
    measured,
    native,
    needs_native,
    ran,
    records_in,
)

pytestmark = needs_native


def test_a_size_of_the_array_is_rounded_up_and_said(tmp_path: Path) -> None:
    words = "--size-of array --bytes 8:64 --dtype f32 --transport mpi"
    job = ran(tmp_path, 3, "reduce-scatter", words, *BRIEFLY)
    assert "multiples of 12 B, f32 of each of the 3 ranks: 8 B is 12 B" in job.output
    records = records_in(tmp_path / "records.jsonl")
    assert [record.parameters["bytes"] for record in records] == [4, 8, 12, 24]


def test_small_floats_are_reduced_by_a_function_of_ours(tmp_path: Path) -> None:
    for dtype, expected in (("bf16", 1), ("f8e4m3", 1), ("f32", None)):
        words = f"--dtype {dtype} --bytes 4K --transport mpi"
        (record,) = measured(tmp_path, 3, "reduce", words, *BRIEFLY)
        assert record.validation.status == "passed" and record.validation.exact
        assert record.facts.get("user_defined_reduction") == expected


def test_a_computation_hides_communication(tmp_path: Path) -> None:
    words = "--bytes 4K --out-of-place --call nonblocking --compute cpu --transport mpi"
    (record,) = measured(tmp_path, 2, "allreduce", words, *BRIEFLY)
    assert [part.name for part in record.parts] == ["communication", "computation"]
    assert "overlap_efficiency" in record.statistics
    words = words.replace("--out-of-place", "--reduction max")  # in place, where it keeps its input
    (record,) = measured(tmp_path, 2, "allreduce", words, *BRIEFLY)
    assert "overlap_efficiency" in record.statistics


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("alltoall --call nonblocking --compute gpu --memory host", "needs buffers on a GPU"),
        ("broadcast --out-of-place", "MPI_Bcast has one buffer only"),
        ("allreduce --reduction avg", "MPI has no reduction avg"),
        ("reduce --dtype c64 --reduction max", "complex numbers are only summed"),
    ],
)
def test_what_a_library_lacks_is_skipped(words: str, reason: str, tmp_path: Path) -> None:
    job = native(tmp_path, 2, words, "--bytes 64 --transport mpi --record records.jsonl")
    assert job.status == NOTHING_RAN
    (record,) = records_in(tmp_path / "records.jsonl")
    assert record.status == "skipped" and reason in record.reason


def test_blocks_that_a_library_exchanges_are_skipped(tmp_path: Path) -> None:
    """Open MPI up to 5.0 does so in non-blocking calls; a library that does not is measured."""
    words = "neighbor-alltoall --dimensions 1 --periodic --call nonblocking --bytes 64"
    native(tmp_path, 2, words, "--transport mpi --record records.jsonl", *BRIEFLY)
    (record,) = records_in(tmp_path / "records.jsonl")
    if record.status == "skipped":
        assert "the neighbor on both sides (nonblocking MPI_Neighbor_alltoall)" in record.reason
    else:
        assert record.status == "ok" and record.validation.status == "passed"


def test_neighbors_in_a_grid(tmp_path: Path) -> None:
    words = "--grid-of-ranks 1x2x2 --bytes 64:128 --transport mpi --format osu"
    output = ran(tmp_path, 4, "neighbor-alltoallv", words, *BRIEFLY).output
    assert "\n# OSU MPI Neighborhood All-to-Allv Latency Test v7.4\n" in output
    rows = [line.split() for line in output.splitlines() if line and not line.startswith("#")]
    assert [row[0] for row in rows] == ["64", "128"]
    first, _ = records_in(tmp_path / "records.jsonl")
    shown = ("dimensions", "grid_of_ranks", "periodic")
    assert [first.parameters[name] for name in shown] == [3, "1x2x2", False]
    rate = first.statistics["algorithm_bandwidth_GBps"].max
    received = 1e9 * rate * min(first.samples.values_s)
    assert received == pytest.approx(2 * 64)  # each rank has one neighbor in two dimensions


def test_a_hypercube_of_three_ranks_is_skipped(tmp_path: Path) -> None:
    words = "hypercube --bytes 64 --transport mpi --record records.jsonl"
    assert native(tmp_path, 3, words).status == NOTHING_RAN
    (record,) = records_in(tmp_path / "records.jsonl")
    assert record.reason == "a hypercube has 2, 4, 8 ... ranks, not 3"


@pytest.mark.parametrize(("words", "in_place"), [("", False), ("--in-place", True)])
def test_rows_of_nccl_tests(words: str, in_place: bool, tmp_path: Path) -> None:
    options = f"--dtype f32 --size-of array --bytes 64:1K:x4 --transport mpi --format nccl {words}"
    output = ran(tmp_path, 2, "allgather", options, *BRIEFLY).output
    rows = [line.split() for line in output.splitlines() if line and not line.startswith("#")]
    assert [row[:5] for row in rows] == [
        [str(size), str(size // 8), "float", "none", "-1"] for size in (64, 256, 1024)
    ]
    for row in rows:
        measured_side, other = (row[9:], row[5:9]) if in_place else (row[5:9], row[9:])
        assert other == ["N/A"] * 4 and measured_side[3] == "0" and float(measured_side[0]) > 0
    assert "# Out of bounds values : 0 OK" in output and "# Avg bus bandwidth    : " in output


def test_sizes_of_osu(tmp_path: Path) -> None:
    options = "--dtype f32 --size-of array --bytes 8:32 --transport mpi --format osu"
    output = ran(tmp_path, 2, "reduce-scatter", options, *BRIEFLY).output
    assert "# OSU MPI Reduce_scatter_block Latency Test v7.4" in output
    rows = [line.split() for line in output.splitlines() if line and not line.startswith("#")]
    assert [row[0] for row in rows] == ["8", "16", "32"]


def test_a_barrier_in_the_layout_of_osu(tmp_path: Path) -> None:
    output = ran(tmp_path, 2, "barrier", "--transport mpi --format osu", *BRIEFLY).output
    assert "\n# Avg Latency(us)\n" in output
    (row,) = [line for line in output.splitlines() if line and not line.startswith("#")]
    assert float(row) > 0
