"""`commlens submit` with a real scheduler: success, and what goes wrong."""

from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest

from cluster_helpers import Cluster, Running, commlens, has_measured
from native_helpers import ROOT
from run_helpers import kept, wait_for

SLOW = bool(os.environ.get("COMMLENS_SLOW_TESTS"))
BRIEFLY = "allreduce --bytes 8 --memory host --transport mpi --repeat 1 --batches 2 --no-probe"
LONG = "latency --bytes 8:4M:x2 --memory host --transport mpi --repeat 500 --no-probe"


def submitting(
    cluster: Cluster, words: str, *options: str, site: str = "generic-slurm", nodes: int = 2
) -> Running:
    command = commlens("submit", site, "--nodes", nodes, *options, "--", "run")
    return cluster.start(*command, *words.split())


def folder_of_job() -> Path:
    (folder,) = Path("results").glob("generic-slurm-*")
    return folder


def in_the_middle(cluster: Cluster) -> Running:
    """A job that has measured something."""
    running = submitting(cluster, LONG)
    running.until(has_measured)
    return running


def is_whole(cluster: Cluster) -> bool:
    """Nothing runs on, and what was measured is kept."""
    wait_for(lambda: not cluster.processes("commlens-bench"))
    return len(kept()) > 0


def test_a_job(cluster: Cluster) -> None:
    ended = submitting(cluster, BRIEFLY).wait()
    assert ended.status == 0, ended.output
    (record,) = kept()
    assert (record.start.ranks, record.start.nodes) == (4, 2)
    assert "allreduce" in ended.output and "1 record in" in ended.output
    assert (folder_of_job() / "status").read_text() == "0\n"


def test_a_rank_dies(cluster: Cluster) -> None:
    running = in_the_middle(cluster)
    cluster.ranks("latency")[1].kill()
    ended = running.wait()
    assert ended.status == 1
    assert "log: rank 1 on n2 died (signal 9, Killed)" in ended.output
    assert is_whole(cluster)


def test_a_job_is_cancelled(cluster: Cluster) -> None:
    running = in_the_middle(cluster)
    cluster.on("scancel", "--user=root")
    ended = running.wait()
    assert ended.status != 0
    assert "was cancelled" in ended.output
    assert is_whole(cluster)


def test_a_node_is_lost(cluster: Cluster) -> None:
    running = in_the_middle(cluster)
    try:
        cluster.call("off", "n2")
        ended = running.wait()
    finally:
        cluster.call("boot", "n2")
    assert ended.status == 1
    assert "log: n2 (rank 1) does not answer any more" in ended.output
    assert is_whole(cluster)


def user_site(name: str, text: str) -> None:
    """generic-slurm with another text for its directives."""
    shipped = (ROOT / "python/commlens/knowledge/sites/generic-slurm.yaml").read_text()
    Path(name).write_text(shipped.replace("directives: []", text))


def test_the_node_of_the_script_is_lost(cluster: Cluster) -> None:
    """Nobody is left there who could write a status; n4 goes on."""
    user_site("mine.yaml", "directives: ['--nodelist=n3,n4']")
    running = submitting(cluster, f"{LONG} --ranks-per-node 1", "--detach", site="./mine.yaml")
    assert running.wait().status == 0
    wait_for(has_measured)
    try:
        cluster.call("off", "n3")
        # As Slurm itself does after SlurmdTimeout.
        cluster.on("scontrol", "update", "nodename=n3", "state=down", "reason=off")
        wait_for(lambda: "NODE_FAIL" in cluster.on("squeue", "--states=all", "--format=%T").output)
        ended = cluster.on(*commlens("submit", "--attach", *Path("results").iterdir()))
        assert is_whole(cluster)
    finally:
        cluster.call("boot", "n3")
    assert ended.status == 1
    assert "lost a node (NODE_FAIL); n3 (rank 0) does not answer; see " in ended.output
    assert "record in" in ended.output or "records in" in ended.output


def test_the_folder_is_not_there_on_the_node_of_the_script(cluster: Cluster) -> None:
    """sbatch and Slurm say nothing."""
    user_site("mine.yaml", "directives: ['--nodelist=n3']")
    Path("results").mkdir()
    here = Path("results").resolve()
    cluster.on("mount", "-t", "tmpfs", "-o", "size=1m", "none", here)
    try:
        ended = submitting(cluster, BRIEFLY, site="./mine.yaml", nodes=1).wait()
    finally:
        wait_for(lambda: cluster.on("umount", here).status == 0)
    assert ended.status == 1
    message = ended.messages[0]
    assert "could not be started (JobLaunchFailure); there is no log: n3 may not have" in message
    assert f"the folder {here}/" in message and "choose an --out that is shared" in message


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ("--time 60", "(PartitionTimeLimit)"),  # longer than the partition allows
        ("--queue project --account other", "--account"),  # which may not run there
    ],
)
def test_a_job_that_slurm_accepts_but_never_starts(
    cluster: Cluster, options: str, why: str
) -> None:
    ended = submitting(cluster, BRIEFLY, *options.split()).wait()
    assert ended.status == 1
    assert "will never start" in ended.output and why in ended.output
    assert cluster.on("squeue", "--noheader").output.strip() == ""


def test_the_output_folder_is_full(cluster: Cluster) -> None:
    """Where commlens runs: the node of the script and of rank 0."""
    Path("results").mkdir()
    cluster.on("mount", "-t", "tmpfs", "-o", "size=20k", "none", Path("results").resolve())
    try:
        ended = submitting(cluster, LONG.replace("repeat 500", "repeat 5 --batches 2")).wait()
    finally:
        wait_for(lambda: cluster.on("umount", Path("results").resolve()).status == 0)
    assert ended.status != 0
    assert "No space left on device" in ended.output


@pytest.mark.slow
@pytest.mark.skipif(not SLOW, reason="takes two minutes: set COMMLENS_SLOW_TESTS=1")
def test_a_job_reaches_its_time_limit(cluster: Cluster) -> None:
    """Slurm's shortest limit is a minute."""
    words = "latency --bytes 8 --memory host --transport mpi --min-time 300 --max-time 600"
    ended = submitting(cluster, words, "--time", "1").wait(200)
    assert ended.status != 0
    assert "ran into its time limit" in ended.output
    assert not [rank for rank in cluster.processes("commlens-bench") if psutil.pid_exists(rank.pid)]
