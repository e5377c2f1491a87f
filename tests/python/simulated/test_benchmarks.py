"""On simulated nodes results are right, and the same each time."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulated_helpers import Machine

_CASES = {
    "latency": (16, "--matrix --bytes 8,64K --batches 1 --repeat 1"),
    "allreduce": (64, "--bytes 8,64K --batches 2 --repeat 2"),
    "fft": (32, "--grid 32 --batches 1 --repeat 2"),
    "gather-scatter": (64, "--elements 8,4,4 --order 3 --batches 1 --repeat 2"),
}
# What may differ between the records of a run, and what of it there must be.
_VARIANTS = {
    "latency": ("bytes", {8, 65536}),
    "allreduce": ("bytes", {8, 65536}),
    "fft": ("communicators", {"per-transpose", "cached"}),
    "gather-scatter": ("mode", {"pairwise", "crystal-router", "all-reduce"}),
}


@pytest.mark.parametrize("benchmark", _CASES)
def test_results_are_right(benchmark: str, tmp_path: Path) -> None:
    ranks, words = _CASES[benchmark]
    records = Machine(ranks).records(tmp_path, f"{benchmark} {words}")
    parameter, variants = _VARIANTS[benchmark]
    assert {record.parameters[parameter] for record in records} == variants
    for record in records:
        assert (record.status, record.validation.status) == ("ok", "passed"), record.reason
        assert record.validation.checks > 0
        assert (record.ranks, record.start.nodes) == (ranks, ranks)
        assert record.start.versions["mpi"].startswith("SMPI ")
        assert [place.host for place in record.start.placement] == [
            f"node{node}" for node in range(ranks)
        ]
        # Of this machine nothing is said.
        assert record.interference is None and record.page_faults is None


def test_results_are_the_same_each_time(tmp_path: Path) -> None:
    words = "allreduce --bytes 8,64K --batches 3 --repeat 2"
    first, second = (Machine(16).records(tmp_path, words) for _ in range(2))
    assert [record.samples for record in first] == [record.samples for record in second]
    assert [record.setup_s for record in first] == [record.setup_s for record in second]
