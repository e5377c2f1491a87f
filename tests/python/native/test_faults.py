"""Ranks that go wrong, with the real programs: the job ends in time, no process is left, one
message says why, and the records of what had ended are whole."""

from __future__ import annotations

import platform
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from native_helpers import (
    AT_ONCE,
    FAILED,
    FAULTS,
    OK,
    SIZES_BEFORE,
    STALLED,
    WRONG,
    Job,
    Jobs,
    foreign_lines,
    is_mpich,
    native,
    needs_native,
    needs_wrong,
    preloaded,
    records_in,
    start,
    status_of_killed,
    statuses_of_abort,
    under_commlens,
    under_mpirun,
)

pytestmark = needs_native


def fault(records: Path, name: str, *words: object, ranks: int = 2) -> Job:
    """A fault under mpirun, with all of the launcher's own patience."""
    over = () if "--transport" in words else ("--transport", "mpi")
    command = under_mpirun(ranks, name, *over, "--record", records, *words, program=FAULTS)
    return start(command, records.parent).wait()


def fault_through_command(records: Path, name: str, *words: object) -> Job:
    command = under_commlens(name, "--transport", "mpi", "--record", records, *words)
    return start(command, records.parent, {**AT_ONCE, "COMMLENS_BENCH": str(FAULTS)}).wait()


def assert_kept(records: Path) -> None:
    """The records of the sizes before the fault, and nothing of the fault."""
    assert [record.status for record in records_in(records)] == ["ok"] * SIZES_BEFORE


# Of the watchdog: a busy machine may leave ranks that spin without a core for a second.
PATIENCE_S = 2

# Rank 2 of 2 is rank 0, which writes the records.
FAULT_RUNS: dict[str, tuple[object, ...]] = {
    "die on rank 1": ("die",),
    "die on rank 0": ("die", "--on-rank", 2),
    "crash on rank 1": ("crash",),
    "crash on rank 0": ("crash", "--on-rank", 2),
    "leave": ("leave",),
    "fail": ("fail",),
    "misaddress over mpi": ("misaddress",),
    "misaddress over staged": ("misaddress", "--transport", "staged"),
    "err": ("err",),
    "err, each": ("err", "--timing", "each"),
    "err, warmed up": ("err", "--warmup", 2),
    "err on rank 0": ("err", "--on-rank", 2),
    "stall on rank 1": ("stall", "--timeout", PATIENCE_S),
    "stall on rank 0": ("stall", "--timeout", PATIENCE_S, "--on-rank", 2),
    "stop on rank 1": ("stop", "--timeout", PATIENCE_S),
    "stop on rank 0": ("stop", "--timeout", PATIENCE_S, "--on-rank", 2),
    "stall-checking": ("stall-checking", "--timeout", PATIENCE_S),
    "stall the other way": ("stall-the-other-way", "--timeout", PATIENCE_S),
}


@pytest.fixture(scope="module")
def faults(submit: Callable[..., Jobs]) -> Jobs:
    return submit(fault, FAULT_RUNS)


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_that_is_killed(rank: int, faults: Jobs) -> None:
    """Nobody but the launcher can say it."""
    future, records = faults[f"die on rank {rank}"]
    job = future.result()
    assert job.status == status_of_killed(signal.SIGKILL)
    assert "signal 9" in job.error + job.output
    assert is_mpich() or f"process rank {rank} " in job.error
    said = [line.partition(" while ")[0] for line in job.messages]
    assert said in ([], ["commlens: ended by SIGTERM"])
    assert_kept(records)


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_that_crashes(rank: int, faults: Jobs) -> None:
    future, records = faults[f"crash on rank {rank}"]
    job = future.result()
    assert job.status == status_of_killed(signal.SIGSEGV)
    assert f"rank {rank} crashed (SIGSEGV) while timing" in job.message
    assert "crash over mpi, bytes 16" in job.message
    assert_kept(records)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("leave", "process rank 1 "),
        ("fail", "commlens: rank 1 ("),
        ("fail", "MPI_Imaginary: no such thing"),
        ("misaddress over mpi", "commlens: rank 1 ("),
        ("misaddress over staged", "commlens: rank 1 ("),
    ],
)
def test_a_rank_that_leaves_or_whose_call_fails(name: str, said: str, faults: Jobs) -> None:
    if name == "leave" and is_mpich():
        pytest.skip("MPICH's launcher reports nothing of it; `commlens run` does")
    future, records = faults[name]
    job = future.result()
    assert job.status == FAILED
    assert said in (job.error if name == "leave" else job.message)
    if name.startswith("misaddress"):
        assert "rank" in job.message.partition("MPI_Send: ")[2], "MPI's own words"
    assert_kept(records)


def test_all_ranks_fail_and_one_speaks(records: Path) -> None:
    job = fault(records, "spill", ranks=4)
    # MPICH's launcher adds the signals by which it ends ranks.
    assert job.status & FAILED if is_mpich() else job.status == FAILED
    assert "memory_estimate()" in job.message
    assert records_in(records) == []


@pytest.mark.parametrize("name", ["err", "err, each", "err, warmed up", "err on rank 0"])
def test_a_wrong_result(name: str, faults: Jobs) -> None:
    future, records = faults[name]
    job = future.result()
    assert job.status == FAILED
    kept = records_in(records)
    assert [record.status for record in kept] == ["ok", "ok", "failed", "ok", "ok"]
    wrong = kept[SIZES_BEFORE]
    rank = 0 if name.endswith("rank 0") else 1
    assert wrong.validation.status == "failed"
    assert f"rank {rank}, " in wrong.reason and "byte 3 of 16 is 7, must be 8" in wrong.reason
    assert job.table.count(wrong.reason) == 1
    assert wrong.reason in job.message, (
        "the table may lie in a file: a non-zero status needs a line here"
    )


def test_a_wrong_result_that_nobody_looks_for(records: Path) -> None:
    assert fault(records, "err", "--no-validate").status == OK
    assert {record.validation.status for record in records_in(records)} == {"off"}


@pytest.mark.parametrize("name", ["stall", "stop"])
@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_that_stalls_or_is_stopped(name: str, rank: int, faults: Jobs) -> None:
    future, records = faults[f"{name} on rank {rank}"]
    job = future.result()
    assert job.status in statuses_of_abort(STALLED)
    assert f"for {PATIENCE_S} s" in job.message and "--timeout" in job.message
    where = f"timing (batch 1) {name} over mpi, bytes 16, host memory"
    here = platform.node()
    assert f"rank {1 - rank} on {here} was {where}, in MPI_Barrier" in job.message
    how = "stopped (SIGSTOP, or a debugger) while " if name == "stop" else ""
    assert f"rank {rank} on {here} was {how}{where}" in job.message
    assert job.message.count("MPI_Barrier") == 1, "the rank that stalls is not in MPI"
    assert_kept(records)


# MPICH's launcher leaves the other ranks alone when it sees that a rank has ended before it sees
# that the rank's connection is closed.
SLOW_LAUNCHER = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>
pid_t waitpid(pid_t process, int* status, int options) {
  if (process == -1 && (options & WNOHANG)) usleep(100000);
  return ((pid_t(*)(pid_t, int*, int))dlsym(RTLD_NEXT, "waitpid"))(process, status, options);
}
"""


@pytest.mark.skipif(not is_mpich(), reason="it is about MPICH's launcher")
def test_a_stopped_rank_is_ended_by_a_launcher_that_is_slow(records: Path) -> None:
    words = ("stop", "--transport mpi --timeout", PATIENCE_S, "--record", records)
    environment = {"LD_PRELOAD": str(preloaded(records.parent, SLOW_LAUNCHER))}
    job = start(under_mpirun(2, *words, program=FAULTS), records.parent, environment).wait(30)
    assert job.status in statuses_of_abort(STALLED)
    assert_kept(records)


# As a launcher that does not end the ranks.
WITHOUT_END = """
#include <mpi.h>
#include <unistd.h>
int MPI_Abort(MPI_Comm comm, int status) { for (;;) pause(); }
"""


def test_a_stopped_rank_is_killed_where_nobody_ends_it(records: Path) -> None:
    """Before the limit of the rank that aborts, which would be its status."""
    words = ("stop", "--transport mpi --timeout", PATIENCE_S, "--record", records)
    environment = {"LD_PRELOAD": str(preloaded(records.parent, WITHOUT_END))}
    job = start(under_mpirun(2, *words, program=FAULTS), records.parent, environment).wait(30)
    assert job.status not in (OK, STALLED), "a signal has ended the other rank"
    assert "was stopped (SIGSTOP, or a debugger)" in job.error
    assert_kept(records)


def test_the_variant_is_named_in_which_a_rank_stalls(faults: Jobs) -> None:
    future, _ = faults["stall the other way"]
    job = future.result()
    assert job.status in statuses_of_abort(STALLED)
    where = "stall-the-other-way over mpi, bytes 16, way other, host memory"
    assert f"timing (batch 1) {where}" in job.message


def test_a_rank_that_stalls_while_it_checks_its_results(faults: Jobs) -> None:
    future, records = faults["stall-checking"]
    job = future.result()
    assert job.status in statuses_of_abort(STALLED)
    assert_kept(records)
    assert job.message.count("waiting for the other ranks") == 1
    assert job.message.endswith("in comparing the results"), (
        "rank 1 is the one that the others wait for"
    )


# As on cores that other processes use too: most of the time the ranks are in agreements.
SLOW_AGREEMENTS = """
#include <mpi.h>
#include <unistd.h>
int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  usleep(150000);
  return PMPI_Allreduce(from, to, count, type, op, comm);
}
"""


def test_the_watchdog_leaves_ranks_alone_that_agree_slowly(records: Path) -> None:
    library = preloaded(records.parent, SLOW_AGREEMENTS)
    words = ("err", "--transport mpi --bytes 4 --no-ceilings --timeout 1", "--record", records)
    environment = {**AT_ONCE, "LD_PRELOAD": str(library)}
    job = start(under_mpirun(2, *words, program=FAULTS), records.parent, environment).wait()
    assert job.status == OK, job
    assert job.messages == []


@needs_wrong
def test_the_watchdog_leaves_a_slow_run_alone(records: Path) -> None:
    """A batch is longer than the patience with a stalled run, but its operations are counted."""
    words = "allreduce --transport sleepy --memory host --bytes 8 --repeat 30 --batches 1"
    options = ("--warmup 0 --no-ceilings --timeout 2", "--record", records)
    job = native(records.parent, 2, words, *options, program=WRONG)
    assert job.status == OK, job
    assert job.messages == []
    assert records_in(records)[0].samples.values_s[0] * 30 > 2


COMMAND_FAULTS = {
    "die": (FAILED, "rank 1 died (signal 9"),
    "crash": (FAILED, "rank 1 crashed (SIGSEGV)"),
    "leave": (FAILED, "rank left without" if is_mpich() else "rank 1 left without"),
    "fail": (FAILED, "MPI_Imaginary: no such thing"),
    "stall": (STALLED, f"in MPI_Barrier; rank 1 on {platform.node()} was timing"),
    "stop": (STALLED, f"rank 1 on {platform.node()} was stopped (SIGSTOP"),
}


@pytest.fixture(scope="module")
def command_faults(submit: Callable[..., Jobs]) -> Jobs:
    return submit(
        fault_through_command,
        {name: (name, "--timeout", PATIENCE_S) for name in [*COMMAND_FAULTS, "err"]},
    )


@pytest.mark.parametrize("name", COMMAND_FAULTS)
def test_the_command_explains_a_rank_that_goes_wrong(name: str, command_faults: Jobs) -> None:
    future, records = command_faults[name]
    job = future.result()
    status, said = COMMAND_FAULTS[name]
    # MPICH's launcher may kill a rank before its status is known.
    assert job.status in ({status, FAILED} if is_mpich() else {status})
    assert said in job.message
    assert_kept(records)
    assert foreign_lines(job) == [], "the launcher's pages are held back"


def test_the_command_tells_of_a_wrong_result(command_faults: Jobs) -> None:
    future, records = command_faults["err"]
    job = future.result()
    assert job.status == FAILED
    wrong = [record for record in records_in(records) if record.status == "failed"]
    assert len(wrong) == 1
    assert wrong[0].reason in job.table
    assert wrong[0].reason in job.message


@pytest.mark.parametrize("on_rank", [1, 2])
def test_page_faults_of_each_operation_are_recorded(on_rank: int, tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    job = fault(records, "touch", "--on-rank", on_rank, "--batches", 3)
    assert job.status == OK, job.output
    for record in records_in(records):
        faults = record.page_faults
        if record.size != 16:
            assert faults is None
            continue
        assert faults is not None
        assert faults.per_operation == pytest.approx(10, abs=1)
        assert faults.seconds > 0


@pytest.mark.parametrize("batches", [1, 3])  # of one nobody knows how many operations had them
def test_page_faults_of_some_operations_are_not(batches: int, tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    job = fault(records, "touch-at-first", "--batches", batches)
    assert job.status == OK, job.output
    assert [record.page_faults for record in records_in(records)] == [None] * 5
