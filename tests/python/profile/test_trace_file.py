"""The file of a trace is read whole, cut and changed; and told and checked by the command."""

from __future__ import annotations

import struct
import zlib
from itertools import product
from pathlib import Path
from random import Random

import pytest

from commlens.base.errors import CommlensError
from commlens.profile.traces import container
from commlens.profile.traces.relative import least_ranks, relative
from commlens.profile.traces.summary import problems, summarize
from commlens.profile.traces.trace import CallTimes, Datatype, Event, Loop, Rank, Trace
from conftest import Commlens
from trace_helpers import small


def sample() -> Trace:
    """Two ranks, one of which has its own body."""
    once = CallTimes(1, 100, 90, 3000, 100, 3000, 1)
    often = CallTimes(6, 100, 190, 3000, 40, 900, 6)
    body = (0, Loop(3, (1, Loop(2, (0, 2)))), 2)
    times = [once, CallTimes(3, 0, 0, 10, 0, 8, 5), often, often, once]
    return Trace(
        header={"ranks": 2, "mpi": "Open MPI 5.0.7", "complete": True, "dropped": [0, 0]},
        functions=["MPI_Send bnTrtc", "MPI_Recv bnTrtc", "MPI_Alltoallv baaTbaaTc"],
        operations=["MPI_SUM", "user"],
        types=[Datatype("MPI_INT", 4, 0, 4, 1), Datatype("", 24, -8, 40, 0)],
        arrays=[(1, 2, -3), (), (2**40,)],
        events=[
            Event(0, (0, 10, 0, 1, 5, 0)),
            Event(1, (0, 10, 1, -1, -1, 0)),
            Event(2, (0, 0, 1, 0, 0, 0, 1, 1, 0)),
        ],
        bodies=[body, (1,)],
        ranks=[Rank(0, 0, times), Rank(1, 1, [CallTimes(1, 8, 0, 10, 8, 6, 3)])],
    )


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    (tmp_path / "t.clt").write_bytes(container.written(sample()))
    assert container.read(tmp_path / "t.clt") == sample()


def test_a_cut_file_has_its_whole_blocks(tmp_path: Path) -> None:
    content = container.written(sample())
    ranks = set()
    for length in range(len(container.MARK), len(content)):
        (tmp_path / "t.clt").write_bytes(content[:length])
        trace = container.read(tmp_path / "t.clt")
        ranks.add(len(trace.ranks))
        if length < len(content) - 1 and len(trace.ranks) < 2:
            assert trace.header.get("cut") or length in _ends(content)
    assert ranks == {0, 1}


def _ends(content: bytes) -> list[int]:
    """Where blocks end."""
    ends, at = [len(container.MARK)], len(container.MARK)
    while at < len(content):
        at += 9 + int.from_bytes(content[at + 1 : at + 5], "little")
        ends.append(at)
    return ends


def test_a_changed_file_is_refused_in_one_sentence(tmp_path: Path) -> None:
    content = container.written(sample())
    for at, bit in product(range(len(content)), range(8)):
        changed = bytearray(content)
        changed[at] ^= 1 << bit
        (tmp_path / "t.clt").write_bytes(changed)
        try:
            assert container.read(tmp_path / "t.clt").header.get("cut"), (at, bit)
        except CommlensError as error:
            assert "\n" not in str(error) and "t.clt" in str(error)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"events": [Event(7, ())], "bodies": [], "ranks": []}, "unknown function"),
        ({"events": [Event(0, (1, 2))], "bodies": [], "ranks": []}, "as many fields"),
        ({"bodies": [(5,)], "ranks": []}, "unknown event"),
        ({"ranks": [Rank(0, 7, [])]}, "rank 0 without its body"),
        ({"ranks": [Rank(0, 0, [])]}, "a number without an end"),
    ],
)
def test_a_file_that_refers_to_nothing_is_refused(
    change: dict[str, list[object]], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(container, "relative", lambda trace: trace)  # which follows each reference
    trace = sample()
    for name, value in change.items():
        setattr(trace, name, value)
    (tmp_path / "t.clt").write_bytes(container.written(trace))
    with pytest.raises(CommlensError, match=said):
        container.read(tmp_path / "t.clt")


def test_any_content_with_right_checksums_is_refused_or_told(tmp_path: Path) -> None:
    file, whole, random = tmp_path / "t.clt", container.written(small()), Random(1)
    begin, refused = len(container.MARK), 0
    for _ in range(500):
        changed = bytearray(whole)
        for _ in range(random.randint(1, 4)):
            at = random.randrange(begin, len(changed))
            changed[at : at + random.randrange(3)] = random.randbytes(random.randrange(3))
        file.write_bytes(with_checksums(changed))
        try:
            trace = container.read(file)
            [*problems(trace), summarize(trace), least_ranks(relative(trace))]
        except CommlensError as error:
            refused += 1
            assert "\n" not in str(error)
    assert 250 < refused < 500


def with_checksums(content: bytearray) -> bytes:
    """As by a program that knows them."""
    at = len(container.MARK)
    right = content[:at]
    while at + 9 <= len(content):
        data = content[at + 9 : at + 9 + int.from_bytes(content[at + 1 : at + 5], "little")]
        letter = bytes(content[at : at + 1])
        check = zlib.crc32(data, zlib.crc32(letter))
        right += letter + struct.pack("<II", len(data), check) + data
        at += 9 + len(data)
    return bytes(right)


def test_info_and_check(commlens: Commlens, tmp_path: Path) -> None:
    file = tmp_path / "t.clt"
    file.write_bytes(container.written(sample()))
    info = commlens("trace", "info", file)
    assert info.returncode == 0 and "22 calls at 6 places" in info.stdout, info
    assert "7 messages between two ranks, 280 B" in info.stdout
    assert "communicators made" not in info.stdout
    checked = commlens("trace", "check", file)
    assert (checked.returncode, checked.stdout) == (0, f"{file}: whole\n")
    file.write_bytes(file.read_bytes()[:-1])
    checked = commlens("trace", "check", file)
    assert checked.returncode == 1
    assert "1 of 2 ranks have no trace" in checked.stdout and "is cut" in checked.stdout
    file.write_text("nothing of the kind")
    refused = commlens("trace", "info", file)
    assert refused.returncode == 2 and "not a trace" in refused.stderr


@pytest.mark.parametrize("words", [("trace", "info"), ("replay",), ("tune", "--replay")])
def test_a_file_that_cannot_be_read_is_named(commlens: Commlens, words: tuple[str, ...]) -> None:
    for name, said in (
        ("nothing", "nothing cannot be read: No such file or directory"),
        (".", ". is a folder: name a trace"),
    ):
        refused = commlens(*words, name)
        assert (refused.returncode, refused.stderr) == (2, f"commlens: {said}\n")


def test_a_replay_names_its_trace_first(commlens: Commlens) -> None:
    refused = commlens("replay", "--gaps", "none")
    said = "commlens: --gaps: name the trace first, as in: commlens replay FILE --gaps\n"
    assert (refused.returncode, refused.stderr) == (2, said)


def test_info_counts_communicators(commlens: Commlens, tmp_path: Path) -> None:
    trace = small()
    trace.bodies = [(Loop(3, (0, 1, 2)), 6), (Loop(3, (4, 5, 2)), 6)]  # MPI_Comm_split at the end
    (tmp_path / "t.clt").write_bytes(container.written(trace))
    told = commlens("trace", "info", tmp_path / "t.clt").stdout
    assert "2 communicators made, counted on each rank; at most 1 at a time" in told
