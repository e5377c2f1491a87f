"""The trace of a program has the calls of its profile, folded."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from commlens.profile.traces import container
from commlens.profile.traces.summary import problems, summarize
from commlens.profile.traces.trace import (
    Loop,
    Trace,
    executed,
)
from conftest import Commlens
from profile_helpers import Mpi
from trace_helpers import calls_of, small

COMMUNICATES = {
    "point-to-point", "collective", "nonblocking collective", "persistent collective",
    "neighbor collective", "RMA",
}  # fmt: skip


PRIVATE = """
#include <mpi.h>
#include <string.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  char data[64] = {0};
  strcpy(data, argv[1]);
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_set_name(copy, argv[1]);
  MPI_Datatype type;
  MPI_Type_contiguous(64, MPI_CHAR, &type);
  MPI_Type_set_name(type, argv[1]);
  MPI_Type_commit(&type);
  MPI_Bcast(data, 1, type, 0, copy);
  MPI_Finalize();
}
"""


def test_a_trace_has_no_names_and_no_data(mpi: Mpi, tmp_path: Path) -> None:
    (tmp_path / "private.c").write_text(PRIVATE)
    program = mpi.compile(str(tmp_path / "private.c"), name="confidential")
    run = mpi.profile(program, "secretword", options=("--trace", "t.clt", "--exact-times"))
    assert run.status == 0, run.error
    trace = container.read(Path("t.clt"))
    assert len(trace.ranks) == 2
    content = Path("t.clt").read_bytes()
    assert not any(name in content for name in (b"secretword", b"confidential", bytes(tmp_path)))
    texts = [str(trace.header), *trace.functions, *(own.name for own in trace.types)]
    assert socket.gethostname() not in re.findall(r"[\w.-]+", " ".join(texts))


def traced(mpi: Mpi, *words: object, ranks: int = 2) -> tuple[Trace, dict[str, list[int]]]:
    """Of a program: its trace, and by function the calls of each rank in its profile."""
    run = mpi.profile(*words, ranks=ranks, options=("--trace", "traces/t.clt"))
    assert run.status == 0, run.error
    assert "trace:    traces/t.clt" in run.output
    trace = container.read(Path("traces/t.clt"))
    assert [*problems(trace)] == []
    local = ("MPI_Get_", "MPI_Buffer_detach", "MPI_Test_cancelled")
    functions = {
        name: function["calls"]
        for name, function in run.functions().items()
        if function["group"] in COMMUNICATES and not name.startswith(local)
    }
    return trace, {**functions, "all": run.calls()}  # type: ignore[dict-item]


@pytest.mark.parametrize(
    "source",
    ["counts.c", "patterns.c", "requests.c", "onesided.cpp", "fortran.f90", "fortran08.f90"],
)
def test_a_trace_has_the_calls_of_the_profile(source: str, mpi: Mpi) -> None:
    ranks = 3 if source == "counts.c" else 2
    trace, calls = traced(mpi, mpi.compile(source), ranks=ranks)
    every: dict[str, list[int]] = calls.pop("all")  # type: ignore[assignment]
    counted = [calls_of(trace, rank) for rank in trace.ranks]
    assert [rank.rank for rank in trace.ranks] == list(range(ranks))
    for name, expected in calls.items():
        assert [own[name] for own in counted] == expected, name
    for name in set().union(*counted):
        assert [own[name] for own in counted] == every[name], name


FIELDS = """
#include <mpi.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, flag = 0, indices[2], done, from[4] = {0}, to[4] = {0};
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Request requests[2];
  MPI_Comm half;
  for (int step = 0; step < 40; ++step) {
    MPI_Irecv(to, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(from, 2, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD, &requests[0]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  if (rank == 0) MPI_Send(from, 1, MPI_DOUBLE, 1, 6, MPI_COMM_WORLD);
  else MPI_Recv(to, 1, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 3, 0, &half);
  if (rank == 1) MPI_Allreduce(MPI_IN_PLACE, to, 3, MPI_FLOAT, MPI_MAX, half);
  if (rank == 1) MPI_Comm_free(&half);
  MPI_Send(from, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
  const int counts[2] = {1, 2}, places[2] = {4, 0};
  MPI_Gatherv(from, rank + 1, MPI_INT, to, counts, places, MPI_INT, 1, MPI_COMM_WORLD);
  for (int i = 0; i < 5; ++i) MPI_Iprobe(1 - rank, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Isend(from, 1, MPI_INT, rank, 7, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(to, 1, MPI_INT, rank, 7, MPI_COMM_WORLD, &requests[1]);
  MPI_Start(&requests[1]);
  MPI_Waitsome(2, requests, &done, indices, MPI_STATUSES_IGNORE);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Request_free(&requests[1]);
  MPI_Finalize();
}
"""


def named(trace: Trace, rank: int) -> list[tuple[str, tuple[int, ...]]]:
    """The calls of a rank in their order."""
    body = trace.bodies[trace.ranks[rank].body]
    events = (trace.events[number] for number, _ in executed(body))
    return [(trace.functions[event.function].split(" ")[0], event.fields) for event in events]


def test_the_fields_of_a_call(mpi: Mpi, tmp_path: Path) -> None:
    source = tmp_path / "fields.c"
    source.write_text(FIELDS)
    trace, _ = traced(mpi, mpi.compile(str(source)))
    assert len(trace.bodies[trace.ranks[0].body]) < 20, "forty steps are one loop"
    types = [kind.name for kind in trace.types]
    whole, real, single = (types.index(f"MPI_{name}") for name in ("INT", "DOUBLE", "FLOAT"))
    for rank in (0, 1):
        calls = named(trace, rank)
        other = 1 - rank
        for step in range(40):
            slots = trace.arrays[calls[3 * step + 2][1][1]]
            assert calls[3 * step : 3 * step + 2] == [
                ("MPI_Irecv", (0, 2, whole, other, 5, 0, 0)),
                ("MPI_Isend", (0, 2, whole, other, 5, 0, 1)),
            ]
            assert slots == (1, 0)
        rest = dict(calls[120:])
        assert rest["MPI_Comm_split"] == ((0, -1, 0, -1) if rank == 0 else (0, 3, 0, 2))
        assert ("MPI_Send", (0, 0, whole, -1, 0, 0)) in calls
        if rank == 1:
            assert rest["MPI_Recv"] == (0, 1, real, 0, 6, 0)
            largest = trace.operations.index("MPI_MAX")
            assert rest["MPI_Allreduce"] == (1, 0, 3, single, largest, 2)
            assert rest["MPI_Comm_free"] == (2,)
        gathered = rest["MPI_Gatherv"]
        assert gathered[:4] == (0, rank + 1, whole, 0)
        if rank == 1:
            assert [trace.arrays[number] for number in gathered[4:6]] == [(1, 2), (4, 0)]
        else:
            assert gathered[4:7] == (-1, -1, -1), "no root: MPI does not read them"
        assert rest["MPI_Iprobe"] == (other, 99, 0, 0)
        assert rest["MPI_Start"] == (1,) and rest["MPI_Request_free"] == (1,)
    probes = next(own for own in summarize(trace).functions if own.name == "MPI_Iprobe")
    assert probes.calls == 10 and sum(name == "MPI_Iprobe" for name, _ in named(trace, 0)) == 1


TYPES = """
#include <mpi.h>
static double from[10000], to[10000];
static void send(MPI_Datatype type) {
  MPI_Type_commit(&type);
  MPI_Sendrecv(from, 1, type, 0, 1, to, 1, type, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  MPI_Type_free(&type);
}
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Datatype type, column;
  MPI_Type_vector(7, 2, 5, MPI_DOUBLE, &type);  // 7
  send(type);
  MPI_Type_vector(4, 1, 10, MPI_DOUBLE, &column);
  MPI_Type_create_resized(column, 0, sizeof(double), &type);  // 4
  send(type);
  MPI_Type_contiguous(3, column, &type);  // 12
  send(type);
  const int lengths[3] = {1, 0, 3}, places[3] = {0, 20, 40};
  MPI_Type_indexed(3, lengths, places, MPI_DOUBLE, &type);  // 2
  send(type);
  const MPI_Aint offsets[3] = {0, 8, 4000};
  const MPI_Datatype parts[3] = {MPI_INT, MPI_CHAR, column};
  MPI_Type_create_struct(3, lengths, offsets, parts, &type);  // 1 and 3 columns
  send(type);
  const int sizes[3] = {4, 5, 6}, some[3] = {2, 3, 6}, starts[3] = {1, 1, 0};
  MPI_Type_create_subarray(3, sizes, some, starts, MPI_ORDER_C, MPI_DOUBLE, &type);  // 2
  send(type);
  MPI_Type_create_subarray(3, sizes, some, starts, MPI_ORDER_FORTRAN, MPI_DOUBLE, &type);  // 18
  send(type);
  MPI_Type_contiguous(9, MPI_DOUBLE, &type);  // 1
  send(type);
  MPI_Type_free(&column);
  MPI_Finalize();
}
"""


def test_a_type_has_its_pieces(mpi: Mpi, tmp_path: Path) -> None:
    source = tmp_path / "types.c"
    source.write_text(TYPES)
    trace, _ = traced(mpi, mpi.compile(str(source)), ranks=1)
    derived = [kind.pieces for kind in trace.types if not kind.name]
    assert derived == [7, 4, 12, 2, 13, 2, 18, 1]


KILLED = """
#include <mpi.h>
#include <signal.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, value = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int step = 0; step < 100; ++step) MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  raise(SIGKILL);
}
"""


def test_ranks_that_are_killed_leave_their_traces(mpi: Mpi, tmp_path: Path) -> None:
    (tmp_path / "killed.c").write_text(KILLED)
    program = mpi.compile(str(tmp_path / "killed.c"))
    run = mpi.profile(program, options=("--trace", "t.clt"))
    assert run.status != 0
    trace = container.read(Path("t.clt"))
    assert "did not come to MPI_Finalize" in run.error
    assert len(trace.ranks) == 2
    for rank in trace.ranks:
        assert calls_of(trace, rank)["MPI_Bcast"] == 100


UNFOLDED = """
#include <mpi.h>
#include <stdio.h>
#include <string.h>
static char data[16];
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  unsigned state = 1;
  for (int step = 0; step < 150000; ++step) {
    state = state * 1664525u + 1013904223u;
    MPI_Bcast(data, state >> 28, MPI_CHAR, 0, MPI_COMM_SELF);
  }
  char line[256];
  FILE* status = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof line, status)) {
    if (strncmp(line, "VmHWM:", 6) == 0) fputs(line, stdout);
  }
  MPI_Finalize();
}
"""


def test_calls_that_do_not_fold_take_little_memory(mpi: Mpi, tmp_path: Path) -> None:
    (tmp_path / "unfolded.c").write_text(UNFOLDED)
    program = mpi.compile(str(tmp_path / "unfolded.c"))
    peaks = []
    for options in ((), ("--trace", "t.clt")):
        run = mpi.profile(program, ranks=1, options=options)
        assert run.status == 0, run.error
        peaks.append(int(re.findall(r"VmHWM:\s+(\d+) kB", run.output)[0]) / 1024)
    assert Path("t.clt").stat().st_size > 500_000, "nothing repeats"
    assert peaks[1] - peaks[0] < 10, "MiB; what was written has more"


def test_a_trace_that_cannot_be_written_loses_no_record(mpi: Mpi) -> None:
    run = mpi.profile(mpi.compile("counts.c"), options=("--trace", "/dev/full"))
    assert run.status == 1
    assert "--trace /dev/full: a trace cannot be written there (No space left" in run.error
    assert run.calls()["MPI_Bcast"] == [1, 1], "the record is kept"


def test_an_export_for_simgrid(commlens: Commlens, tmp_path: Path) -> None:
    (tmp_path / "t.clt").write_bytes(container.written(small()))
    exported = commlens("trace", "export", tmp_path / "t.clt", "--tit", tmp_path / "sim")
    assert exported.returncode == 0, exported
    lines = (tmp_path / "sim/rank-1.tit").read_text().splitlines()
    step = ["irecv 0 5 80", "compute 2000", "send 0 5 80", "compute 2000", "wait 0 1 5"]
    steps = 3 * ["compute 2000", *step]
    expected = ["init", *steps, "compute 2000", "allreduce 32 0", "finalize"]
    assert lines == [f"1 {action}" for action in expected]
    if shutil.which("smpirun") is None:
        pytest.skip("no smpirun: Debian's simgrid has it")
    (tmp_path / "platform.xml").write_text(
        "<?xml version='1.0'?><!DOCTYPE platform SYSTEM 'https://simgrid.org/simgrid.dtd'>"
        "<platform version='4.1'><cluster id='c' prefix='n' suffix='' radical='0-1' speed='1Gf' "
        "bw='1GBps' lat='1us'/></platform>"
    )
    (tmp_path / "hosts").write_text("n0\nn1\n")
    words = ["smpirun", "-np", "2", "-platform", tmp_path / "platform.xml"]
    words += ["-hostfile", tmp_path / "hosts", "-replay", tmp_path / "sim/trace.tit"]
    simulated = subprocess.run(words, capture_output=True, text=True, timeout=60)
    (seconds,) = re.findall(r"Simulation time (\S+)", simulated.stdout + simulated.stderr)
    assert 10 * 2e-6 < float(seconds) < 10 * 2e-6 + 1e-4, "ten gaps of 2 us, and messages"


def test_what_simgrid_cannot_express_is_refused(commlens: Commlens, tmp_path: Path) -> None:
    trace = small()
    trace.bodies[0] = (6, Loop(3, (7, 1, 2)))
    (tmp_path / "t.clt").write_bytes(container.written(trace))
    refused = commlens("trace", "export", tmp_path / "t.clt", "--tit", tmp_path / "sim")
    assert refused.returncode == 2
    assert "MPI_Allreduce in a communicator of some of the ranks" in refused.stderr
