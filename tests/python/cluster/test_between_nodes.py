"""What is said of the network between two nodes, against a network of known bandwidth."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import msgspec
import pytest

from cluster_helpers import CRASH_IN_MPI_INIT, Cluster, Ended
from commlens.findings import findings
from commlens.model import Record, load
from commlens.model.pairs import pair_matrix
from commlens.render import plots as plot
from native_helpers import BENCH

_FROM_N2 = {(2, 0), (2, 1), (3, 0), (3, 1)}  # ranks, to n1
_TRIES = 3  # the machine does other things, too


@contextmanager
def limited(cluster: Cluster, rate: str, *nodes: str) -> Iterator[None]:
    for node in nodes:
        cluster.call("rate", node, rate)
    try:
        yield
    finally:
        for node in nodes:
            cluster.call("rate", node, "none")


def measured(cluster: Cluster, ranks: int, words: str) -> list[Record]:
    file = Path("records.jsonl")
    file.unlink(missing_ok=True)
    srun = f"srun --mpi=pmix --nodes=2 --ntasks-per-node={ranks // 2} --kill-on-bad-exit=1"
    options = f"--memory host --transport mpi --record {file}"
    ended = cluster.on(*srun.split(), BENCH, *words.split(), *options.split())
    assert ended.status == 0, ended.output + ("" if file.exists() else "no record was written")
    loaded = load([file])
    assert not loaded.problems
    assert [record.validation.status for record in loaded.records] == ["passed"]
    return loaded.records


def payload_GBps(cluster: Cluster, megabits: float) -> float:  # noqa: N802
    """What frames leave for data: 20 bytes are of IP, 32 of TCP, 14 of Ethernet."""
    mtu = int(cluster.on("cat", "/sys/class/net/eth0/mtu").output)
    return megabits / 8e3 * (mtu - 52) / (mtu + 14)


@pytest.mark.parametrize("ranks", ["task 0", "tasks 0-1,3"])
def test_a_crash_in_mpi_init_is_known_by_what_srun_says(ranks: str) -> None:
    """conftest.py has such a test run again."""

    class Crashes:
        def on(self, *_: object) -> Ended:
            return Ended(143, f"srun: error: n1: {ranks}: Segmentation fault\nsrun: Ended\n", 0.6)

    with pytest.raises(AssertionError) as failure:
        measured(cast(Cluster, Crashes()), 4, "bandwidth")
    assert re.search(CRASH_IN_MPI_INIT, str(failure.value))


def test_a_limited_link_is_measured_at_its_rate_and_so_is_its_ceiling(cluster: Cluster) -> None:
    """A rate at which the kernel's buffers feed the link while a rank waits for a core."""
    expected = pytest.approx(payload_GBps(cluster, 200), rel=0.03)
    medians: list[float | None] = []
    ceilings: list[float | None] = []
    with limited(cluster, "200mbit", "n1", "n2"):
        for _ in range(_TRIES):
            (record,) = measured(
                cluster, 2, "bandwidth --bytes 4M --window 8 --warmup 1 --repeat 1 --batches 6"
            )
            ceiling = record.ceiling
            assert ceiling is not None and ceiling.name == "TCP stream over eth0"
            medians.append(record.statistics["bandwidth_GBps"].median)
            ceilings.append(ceiling.rate)
            if expected in medians and expected in ceilings:
                break
    assert expected in medians and expected in ceilings, (expected, medians, ceilings)
    (nic,) = record.start.placement[0].nics
    assert (nic.name, nic.link_layer) == ("eth0", "Ethernet")


def test_pairs_across_nodes_and_within_nodes_are_those(cluster: Cluster) -> None:
    briefly = "--bytes 64K --window 4 --warmup 1 --repeat 2 --batches 2"
    (across,) = measured(cluster, 4, f"bandwidth --pairs-across nodes --pairs 2 {briefly}")
    (within,) = measured(cluster, 4, f"bandwidth --pairs-across node {briefly} --no-ceilings")
    (ring,) = measured(cluster, 4, "allreduce --bytes 64K --warmup 1 --repeat 2 --batches 2")
    assert across.ceiling and "by 2 ranks at the same time" in across.ceiling.method
    assert within.ceiling is None and not within.no_ceiling
    assert ring.ceiling and "ranks whose peer is on their node copy" in ring.ceiling.method


def test_a_slow_link_stands_out_of_all_pairs(cluster: Cluster) -> None:
    with limited(cluster, "100mbit", "n2"):
        for _ in range(_TRIES):
            records = measured(
                cluster, 4, "bandwidth --matrix --bytes 64K --window 8 --warmup 1 --batches 6"
            )
            matrix = pair_matrix(records[0])
            assert matrix is not None and matrix.first_ranks == [2]
            slow = {(pair.first, pair.second) for pair in matrix.pairs if pair.value < 0.02}
            if slow == _FROM_N2:
                break
    assert slow == _FROM_N2
    (record,) = records
    assert record.statistics["bandwidth_GBps"].median < 0.02
    assert "(n2) to" in str(record.facts["slowest_pair"])
    # These nodes share their cores: each takes the ranks of the others for other programs.
    alone = [msgspec.structs.replace(entry, interference=None) for entry in records]
    (finding,) = [entry for entry in findings(alone) if entry.code == "slow-pair"]
    assert "n2" in finding.sentence
    assert plot.plot(records, Path("pairs.png")).pictures == [Path("pairs.png")]
