"""With --exact-times a trace has the times of each call, in their order."""

from __future__ import annotations

from pathlib import Path

import pytest

from commlens.base.errors import CommlensError
from commlens.profile.traces import container
from commlens.profile.traces.calls import calls_of
from commlens.profile.traces.choice import Window
from commlens.profile.traces.cut import cut
from commlens.profile.traces.trace import ExactTimes, Trace, executed
from conftest import Commlens
from profile_helpers import Mpi
from trace_helpers import small

TURNS = """
#include <mpi.h>
enum { STEPS = 40 };
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, flag;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int step = 0; step < STEPS; ++step) {
    const double end = MPI_Wtime() + (step % size == rank ? 2e-3 : 0);
    while (MPI_Wtime() < end) continue;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 3; ++i) MPI_Iprobe(rank, 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
}
"""


def exact() -> Trace:
    """Ranks 0 and 1, the times of whose first calls are known."""
    trace = small()
    for rank in trace.ranks:
        rank.exact.extend(ExactTimes(1000 * at, 900 * at, 10 + at) for at in range(7))
    return trace


@pytest.mark.parametrize("ranks", [1, 3])
def test_each_call_has_its_times(ranks: int, mpi: Mpi, tmp_path: Path) -> None:
    (tmp_path / "turns.c").write_text(TURNS)
    program = mpi.compile(str(tmp_path / "turns.c"))
    run = mpi.profile(program, ranks=ranks, options=("--trace", "t.clt", "--exact-times"))
    assert run.status == 0, run.error
    trace = container.read(Path("t.clt"))
    for rank in trace.ranks:
        assert len(rank.exact) == sum(own.count for own in rank.times) == 80
        places = [place for _, place in executed(trace.bodies[rank.body])]
        for place, times in enumerate(rank.times):
            own = [times for at, times in zip(places, rank.exact) if at == place]
            for name in ExactTimes._fields:  # each is cut off to whole nanoseconds
                whole = getattr(times, name)
                assert whole - len(own) <= sum(getattr(one, name) for one in own) <= whole
        slow = [step for step in range(40) if rank.exact[2 * step].gap > 1_900_000]
        assert {*range(rank.rank, 40, ranks)} <= {*slow}


def test_without_the_option_there_are_none(mpi: Mpi) -> None:
    run = mpi.profile(mpi.compile("counts.c"), options=("--trace", "t.clt"))
    assert run.status == 0, run.error
    assert not any(rank.exact for rank in container.read(Path("t.clt")).ranks)


def test_a_file_keeps_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "_ITEMS", 3)  # of the 7 in a block
    file = tmp_path / "t.clt"
    file.write_bytes(container.written(exact()))
    trace = container.read(file)
    assert [rank.exact for rank in trace.ranks] == [rank.exact for rank in exact().ranks]


def test_times_of_another_rank_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "t.clt"
    content = container.written(exact())
    at, blocks = len(container.MARK), []
    while at < len(content):
        end = at + 9 + int.from_bytes(content[at + 1 : at + 5], "little")
        blocks.append(content[at:end])
        at = end
    file.write_bytes(container.MARK + b"".join(own for own in blocks if own[:1] != b"R"))
    with pytest.raises(CommlensError, match="times of rank 0 without its trace"):
        container.read(file)


def test_calls_take_their_own_times_then_the_means() -> None:
    calls = [*calls_of(exact(), exact().ranks[0])]
    times = [(call.times.gap, call.times.cpu, call.times.call) for call in calls]
    assert times[:7] == [(1000 * at, 900 * at, 10 + at) for at in range(7)]
    assert times[7:] == [(3000, 2000, 100)] * 3
    assert calls[2].begin == 1000 + 2000 + 10 + 11


def test_a_part_keeps_those_of_its_calls() -> None:
    whole = cut(exact(), None, Window())
    assert [rank.exact for rank in whole.ranks] == [rank.exact for rank in exact().ranks]
    begin = [*calls_of(exact(), exact().ranks[0])][3].begin - 1000  # within the gap
    part = cut(exact(), None, Window(begin, None))
    assert part.ranks[0].exact == [ExactTimes(1000, 900, 13), *exact().ranks[0].exact[4:]]


def test_they_need_a_trace(commlens: Commlens) -> None:
    refused = commlens("profile", "--exact-times", "--", "true")
    assert refused.returncode == 2
    assert "--exact-times is for a trace; add --trace FILE" in refused.stderr
