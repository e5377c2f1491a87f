"""How ranks are spread over the nodes of an allocation."""

from __future__ import annotations

import pytest

from cluster_helpers import Cluster, commlens
from run_helpers import kept

BRIEFLY = "allreduce --bytes 8 --memory host --transport mpi --repeat 1 --warmup 0 --batches 2"


@pytest.mark.parametrize("launcher", ["auto", "mpirun"])
@pytest.mark.parametrize(
    ("options", "ranks_on"),
    [
        ("", [1, 1]),
        ("--ranks-per-node 2", [2, 2]),
        ("--nodes 1 --ranks-per-node 2", [2]),
        ("--ranks 3", [2, 1]),
    ],
)
def test_ranks_are_spread_over_nodes(
    cluster: Cluster, launcher: str, options: str, ranks_on: list[int]
) -> None:
    """The allocation has two whole nodes, of which commlens is told nothing."""
    words = f"run {BRIEFLY} --launcher {launcher} {options}".split()
    run = cluster.on("salloc", "-Q", "--nodes=2", "--exclusive", *commlens(*words))
    assert run.status == 0, run.output
    hosts = [place.host for place in kept()[0].start.placement]
    assert [hosts.count(node) for node in dict.fromkeys(hosts)] == ranks_on
    assert "srun: " not in run.output, run.output


def test_srun_gets_options_that_the_site_has_not_set(cluster: Cluster) -> None:
    words = f"run {BRIEFLY} --dry-run".split()
    job = ["salloc", "-Q", "--nodes=2", "--ntasks-per-node=2", "--cpus-per-task=2"]
    run = cluster.on(*job, *commlens(*words))
    command = run.output.split("commlens-bench")[0]
    for option in (
        "--ntasks=4 --kill-on-bad-exit=1 --nodes=2 --ntasks-per-node=2",
        "--mpi=pmix",
        "--cpus-per-task=2",
    ):
        assert option in command
    ended = cluster.on(*job, *commlens(*words), SLURM_MPI_TYPE="pmi2")
    assert "--mpi" not in ended.output.split("commlens-bench")[0], "the user's choice"
