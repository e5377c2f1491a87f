"""Jobs apart from each other, ranks that write late, and what is said of those without a file."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from commlens.jobs.preload.ranks import Left, jobs, losses, started
from commlens.profile.jobs import profiles
from commlens.profile.rank_files import RankFile, RankFunction
from profile_helpers import TIME_LIMIT_S, Mpi, mpi_library, wait_until_stuck


def rank_file(rank: int, size: int, *, job: str = "", parent: int = 1, start: int = 0) -> RankFile:
    return RankFile(
        rank=rank, size=size, host="node", pid=100 + rank, program="/p", mpi="MPI",
        thread_level="single", ending="finalized", job=job, parent=parent,
        loaded_ns=start, threads=1, cpu_ns=0, queued_ns=0, cpus=[], total_ns=10, inside=[],
        functions=[], dropped_requests=0, has_peers=True, peers=[], dropped_call_sites=0,
        call_sites=[], dropped_regions=0, regions=[], environment={},
    )  # fmt: skip


def test_jobs_are_distinguished() -> None:
    both = [rank_file(0, 2), rank_file(1, 2)]
    assert jobs(both) == [both]
    named = [rank_file(0, 1, job="a"), rank_file(0, 1, job="b")]
    assert jobs(named) == [[named[0]], [named[1]]]
    again = [*both, rank_file(0, 2, start=20), rank_file(1, 2, start=21)]
    assert [len(job) for job in jobs(again)] == [2, 2]
    side_by_side = [*both, rank_file(0, 2, parent=2), rank_file(1, 2, parent=2)]
    assert [{file.parent for file in job} for job in jobs(side_by_side)] == [{1}, {2}]
    in_sequence = [rank_file(0, 1), rank_file(0, 1, start=11)]
    assert len(jobs(in_sequence)) == 2
    of_another_mpi = [rank_file(0, 1), rank_file(0, 1, start=5)]
    assert len(jobs(of_another_mpi)) == 1


def test_ranks_without_a_file_are_explained(tmp_path: Path) -> None:
    for name in ("rank-0-a-b-7.json", "rank-1-a-b-8.json.part", "rank-2-a-b-9.json.error-28"):
        (tmp_path / name).touch()
    ranks = started(tmp_path)
    assert [(rank.rank, rank.host, rank.pid, rank.is_written) for rank in ranks] == [
        (0, "a-b", 7, True),
        (1, "a-b", 8, False),
        (2, "a-b", 9, False),
    ]
    killed, unwritten = losses(ranks[1:])
    assert "rank 1 started MPI and left no file" in killed
    assert unwritten == "the counters of rank 2 could not be written: No space left on device"


def test_spawned_processes_are_named() -> None:
    spawn = RankFunction("MPI_Comm_spawn", 1, 1, "process", 1, 0, 0, (0, 0, 0, 0), [], {})
    file = msgspec.structs.replace(rank_file(0, 1), functions=[spawn])
    (profile,) = profiles(["./program"], Left([[file]], [], [], []), 0)
    assert "the processes that MPI_Comm_spawn started are not profiled" in profile.warnings


def test_two_jobs_of_a_script_are_two_profiles(mpi: Mpi) -> None:
    program = mpi.compile("endings.c")
    first, second = (" ".join(mpi.command(program, ranks=ranks)) for ranks in (1, 2))
    Path("script").write_text(f"#!/bin/sh\n{first} </dev/null\n{second} </dev/null\n")
    Path("script").chmod(0o755)
    answer = run_profile(mpi, "./script")
    assert answer.stdout.count("# profile of ./script") == 2, answer.stderr
    assert f"# job 1 of 2 that the command started: {program.name}" in answer.stdout
    assert "# 1 rank on" in answer.stdout and "# 2 ranks on" in answer.stdout
    assert answer.stdout.count("picture:") == 2
    (record,) = Path("out").glob("*.jsonl")
    assert len(record.read_text().splitlines()) == 2


def run_profile(mpi: Mpi, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "commlens", "profile", "--plot", "--out", "out", "--", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=mpi.environment(),
        timeout=TIME_LIMIT_S,
    )


@pytest.mark.parametrize("to_all", [False, True])
def test_a_terminated_command_shows_where_it_was_stuck(mpi: Mpi, to_all: bool) -> None:
    """`timeout` signals all: the command, the launcher and once more the command."""
    words = mpi.command(mpi.compile("endings.c"), "stuck")
    with Path("output").open("w") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "commlens", "profile", "--out", "out", "--", *words],
            env=mpi.environment(),
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            start_new_session=True,
        )
    wait_until_stuck(Path("output"))
    process.send_signal(signal.SIGTERM)
    if to_all:
        os.killpg(process.pid, signal.SIGTERM)
    status = process.wait(60)
    output = Path("output").read_text()
    assert "# 2 ranks on 1 node" in output
    if not to_all:
        assert status != 0 or mpi.name == "mpich"  # whose launcher says 0 then
        assert "ended by signal, within MPI_Recv" in output
    (record,) = Path("out").glob("*.jsonl")
    placement = json.loads(record.read_text())["placement"]
    assert [place["inside"] for place in placement] == ["MPI_Recv"] * 2
    # Open MPI ends a rank that notices the end of its launcher before the signal.
    assert {place["ending"] for place in placement} <= {"signal", "exit without MPI_Finalize"}
    assert not list(Path("out").glob("profile-ranks-*"))


def test_the_end_by_an_mpi_error_is_named(mpi: Mpi) -> None:
    run = mpi.profile(mpi.compile("endings.c"), "error")
    assert run.status != 0
    if mpi.name == "openmpi":
        assert "ended by fatal MPI error, within MPI_Send" in run.output
    else:  # whose launcher kills all ranks at once
        assert "started MPI and left no file: crashed, or killed" in run.error + run.output


def test_an_end_at_once_leaves_a_file(mpi: Mpi) -> None:
    run = mpi.profile(mpi.compile("endings.c"), "at-once")
    assert "exit without MPI_Finalize" in run.endings()


def test_mpi_that_no_wrapper_sees_is_named(mpi: Mpi) -> None:
    said = "used MPI, but called none of its MPI_ functions in a way that can be seen"
    pmpi = mpi.compile("unseen.c", "-DPMPI", name="pmpi")
    run = mpi.profile(pmpi)
    assert (run.status, run.recorded) == (0, None)
    assert f"{pmpi} {said}" in run.error
    run = mpi.profile(mpi.compile("unseen.c", "-ldl", name="unseen"), mpi_library(pmpi))
    assert (run.status, run.recorded) == (0, None)
    assert said in run.error


def test_mpi_in_a_library_that_is_opened_at_run_time_is_profiled(mpi: Mpi) -> None:
    """As Python opens mpi4py, which asks whether MPI is loaded and which one it is."""
    options = ("-shared", "-fPIC", "-Dmain=counts")
    library = mpi.compile("counts.c", *options, name="counts-library")
    run = mpi.profile(mpi.compile("unseen.c", "-ldl", name="unseen"), library)
    assert run.status == 0, run.output + run.error
    assert run.calls()["MPI_Allreduce"] == [6, 6]


def test_a_full_disk_is_named(mpi: Mpi) -> None:
    disk = Path("disk").resolve()
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("mounting a small disk needs root")
    program = mpi.compile("endings.c")
    try:
        os.chdir(disk)
        run = mpi.profile(program, "fill")
        said = "the counters of ranks 0, 1 could not be written: No space left on device"
        assert said in run.error, run.error
        run = mpi.profile(program)
        assert "--out out: results cannot be written there (No space left on device)" in run.error
        assert "The program runs, and its record is not kept" in run.error
        assert "  MPI_Barrier" in run.output
    finally:
        os.chdir(disk.parent)
        subprocess.run(["umount", str(disk)], check=True)
