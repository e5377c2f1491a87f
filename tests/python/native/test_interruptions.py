"""Signals to the launcher and to the command, with the real programs."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from native_helpers import (
    FAULTS,
    OK,
    SIZES_BEFORE,
    STALLED,
    Job,
    Jobs,
    foreign_lines,
    launcher_version,
    needs_native,
    records_in,
    start,
    under_commlens,
    under_mpirun,
)

pytestmark = needs_native


def text_if_there(file: Path) -> str:
    """The command makes the user's file to see whether it can, and removes it again."""
    try:
        return file.read_text()
    except FileNotFoundError:
        return ""


def interrupted(records: Path, through: str, number: int, name: str) -> Job:
    """A rank stalls or is stopped for good; then the launcher, or the command, is sent a signal."""
    words = (name, "--transport mpi --timeout 0", "--record", records)
    is_direct = through == "mpirun"
    command = under_mpirun(2, *words, program=FAULTS) if is_direct else under_commlens(*words)
    running = start(command, records.parent, {"COMMLENS_BENCH": str(FAULTS)})

    def has_measured() -> bool:
        """In the file of the job, which is beside the user's where there is the command."""
        texts = [text_if_there(file) for file in records.parent.glob("records*.jsonl")]
        return sum(text.count('\n{"kind":"record"') for text in texts) == SIZES_BEFORE

    running.until(has_measured)
    running.signal(number)
    return running.wait()


INTERRUPTIONS: dict[str, tuple[str, signal.Signals, str]] = {
    f"{number.name} to {through} of a rank in {name}": (through, number, name)
    for through, number, name in (
        ("mpirun", signal.SIGINT, "stall"),
        ("mpirun", signal.SIGINT, "stop"),
        ("mpirun", signal.SIGTERM, "stall"),
        ("commlens", signal.SIGINT, "stall"),
        ("commlens", signal.SIGINT, "stop"),
        ("commlens", signal.SIGTERM, "stall"),
        ("commlens", signal.SIGHUP, "stall"),
    )
}


@pytest.fixture(scope="module")
def interruptions(submit: Callable[..., Jobs]) -> Jobs:
    return submit(interrupted, INTERRUPTIONS)


@pytest.mark.parametrize("name", INTERRUPTIONS)
def test_an_interruption(name: str, interruptions: Jobs) -> None:
    future, records = interruptions[name]
    job = future.result()
    through, number, fault = INTERRUPTIONS[name]
    assert [record.status for record in records_in(records)] == ["ok"] * SIZES_BEFORE
    if through == "mpirun":
        assert job.status not in (OK, STALLED)
        # That of Open MPI 5 drops the last lines of ranks that it ends.
        if "(Open MPI) 5" not in launcher_version():
            # A rank may be on its way to the fault yet.
            assert f" {fault} over mpi" in job.message, "one rank says what was interrupted"
    else:
        assert job.status == 128 + number
        said = [line for line in job.messages if f"interrupted by {number.name}" in line]
        assert len(said) == 1 and f"2 records kept in {records}" in said[0]
        assert foreign_lines(job) == []
        assert [path.name for path in records.parent.glob("*.jsonl")] == [records.name]
