"""A part of a trace has whole communications alone, and its replay ends."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from commlens.base.errors import CommlensError
from commlens.profile.traces import container
from commlens.profile.traces.calls import calls_of
from commlens.profile.traces.choice import Window
from commlens.profile.traces.cut import cut
from commlens.profile.traces.summary import problems
from commlens.profile.traces.trace import Event, Loop, Rank, Trace, executed
from conftest import Commlens
from native_helpers import BENCH
from profile_helpers import Mpi
from trace_helpers import small

MIX = """
#include <mpi.h>
#include <unistd.h>
enum { STEPS = 20 };
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, here, half, flag = 0, index, value[4] = {0}, all[4] = {0};
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm parts, copy, group_comm = MPI_COMM_NULL;
  MPI_Group world, low;
  MPI_Request requests[4];
  MPI_Message message;
  const int lowest[2] = {0, 1};
  MPI_Comm_split(MPI_COMM_WORLD, rank < 2, -rank, &parts);
  MPI_Comm_idup(parts, &copy, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, size < 2 ? size : 2, lowest, &low);
  if (rank < 2) MPI_Comm_create_group(MPI_COMM_WORLD, low, 3, &group_comm);
  MPI_Comm_rank(copy, &here);
  MPI_Comm_size(copy, &half);
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  MPI_Send_init(value, 3, MPI_INT, (here + 1) % half, 4, copy, &requests[2]);
  MPI_Recv_init(all, 4, MPI_INT, MPI_ANY_SOURCE, 4, copy, &requests[3]);
  for (int step = 0; step < STEPS; ++step) {
    MPI_Comm inner;
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(2000);
    MPI_Comm_dup(parts, &inner);
    MPI_Sendrecv(value, 2, MPI_INT, right, 1, all, 4, MPI_INT, left, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Startall(2, &requests[2]);
    MPI_Irecv(all, 4, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(value, step % 3, MPI_INT, right, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
    for (flag = 0; !flag;) MPI_Testall(2, &requests[2], &flag, MPI_STATUSES_IGNORE);
    MPI_Isend(value, 1, MPI_INT, left, 6, MPI_COMM_WORLD, &requests[0]);
    MPI_Probe(right, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (flag = 0; !flag;) MPI_Iprobe(right, 6, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Mprobe(right, 6, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv(all, 1, MPI_INT, &message, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Allreduce(value, all, 4, MPI_INT, MPI_SUM, inner);
    if (group_comm != MPI_COMM_NULL) MPI_Bcast(value, 2, MPI_INT, 0, group_comm);
    MPI_Comm_free(&inner);
  }
  MPI_Request_free(&requests[2]);
  MPI_Request_free(&requests[3]);
  MPI_Reduce(value, all, 1, MPI_INT, MPI_MAX, size - 1, MPI_COMM_WORLD);
  MPI_Finalize();
}
"""


def named(trace: Trace, rank: int) -> list[tuple[str, tuple[object, ...]]]:
    """The calls of a rank, with the contents of arrays."""
    events = (trace.events[number] for number, _ in executed(trace.bodies[trace.ranks[rank].body]))
    calls = []
    for event in events:
        name, _, letters = trace.functions[event.function].partition(" ")
        fields = zip(letters, event.fields)
        calls.append((name, tuple(trace.array(f) if own in "asgI" else f for own, f in fields)))
    return calls


def replay(trace: Trace, mpi: Mpi, folder: Path) -> None:
    """It ends, and is whole."""
    assert [*problems(trace)] == []
    (folder / "part.clt").write_bytes(container.written(trace))
    words = [BENCH, "replay", "--trace", folder / "part.clt", "--gaps", "none", "--repeat", "1"]
    command = mpi.command(*words, ranks=len(trace.ranks))
    done = subprocess.run(
        command, env={**os.environ, **mpi.environment()}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("source", "ranks"), [("mix.c", 1), ("mix.c", 3), ("requests.c", 2)])
def test_parts_of_a_program_are_replayed(source: str, ranks: int, mpi: Mpi, tmp_path: Path) -> None:
    if mpi.name != "openmpi":
        pytest.skip("the program is built with Open MPI")
    (tmp_path / "mix.c").write_text(MIX)
    program = mpi.compile(str(tmp_path / source) if source == "mix.c" else source)
    run = mpi.profile(program, ranks=ranks, options=("--trace", "t.clt"))
    assert run.status == 0, run.error
    trace = container.read(Path("t.clt"))
    whole = cut(trace, None, Window())
    for rank in range(ranks):
        assert named(whole, rank) == named(trace, rank)
    replay(whole, mpi, tmp_path)
    if source == "mix.c":
        begins = [call.begin for call in calls_of(trace, trace.ranks[0])]
        middle = cut(trace, None, Window(begins[len(begins) // 4], begins[3 * len(begins) // 4]))
        assert 0 < len(named(middle, 0)) < len(named(trace, 0))
        replay(middle, mpi, tmp_path)
    if ranks == 3:
        replay(cut(trace, [0, 1], Window()), mpi, tmp_path)


def test_a_message_is_kept_whole_or_not_at_all() -> None:
    with pytest.raises(CommlensError, match="no call of these ranks is whole"):
        cut(small(), [1], Window())  # it exchanges messages with rank 0, and reduces


def test_a_long_loop_stays_small() -> None:
    trace = small()
    times = [
        type(own)(2_000, *(1_000 * n for n in (9, 6, 3)), 40, 20, 2_000)
        for own in trace.ranks[0].times[:3]
    ]
    trace.bodies = [(Loop(2_000, (0, 1, 2)),), (Loop(2_000, (4, 5, 2)),)]
    trace.ranks = [Rank(0, 0, times), Rank(1, 1, times)]
    part = cut(trace, None, Window(10_000, None))
    assert part.header["part"] == {"ranks": [0, 1], "from": 0.00001, "to": 0.000036}
    assert part.header["seconds"] == 0.000026
    inside = sum(own.gap + own.call for own in part.ranks[0].times)
    assert inside == pytest.approx(26_000, rel=1e-3)
    assert all(len(rank.times) < 12 for rank in part.ranks)
    assert len(named(part, 0)) == 4_332


def test_ranks_are_renumbered() -> None:
    trace = small()
    trace.header["ranks"] = 3
    for at in (0, 1, 4, 5):  # messages of ranks 1 and 2
        event = trace.events[at]
        fields = event.fields
        trace.events[at] = Event(event.function, (*fields[:3], fields[3] + 1, *fields[4:]))
    times = trace.ranks[0].times[:3]
    trace.bodies = [(), (Loop(3, (0, 1, 2)),), (Loop(3, (4, 5, 2)),)]
    trace.ranks = [Rank(0, 0, []), Rank(1, 1, times), Rank(2, 2, times)]
    part = cut(trace, [1, 2], Window())
    assert part.header["ranks"] == 2
    for rank, peer in ((0, 1), (1, 0)):
        assert {fields[3] for name, fields in named(part, rank) if name != "MPI_Wait"} == {peer}


def test_too_many_calls_are_refused() -> None:
    trace = small()
    times = [type(own)(2_000_000, *[1] * 5, 2_000_000) for own in trace.ranks[0].times]
    trace.ranks = [Rank(0, 0, times), Rank(1, 1, times)]
    with pytest.raises(CommlensError, match=r"16,000,000 calls.*4,000,000 are the most"):
        cut(trace, None, Window())


def test_what_cannot_be_cut_says_why(commlens: Commlens, tmp_path: Path) -> None:
    file = tmp_path / "t.clt"
    file.write_bytes(container.written(small()))
    for words, said in (
        (("--ranks", "0,7"), "the trace has no rank 7; it has 0-1"),
        (("--ranks", "x"), "write ranks, as in 0-3,8"),
        (("--from", "2", "--to", "1"), "--to 1: write a time after --from 2"),
        (("--from", "9"), "no call of these ranks is whole in this time"),
    ):
        done = commlens("trace", "cut", file, tmp_path / "part.clt", *words)
        assert done.returncode == 2 and said in done.stderr, done
    onto = commlens("trace", "cut", file, file)
    assert onto.returncode == 2 and "this command reads it" in onto.stderr
    done = commlens("trace", "cut", file, tmp_path / "part.clt", "--ranks", "0-1")
    assert done.returncode == 0, done
    assert commlens("trace", "check", tmp_path / "part.clt").returncode == 0


def test_a_topology_that_loses_a_rank_is_refused() -> None:
    trace = small()
    trace.functions.append("MPI_Cart_create cnaanC")
    trace.arrays += [(2,), (0,)]
    trace.events += [
        Event(5, (0, 1, 0, 1, 0, 2)),
        Event(0, (0, 1, 0, 0, 5, 2, 0)),
        Event(1, (0, 1, 0, 0, 5, 2)),
    ]
    body = (8, 9, 10, 2)
    own = trace.ranks[0].times[3]
    trace.bodies = [body, (8,)]
    trace.ranks = [Rank(0, 0, [own] * 4), Rank(1, 1, [own])]
    with pytest.raises(CommlensError, match=r"MPI_Cart_create .* --ranks 0-1"):
        cut(trace, [0], Window())
