from __future__ import annotations

import io
from typing import Any

import pytest

from commlens.jobs.messages import (
    Death,
    ErrorFilter,
    Filter,
    OutputFilter,
    complaint,
    death,
    departure,
    ending,
    first_sentence,
    lost_node,
)
from conftest import captured
from record_helpers import parsed
from run_helpers import cases
from sample_records import make_record, placement


def filtered(kind: type[Filter], text: str, chunk: int = 7) -> Filter:
    """Feeds the text in chunks, as a pipe might."""
    written = io.BytesIO()
    output = kind(written)
    data = text.encode()
    for start in range(0, len(data), chunk):
        output.feed(data[start : start + chunk])
    output.finish()
    assert written.getvalue().decode().split() == "\n".join(output.lines).split()
    return output


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize(("end", "status", "expected"), cases("ends in pages of Open MPI"))
def test_open_mpis_pages_become_a_fact(
    version: int, end: str, status: int, expected: list[Any] | None
) -> None:
    output = filtered(ErrorFilter, captured(f"open-mpi-{version}-{end}"))
    assert death("\n".join(output.held), status) == (Death(*expected) if expected else None)
    assert departure("\n".join(output.held)) == ""
    # Backtraces and warnings of the library stay.
    assert [line for line in output.lines if not line.startswith("[")] == []


@pytest.mark.parametrize(("name", "number"), [("mpich-segv", 11), ("mpich-kill", 9)])
def test_mpichs_box_becomes_a_fact(name: str, number: int) -> None:
    output = filtered(OutputFilter, captured(name))
    died = death("\n".join(output.held), number)
    assert died == Death(None, number) and died.node == "node"
    assert [line for line in output.lines if line] == ['{"probe":"begin","call":"MPI_Init"}'] * 2


def test_the_record_has_the_rank_of_a_process() -> None:
    places = placement(["other", "node.cluster", "node.cluster"])
    (record,) = parsed(make_record(ranks=3, nodes=2, placement=places, processes=[4802, 17, 4802]))
    log = captured("mpich-kill")
    died = death(log, 9)
    assert died is not None and died.with_rank(None) == Death(None, 9)
    assert died.with_rank(record.start) == Death(2, 9)
    elsewhere = death(log.replace("AT node", "AT node2"), 9)
    assert elsewhere is not None and elsewhere.with_rank(record.start) == Death(None, 9)


def test_a_single_node_may_have_any_name() -> None:
    (record,) = parsed(make_record(ranks=2, processes=[4801, 4802]))
    died = death(captured("mpich-kill").replace("AT node", "AT 10.0.0.1"), 9)
    assert died is not None and died.with_rank(record.start) == Death(1, 9)


@pytest.mark.parametrize(("said", "why"), cases("why MPICH's launcher starts nothing"))
def test_why_mpichs_launcher_starts_nothing(said: str, why: str) -> None:
    held = filtered(ErrorFilter, f"{said}\n[mpiexec@n1] main (mpiexec.c:49): the end\n").held
    assert complaint("\n".join(held)) == why
    assert complaint("") == ""


PAGE = (
    'mpirun has exited due to a process exiting without calling "finalize",\n'
    "but has no info as to the process"
)


@pytest.mark.parametrize(
    ("text", "who"),
    [
        (captured("open-mpi-4-left"), "rank 1"),
        (captured("open-mpi-5-left"), "rank 1"),
        (f"{'-' * 74}\n{PAGE}\n{'-' * 74}\n", "a rank"),
    ],
    ids=["Open MPI 4", "Open MPI 5", "unknown rank"],
)
def test_a_rank_that_leaves_is_in_open_mpis_page(text: str, who: str) -> None:
    output = filtered(ErrorFilter, text)
    assert output.lines == []
    assert departure("\n".join(output.held)) == f"{who} left without MPI_Finalize"
    assert death("\n".join(output.held), 1) is None


def test_the_message_of_a_signal_waits_for_the_reason() -> None:
    line = "commlens: ended by SIGTERM while timing latency"
    output = filtered(ErrorFilter, f"commlens progress: half\n{line}\n")
    assert output.lines == ["commlens progress: half"]
    assert ending("\n".join(output.held)) == (line, 15)
    assert ending("") is None


EDGE = "-" * 74


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        pytest.param(ErrorFilter, captured("open-mpi-4-slots"), id="unknown"),
        pytest.param(ErrorFilter, f"{EDGE}\nsomething new", id="unfinished"),
        pytest.param(
            OutputFilter,
            f"a title\n{'=' * 70}\nsize  time\n{'-' * 70}\n1  2\n{'=' * 70}",
            id="table of the program",
        ),
    ],
)
def test_other_text_passes(kind: type[Filter], text: str) -> None:
    output = filtered(kind, text)
    assert output.held == []
    assert output.lines == [line.rstrip() for line in text.splitlines()]


@pytest.mark.parametrize(("said", "rank", "number"), cases("deaths of resource managers"))
def test_resource_managers_say_who_died(said: str, rank: int | None, number: int) -> None:
    assert filtered(ErrorFilter, said).held == [said]
    assert death(said, 1) == Death(rank, number)


def test_a_status_in_the_shells_manner_is_a_death() -> None:
    assert death("", 139) == Death(None, 11)
    assert death("", 255) is None
    assert Death(1, 9).described(with_node=True) == "rank 1 died (signal 9, Killed)"


@pytest.mark.parametrize(
    ("lines", "sentence"), [*cases("first sentences"), (["x" * 5000], "x" * 200)]
)
def test_the_first_sentence_of_a_launcher(lines: list[str], sentence: str) -> None:
    assert first_sentence(lines) == sentence


def test_a_message_that_each_rank_says_for_all_is_passed_once() -> None:
    said = filtered(ErrorFilter, "commlens: no\ncommlens: no\nown\nown\n")
    assert said.lines == ["commlens: no", "own", "own"]


def test_the_node_of_a_death_is_said() -> None:
    of_srun = "srun: error: n2: task 1: Killed"
    of_mpirun = (
        "mpirun noticed that process rank 1 with PID 7 on node n2 exited on signal 9 (Killed)."
    )
    for said in (of_srun, of_mpirun):
        died = death(said, 1)
        assert died and died.described(with_node=True) == "rank 1 on n2 died (signal 9, Killed)"
        assert died.described(with_node=False) == "rank 1 died (signal 9, Killed)"


def test_a_lost_node_is_recognized() -> None:
    page = (
        "ORTE has lost communication with a remote daemon.\n\n"
        "  HNP daemon   : [[7274,0],0] on node n1\n  Remote daemon: [[7274,0],1] on node n2\n"
    )
    assert lost_node(page) == "n2"
    assert lost_node("srun: error: Node failure on n3") == "n3"
    assert lost_node("srun: error: n2: task 1: Killed") == ""


@pytest.mark.parametrize("line", cases("lines around failures"))
def test_lines_around_a_failure_are_held_back(line: str) -> None:
    assert filtered(ErrorFilter, line).held == [line]
