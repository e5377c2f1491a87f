"""Every benchmark on two nodes, over TCP, in a real job."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster_helpers import Cluster, commlens
from native_helpers import BENCHMARKS
from run_helpers import kept

SUITE = """
name: all
runs:
  - {benchmark: allreduce, options: {bytes: "8:64K:x64"}}
  - {benchmark: bandwidth, options: {bytes: 64K}}
  - {benchmark: bidirectional-bandwidth, options: {bytes: 64K}}
  - {benchmark: latency, options: {bytes: "8:64K:x64"}}
  - {benchmark: message-rate, options: {bytes: 8}}
  - {benchmark: xtx, options: {dofs: 2000, vectors: 40}}
  - {benchmark: fft, options: {grid: 16}}
  - {benchmark: gather-scatter, options: {elements: 4}}
  - {benchmark: bp5, options: {elements: 3, iterations: 5}}
  - {benchmark: bps5, options: {elements: 2}}
"""
BRIEFLY = "--memory host --transport mpi,staged --repeat 2 --batches 2 --warmup 0"


@pytest.mark.parametrize("launcher", ["auto", "mpirun"])
def test_every_benchmark_is_validated_on_two_nodes(cluster: Cluster, launcher: str) -> None:
    Path("all.yaml").write_text(SUITE)
    command = commlens("run", "all.yaml", "--launcher", launcher, "--no-probe", BRIEFLY)
    job = cluster.batch(" ".join(command), options="--nodes=2 --ntasks-per-node=1")
    assert job.status == 0, job.output
    records = kept(*Path("results").glob("all-*"))
    ran = [record for record in records if record.status != "skipped"]
    assert sorted({record.benchmark for record in ran}) == BENCHMARKS
    for record in ran:
        assert record.status == "ok" and record.validation.status == "passed", record.benchmark
        assert [place.host for place in record.start.placement] == ["n1", "n2"]


def test_the_network_is_what_is_measured(cluster: Cluster) -> None:
    """800 Mbit/s are 100 MB/s, less what Ethernet, IP and TCP say themselves (5 %)."""
    words = (
        "run bandwidth --bytes 1M --memory host --transport mpi --warmup 0 --repeat 1 --batches 3"
    )
    cluster.call("rate", "n1", "800mbit")
    try:
        run = cluster.on("salloc", "-Q", "--nodes=2", *commlens(*words.split()))
    finally:
        cluster.call("rate", "n1", "none")
    assert run.status == 0, run.output
    (record,) = kept()
    assert 0.08 < record.statistics["bandwidth_GBps"].median < 0.105
