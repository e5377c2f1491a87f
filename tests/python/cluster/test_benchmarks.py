"""Every benchmark on two nodes, over TCP, in a real job."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from cluster_helpers import Cluster, commlens
from commlens.model import Record
from native_helpers import BENCHMARKS, DIFFERENT, ONE_SIDED, SMALL, declared, small
from run_helpers import kept

SLOW = bool(os.environ.get("COMMLENS_SLOW_TESTS"))


def suite(name: str, benchmarks: Sequence[str], pairs: int = 1) -> str:
    """A small case of each benchmark; over sizes, from those sent at once to those that wait."""
    runs = []
    for benchmark in benchmarks:
        words = small(benchmark).split() if benchmark in SMALL else ["--bytes", "8:64K:x64"]
        options = {word[2:]: value for word, value in zip(words[::2], words[1::2])}
        if any(option["name"] == "pairs" for option in declared()[benchmark]["options"]):
            options["pairs"] = str(pairs)
        runs.append({"benchmark": benchmark, "options": options})
    return yaml.safe_dump({"name": name, "runs": runs})


BRIEFLY = "--memory host --transport mpi,staged --repeat 2 --batches 2 --warmup 0"


# Open MPI 4.1 makes no windows between these nodes: a test of its own. Three are of mpi alone.
OF_MPI_ALONE = ("init", "replay", "threaded-latency")
ON_NODES = [name for name in DIFFERENT if name not in (*ONE_SIDED, *OF_MPI_ALONE)]


def test_windows_between_nodes_are_made_or_refused_with_a_reason(cluster: Cluster) -> None:
    command = commlens("run", "put-latency", "--bytes", "8", "--no-probe", BRIEFLY)
    job = cluster.batch(
        without_pictures(), " ".join(command), options="--nodes=2 --ntasks-per-node=1"
    )
    (record, *_) = kept(*Path("results").glob("put-latency*"))
    if record.status == "skipped":
        assert record.reason.startswith("mpi makes no such window for these ranks: ")
    else:
        assert (job.status, record.status) == (0, "ok"), job.output


@pytest.mark.parametrize("launcher", ["auto", "mpirun"])
def test_every_benchmark_is_validated_on_two_nodes(cluster: Cluster, launcher: str) -> None:
    Path("all.yaml").write_text(suite("all", ON_NODES))
    command = commlens("run", "all.yaml", "--launcher", launcher, "--no-probe", BRIEFLY)
    job = cluster.batch(
        without_pictures(), " ".join(command), options="--nodes=2 --ntasks-per-node=1"
    )
    assert job.status == 0, job.output
    records = kept(*Path("results").glob("all-*"))
    ran = [record for record in records if record.status != "skipped"]
    assert sorted({record.benchmark for record in ran}) == ON_NODES
    for record in ran:
        assert record.status == "ok" and record.validation.status == "passed", record.benchmark
        assert [place.host for place in record.start.placement] == ["n1", "n2"]


COMPARED = ["bp5", "fft", "gather-scatter"]
ALL_ON_FOUR = pytest.param(
    [name for name in BENCHMARKS if name != "replay"],  # the small trace is of two ranks
    id="all",
    marks=[
        pytest.mark.slow,
        pytest.mark.skipif(not SLOW, reason="takes a minute: set COMMLENS_SLOW_TESTS=1"),
    ],
)


@pytest.mark.parametrize("benchmarks", [pytest.param(COMPARED, id="compared"), ALL_ON_FOUR])
def test_four_nodes_compute_the_same_as_a_node(cluster: Cluster, benchmarks: list[str]) -> None:
    """A rank on each, by srun, in a batch job; then as many ranks on one node."""
    Path("four.yaml").write_text(suite("compared", benchmarks, pairs=2))
    options = "--no-probe --no-ceilings --memory host --transport mpi --repeat 1 --batches 2"
    # How many operations are traced, and checked, depends on their time: --no-parts.
    options += " --warmup 0 --no-parts"
    words = ["run", "four.yaml", "--launcher", "srun", *options.split()]
    on_four = commlens(*words, "--out", "four")
    on_single = commlens(*words, "--out", "one", "--nodes", 1, "--ranks-per-node", 4)
    job = cluster.batch(
        without_pictures(),
        f"{' '.join(on_four)} && {' '.join(on_single)}",
        options="--nodes=4 --ntasks-per-node=1 --exclusive",
    )
    assert job.status == 0, job.output
    four, single = (by_case(folder) for folder in ("four", "one"))
    assert sorted({name for name, _ in four}) == benchmarks
    assert four.keys() == single.keys()
    for case, record in four.items():
        hosts = [place.host for place in record.start.placement]
        assert hosts == ["n1", "n2", "n3", "n4"]
        assert {place.host for place in single[case].start.placement} == {"n1"}
        assert record.validation.status == single[case].validation.status == "passed", case
        assert record.validation.elements == single[case].validation.elements, case
        tolerance = 1e-4 if record.benchmark == "bps5" else 1e-6  # its smoothers are in single
        for name, values in record.series.items():  # residuals
            assert values == pytest.approx(single[case].series[name], rel=tolerance), (case, name)


def without_pictures() -> str:
    """A line of a script: drawing takes longer than measuring here, and has tests of its own."""
    Path("none").mkdir()
    Path("none/matplotlib.py").write_text("raise ModuleNotFoundError(name='matplotlib')\n")
    return f"export PYTHONPATH={Path('none').resolve()}:$PYTHONPATH"


def by_case(folder: str) -> dict[tuple[str, str], Record]:
    records = kept(*Path(folder).glob("*"))
    return {
        (record.benchmark, str(sorted(record.parameters.items()))): record
        for record in records
        if record.status != "skipped"
    }


def test_the_network_is_measured(cluster: Cluster) -> None:
    """200 Mbit/s are 25 MB/s, less what Ethernet, IP and TCP say themselves (5 %)."""
    words = (
        "run bandwidth --bytes 1M --memory host --transport mpi --warmup 0 --repeat 1 --batches 3"
    )
    cluster.call("rate", "n1", "200mbit")
    try:
        run = cluster.on("salloc", "-Q", "--nodes=2", *commlens(*words.split()))
    finally:
        cluster.call("rate", "n1", "none")
    assert run.status == 0, run.output
    (record,) = kept()
    assert 0.02 < record.statistics["bandwidth_GBps"].median < 0.02625
