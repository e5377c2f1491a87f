"""An OTF2 archive has the calls, the messages, the collectives and the times of the trace."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from commlens.base.errors import CommlensError
from commlens.profile.traces import container, otf2_archive
from commlens.profile.traces.trace import Trace
from conftest import Commlens
from profile_helpers import Mpi
from trace_helpers import calls_of, small

COMMUNICATORS = """
#include <mpi.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, value[3] = {0}, all[3] = {0};
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm parts, reversed, line, node, copy;
  MPI_Request requests[2];
  const int periodic = 1, no = 0;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &parts);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Cart_create(reversed, 1, &size, &periodic, 0, &line);
  MPI_Comm_idup(line, &copy, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  for (int step = 0; step < 5; ++step) {
    int here, left, right;
    MPI_Comm_rank(copy, &here);
    left = (here + size - 1) % size, right = (here + 1) % size;
    MPI_Irecv(all, 3, MPI_INT, MPI_ANY_SOURCE, 7, copy, &requests[0]);
    MPI_Isend(value, here % 3, MPI_INT, right, 7, copy, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Sendrecv(value, 2, MPI_INT, left, 1, all, 2, MPI_INT, right, 1, line, MPI_STATUS_IGNORE);
    MPI_Allreduce(value, all, 3, MPI_INT, MPI_SUM, parts);
    MPI_Ibcast(value, 1, MPI_INT, no, node, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  }
  MPI_Recv_init(all, 3, MPI_INT, MPI_ANY_SOURCE, 9, parts, &requests[0]);
  MPI_Comm_rank(parts, &rank);
  for (int step = 0; step < 4; ++step) {
    MPI_Start(&requests[0]);
    MPI_Send(value, 1, MPI_INT, rank, 9, parts);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&requests[0]);
  MPI_Comm_free(&copy);
  MPI_Finalize();
}
"""


def exported(trace: Trace, folder: Path) -> list[tuple[int, Any]]:
    """The events of the archive, each with its rank."""
    otf2 = pytest.importorskip("otf2")
    anchor = otf2_archive.export(trace, folder)
    if printer := shutil.which("otf2-print"):
        subprocess.run([printer, str(anchor)], check=True, capture_output=True)
    with otf2.reader.open(str(anchor)) as archive:
        assert archive.timer_resolution == 10**9
        return [(int(place.name.split()[-1]), event) for place, event in archive.events]


def kind(event: Any) -> str:
    """The record of OTF2."""
    return type(event).__name__


def compare(trace: Trace, events: list[tuple[int, Any]]) -> None:
    """Calls and times of each rank; and what is sent between two ranks is received."""
    for rank in trace.ranks:
        own = [event for place, event in events if place == rank.rank]
        entered = Counter(event.region.name for event in own if kind(event) == "Enter")
        assert entered.pop("program") == 1
        assert entered == +calls_of(trace, rank)
        assert own[-1].time == sum(times.gap + times.call for times in rank.times)
        assert [event.time for event in own] == sorted(event.time for event in own)
    sent, received = messages(events)
    assert sent == received


def messages(events: list[tuple[int, Any]]) -> tuple[dict[Any, list[int]], dict[Any, list[int]]]:
    """The lengths of the messages between two ranks of the world."""
    sent, received = defaultdict(list), defaultdict(list)
    for place, event in events:
        if kind(event) in ("MpiSend", "MpiIsend"):
            to = event.communicator.location(event.receiver).name
            sent[place, int(to.split()[-1]), event.msg_tag].append(event.msg_length)
        elif kind(event) in ("MpiRecv", "MpiIrecv"):
            source = event.communicator.location(event.sender).name
            received[int(source.split()[-1]), place, event.msg_tag].append(event.msg_length)
    return dict(sent), dict(received)


def test_an_archive_of_two_ranks(tmp_path: Path) -> None:
    events = exported(small(), tmp_path / "archive")
    compare(small(), events)
    sent, _ = messages(events)
    assert sent == {(0, 1, 5): 3 * [80], (1, 0, 5): 3 * [80]}
    reductions = [event for _, event in events if kind(event) == "MpiCollectiveEnd"]
    assert [(own.size_sent, own.size_received) for own in reductions] == 2 * [(32, 32)]
    requests = Counter(kind(event) for _, event in events)
    assert requests["MpiIrecvRequest"] == requests["MpiIrecv"] == 6


@pytest.mark.parametrize("ranks", [1, 3])
def test_communicators_have_their_ranks(ranks: int, mpi: Mpi, tmp_path: Path) -> None:
    source = tmp_path / "communicators.c"
    source.write_text(COMMUNICATORS)
    run = mpi.profile(mpi.compile(str(source)), ranks=ranks, options=("--trace", "t.clt"))
    assert run.status == 0, run.error
    trace = container.read(Path("t.clt"))
    events = exported(trace, tmp_path / "archive")
    compare(trace, events)
    sent, _ = messages(events)
    for rank in range(ranks):
        here = ranks - 1 - rank  # in the reversed communicators
        right = ranks - 1 - (here + 1) % ranks
        assert sent[rank, right, 7] == 5 * [4 * (here % 3)]
        left = ranks - 1 - (here - 1) % ranks
        assert sent[rank, left, 1] == 5 * [8]
        assert sent[rank, rank, 9] == 4 * [4]
    sizes = Counter(
        (kind(event), len(event.communicator.group.members))
        for _, event in events
        if kind(event) in ("MpiCollectiveEnd", "NonBlockingCollectiveComplete")
    )
    assert sizes["NonBlockingCollectiveComplete", ranks] == 5 * ranks
    assert sizes["MpiCollectiveEnd", 1] == 5, "the rank 1 of 3, or the only one, reduces alone"


@pytest.mark.parametrize("source", ["counts.c", "requests.c"])
def test_archives_of_many_functions(source: str, mpi: Mpi, tmp_path: Path) -> None:
    run = mpi.profile(mpi.compile(source), options=("--trace", "t.clt"))
    assert run.status == 0, run.error
    trace = container.read(Path("t.clt"))
    compare(trace, exported(trace, tmp_path / "archive"))


def test_the_command(commlens: Commlens, tmp_path: Path) -> None:
    pytest.importorskip("otf2")
    (tmp_path / "t.clt").write_bytes(container.written(small()))
    words = ("trace", "export", tmp_path / "t.clt", "--otf2", tmp_path / "new" / "archive")
    done = commlens(*words)
    assert done.stdout == f"trace:    {tmp_path}/new/archive/traces.otf2\n", done
    again = commlens(*words)
    assert again.returncode == 2 and "it is there and not empty" in again.stderr
    nowhere = commlens(*words[:-1], "/proc/archive")
    said = "--otf2 /proc/archive: an archive cannot be written (No such file or directory)"
    assert (nowhere.returncode, nowhere.stderr) == (2, f"commlens: {said}\n")
    none = commlens("trace", "export", tmp_path / "t.clt")
    assert none.returncode == 2 and "--otf2 FOLDER" in none.stderr


def test_a_module_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "otf2", None)
    with pytest.raises(CommlensError, match="pip install otf2"):
        otf2_archive.export(small(), tmp_path / "archive")
