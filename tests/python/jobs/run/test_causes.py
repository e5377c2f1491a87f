"""Each cause of a failure is recognized in the output that it was made from."""

from __future__ import annotations

import pytest

from commlens.jobs.causes import CAUSES, Cause, first, launch_failure, of_job
from commlens.jobs.messages import ErrorFilter
from conftest import captured
from run_helpers import cases

ALL = [*CAUSES.job, *CAUSES.launch, *CAUSES.probe]


@pytest.mark.parametrize(
    ("cause", "name"),
    [pytest.param(cause, name, id=name) for cause in ALL for name in cause.captured],
)
def test_a_cause_is_recognized_in_captured_output(cause: Cause, name: str) -> None:
    causes = CAUSES.launch if cause in CAUSES.launch else CAUSES.probe
    applies = first(causes, captured(name), {}, {"asked_for_ucx": True})
    assert applies and applies[0] == cause


def test_causes_with_patterns_were_captured() -> None:
    assert [cause.code for cause in ALL if bool(cause.patterns) != bool(cause.captured)] == []
    assert len({cause.code for cause in ALL}) == len(ALL)


@pytest.mark.parametrize(("name", "message"), cases("why mpirun has not started"))
def test_why_mpirun_has_not_started(name: str, message: str) -> None:
    """On two nodes with Open MPI 4.1.4, where the folder of TMPDIR has no inodes or blocks left."""
    output = ErrorFilter(None)
    output.feed(captured(name).encode())
    output.finish()
    assert [line for line in output.lines if "PMIX" in line or "ORTE" in line] == []
    assert launch_failure("\n".join(output.lines + output.held)).startswith(message)


def parts() -> tuple[str, str, str]:
    """Complaints of PMIx, the page on MPI_INIT, and what the rank itself writes."""
    text = captured("open-mpi-4-no-blocks-here")
    page, rank = text.index("-" * 74), text.index("***")
    return text[:page], text[page:rank], text[rank:]


def test_mpirun_without_room_loses_pages() -> None:
    complaint, _, rank = parts()
    there = captured("open-mpi-4-no-blocks-there").partition("\n")[2]
    for log in (complaint + rank, rank + complaint, there + rank + complaint):
        assert "PMIx writes on n1" in launch_failure(log)


def test_a_complaint_of_pmix_alone_is_no_reason() -> None:
    """Some systems have it with every start; MPI_Init may fail for another reason, and later."""
    complaint, page, rank = parts()
    of_pmix = captured("open-mpi-4-no-blocks-there").partition("\n")[0] + "\n"
    assert launch_failure(of_pmix) == ""
    assert launch_failure(of_pmix + page + rank) == ""
    assert launch_failure(complaint) == ""


def test_a_lost_node_is_named() -> None:
    assert of_job("lost-node", launcher="srun", node="n2") == (
        "srun has lost node n2, by a failure or because the job was cancelled"
    )


def test_a_line_that_says_nothing_of_the_job_is_explained_once() -> None:
    line = b"Unable to find reachable pairing between local and remote interfaces\n"
    printed: list[str] = []
    explained: set[str] = set()
    for _ in range(2):  # jobs of a command
        output = ErrorFilter(None, explained)
        output.feed(2 * line + b"another line\n")
        output.finish()
        printed += output.lines
        (sentence,) = explained
    assert "btl tcp finds no pair of network interfaces" in sentence
    assert printed == [f"commlens: warning: {sentence}", "another line", "another line"]
