"""What goes wrong on clusters: the command ends within seconds, says what it was and where, keeps
the records, and leaves nothing running."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cluster_helpers import Cluster, Ended, commlens, has_measured
from run_helpers import kept, wait_for

WORDS = "run latency --memory host --transport mpi --bytes 8:4M:x2 --warmup 0"
LIMIT_S = 80.0  # far below what Slurm needs to notice a lost node (tests/cluster/cluster)


def in_trouble(
    cluster: Cluster,
    launcher: str,
    trouble: Callable[[], object],
    *options: str,
    repeat: int = 500,
) -> Ended:
    """The trouble comes in the middle of a run on two nodes."""
    words = (*WORDS.split(), "--repeat", repeat, "--launcher", launcher, *options)
    command = commlens(*words)
    running = cluster.start("salloc", "-Q", "--nodes=2", "--exclusive", *command)
    running.until(lambda: len(cluster.ranks("latency")) >= 2 and has_measured())
    trouble()
    ended = running.wait(LIMIT_S)
    left = [process.cmdline() for process in cluster.processes("commlens-bench")]
    assert left == [], "orphans"
    assert len(kept()) >= 1
    assert {record.validation.status for record in kept()} == {"passed"}
    return ended


@pytest.mark.parametrize("launcher", ["srun", "mpirun"])
@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_rank(cluster: Cluster, launcher: str, rank: int) -> None:
    ended = in_trouble(cluster, launcher, lambda: cluster.ranks("latency")[rank].kill())
    assert ended.status == 1
    died = f"commlens: rank {rank} on n{rank + 1} died (signal 9, Killed)"
    assert [line.split(";")[0] for line in ended.messages] == [died], ended.output


@pytest.mark.parametrize(
    ("launcher", "rank", "layout", "reason"),
    [
        ("srun", 1, "", "rank 1 on n2 did not answer: stopped (SIGSTOP, or a debugger), or"),
        ("mpirun", 0, "", "rank 0 on n1 did not answer: stopped (SIGSTOP, or a debugger), or"),
        (
            "srun",
            3,
            "--ranks 4 --pairs 2",
            "rank 3 on n2 was stopped (SIGSTOP, or a debugger) while ",
        ),
    ],
)
def test_a_frozen_rank_is_named(
    cluster: Cluster, launcher: str, rank: int, layout: str, reason: str
) -> None:
    """It cannot speak itself."""
    ended = in_trouble(
        cluster,
        launcher,
        lambda: cluster.ranks("latency")[rank].suspend(),
        *("--timeout", "3", *layout.split()),
        repeat=20 if layout else 500,  # four ranks may have two cores, and take turns on them
    )
    assert ended.status == 3
    (message,) = ended.messages[:1]
    assert message.startswith(f"commlens: no rank has made progress for 3 s (--timeout); {reason}")
    # Timing it or measuring its ceiling, as it was caught.
    assert re.search(r"(was|were|while) [^;]*\blatency\b", message), message


@pytest.mark.parametrize("launcher", ["srun", "mpirun"])
def test_a_lost_node(cluster: Cluster, launcher: str) -> None:
    try:
        ended = in_trouble(cluster, launcher, lambda: cluster.call("off", "n2"))
    finally:
        cluster.call("boot", "n2")
    assert ended.status == 1
    (message,) = ended.messages
    assert message.startswith(
        "commlens: n2 (rank 1) does not answer any more: the node is lost, and the job was ended; "
    )


@pytest.mark.parametrize("launcher", ["srun", "mpirun"])
def test_sigterm_to_the_command(cluster: Cluster, launcher: str) -> None:
    def terminate() -> None:
        (command,) = (
            process
            for process in cluster.processes("commlens")
            if process.cmdline()[1:4] == ["-m", "commlens", "run"]
        )
        os.kill(command.pid, signal.SIGTERM)

    ended = in_trouble(cluster, launcher, terminate)
    assert ended.status == 128 + signal.SIGTERM
    assert "interrupted by SIGTERM" in ended.output


@pytest.mark.parametrize("launcher", ["srun", "mpirun"])
def test_scancel(cluster: Cluster, launcher: str) -> None:
    ended = in_trouble(cluster, launcher, lambda: cluster.on("scancel", "--user=root"))
    assert ended.status != 0
    # mpirun may notice first that its daemon on the other node is gone.
    assert "SIGTERM" in ended.messages[0] or "because the job was cancelled" in ended.messages[0]


@pytest.mark.parametrize("launcher", ["srun", "mpirun"])
def test_no_room_for_records(cluster: Cluster, launcher: str) -> None:
    """On the node of rank 0, which writes them."""
    Path("results").mkdir()
    with small(cluster, "n1", Path("results").resolve(), "size=20k"):
        ended = briefly(cluster, launcher, sizes="8:4M:x2")
        loaded = cluster.on("grep", "-c", '"kind":"record"', "-r", "results").output
    assert ended.status == 1
    assert len(ended.messages) == 2, ended.output
    first, second = ended.messages
    assert "rank 0 (n1): cannot write a record to 'results/latency-" in first
    assert first.endswith("No space left on device")
    assert second.split()[1] == loaded.strip().rsplit(":")[-1] != "0", "those that fit are whole"


@pytest.mark.parametrize("node", ["n1", "n2"])
def test_no_room_for_temporary_files(cluster: Cluster, node: str) -> None:
    """mpirun's daemons need some, srun's do not."""
    Path("scratch").mkdir()
    scratch = Path("scratch").resolve()
    with small(cluster, node, scratch, "nr_inodes=1"):
        by_srun = briefly(cluster, "srun", TMPDIR=str(scratch))
        ended = briefly(cluster, "mpirun", TMPDIR=str(scratch))
    assert by_srun.status == 0, by_srun.output
    assert ended.status == 1
    (message,) = ended.messages
    if node == "n1":
        assert f"cannot make its folder {scratch}/ompi.n1.0 (No space left on device)" in message
    assert "TMPDIR" in message


@pytest.mark.parametrize("node", ["n1", "n2"])
def test_temporary_files_can_be_made_but_not_be_filled(cluster: Cluster, node: str) -> None:
    """As on a full tmpfs."""
    Path("scratch").mkdir()
    scratch = Path("scratch").resolve()
    with small(cluster, node, scratch, "size=4k"):
        cluster.on("sh", "-c", f"cat /dev/zero >{scratch}/full", node=node)
        ended = briefly(cluster, "mpirun", TMPDIR=str(scratch))
    assert ended.status == 1
    (message,) = ended.messages
    assert f"mpirun's PMIx writes on {node}: look there for a full TMPDIR" in message


def test_no_room_in_shared_memory(cluster: Cluster) -> None:
    """Another way is found, and nobody gets a SIGBUS."""
    with small(cluster, "n2", Path("/dev/shm"), "size=4k"):
        cluster.on("sh", "-c", "cat /dev/zero >/dev/shm/full", node="n2")
        ended = briefly(cluster, "srun", "--ranks", "4", "--pairs", "2")
    assert ended.status == 0, ended.output


def briefly(
    cluster: Cluster, launcher: str, *options: str, sizes: str = "8", **environment: str
) -> Ended:
    words = "run latency --memory host --transport mpi --repeat 5 --batches 2 --warmup 0"
    given = ("--bytes", sizes, "--no-ceilings", "--launcher", launcher, *options)
    command = commlens(*words.split(), *given)
    salloc = ["salloc", "-Q", "--nodes=2", "--exclusive"]
    return cluster.start(*salloc, *command, **environment).wait(LIMIT_S)


@contextmanager
def small(cluster: Cluster, node: str, folder: Path, size: str) -> Iterator[None]:
    """A file system of its own on one node."""
    cluster.on("mount", "-t", "tmpfs", "-o", size, "none", folder, node=node)
    try:
        yield
    finally:
        wait_for(lambda: cluster.on("umount", folder, node=node).status == 0)
