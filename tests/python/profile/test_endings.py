"""A program that ends in another way than by MPI_Finalize, or leaves nothing to record."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from profile_helpers import TIME_LIMIT_S, Mpi
from run_helpers import cases, wait_for


@pytest.mark.parametrize(("how", "ending"), cases("other ends of programs"))
def test_a_run_that_ends_otherwise_leaves_its_counters(mpi: Mpi, how: str, ending: str) -> None:
    program = mpi.compile("endings.c")
    bare = subprocess.run(
        mpi.command(program, how),
        env=mpi.environment(),
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
    )
    run = mpi.profile(program, how)
    # The status of MPICH's launcher depends on the rank that it finds dead first: one that exits
    # with 0, or one that it has killed since.
    failed = 0 not in (run.status, bare.returncode)
    assert run.status == bare.returncode or (
        mpi.name == "mpich" and (failed or how == "no-finalize")
    )
    # The launcher can kill the others as soon as the first rank has died.
    assert ending in run.endings()
    assert set(run.endings()) <= {ending, "signal", "in MPI_Finalize"}
    assert max(run.calls()["MPI_Barrier"]) == 1
    assert ("own handler" in run.output) == ("own handler" in bare.stdout)


def test_nothing_to_record_is_said(mpi: Mpi) -> None:
    # One rank: MPICH's launcher kills the others when the first ends without MPI_Finalize.
    run = mpi.profile(mpi.compile("endings.c"), "no-init", ranks=1)
    assert (run.status, run.recorded) == (4, None)
    assert "nothing was recorded: no rank of" in run.error
    run = mpi.profile("ls", "/dev/null")
    assert (run.status, run.recorded) == (0, None)
    assert "nothing was recorded: ls is not linked to MPI" in run.error


@pytest.mark.parametrize("status", [0, 7])
def test_an_unwritable_folder_does_not_stop_the_program(mpi: Mpi, status: int) -> None:
    Path("file").touch()
    run = mpi.profile(mpi.compile("counts.c"), status, out="file/below")
    assert run.status == status
    assert "The program runs, and its record is not kept" in run.error
    assert "  MPI_Allreduce" in run.output


def test_the_program_keeps_its_standard_input(mpi: Mpi) -> None:
    if mpi.name == "mpich":
        pytest.skip("the launcher of MPICH 4.0 can hang if its standard input is a pipe")
    echoed = mpi.profile(mpi.compile("endings.c"), "echo", stdin="a word\n")
    assert echoed.output.startswith("read a word\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_nothing_is_left_of_a_script_around_the_launcher(mpi: Mpi, number: signal.Signals) -> None:
    """The script ends at once, and its launcher does not hear of it."""
    command = shlex.join(map(str, mpi.command(mpi.compile("endings.c"), "stuck")))
    Path("wrapper.sh").write_text(f"#!/bin/sh\ntouch begun\n{command}\necho done\n")
    Path("wrapper.sh").chmod(0o755)
    words = [sys.executable, "-m", "commlens", "profile", "--", "./wrapper.sh"]
    process = subprocess.Popen(words, env=mpi.environment(), stderr=subprocess.DEVNULL)
    here = Path.cwd()
    wait_for(lambda: len(_working_in(here)) > 4)  # commlens, the script, the launcher and ranks
    process.send_signal(number)
    assert process.wait(30) in (128 + number, -number)
    wait_for(lambda: not _working_in(here))


def _working_in(folder: Path) -> list[int]:
    """The processes in it, but this one."""
    every = psutil.process_iter(["cwd"])
    return [one.pid for one in every if one.info["cwd"] == str(folder) and one.pid != os.getpid()]
