"""Faults at moments that nobody has chosen: signals to ranks, to the launcher and to the command,
with the real programs.

Whatever happens, the command ends, its status tells whether all was measured, what it says is true,
each record that was written is whole, and no process is left.
"""

from __future__ import annotations

import os
import random
import re
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from native_helpers import (
    BENCH,
    FAILED,
    OK,
    STALLED,
    Job,
    Jobs,
    needs_native,
    processes_with,
    records_in,
    start,
    under_commlens,
)

pytestmark = needs_native

SEED = 12
SIZES = 6
OPTIONS = "--bytes 8:256 --memory host --transport mpi --repeat 1500 --batches 6 --timeout 3"
LAST_MOMENT_S = 3.0  # the start takes one of them, and measuring two


@dataclass(frozen=True)
class Fault:
    """A signal to a process at a moment; one that is stopped goes on after a second, or not."""

    target: str  # "rank 0", "launcher" or "command"
    number: signal.Signals
    moment_s: float
    goes_on: bool = True

    def __str__(self) -> str:
        return f"{self.number.name} to {self.target} after {self.moment_s:.2f} s"


def random_faults(count: int) -> list[Fault]:
    chance = random.Random(SEED)
    targets = ("rank 0", "rank 1", "launcher", "command")
    numbers = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGSTOP)
    pairs = [(target, number) for target in targets for number in numbers]
    chance.shuffle(pairs)
    return [
        Fault(*pairs[index % len(pairs)], round(chance.uniform(0.3, LAST_MOMENT_S), 2))
        for index in range(count)
    ]


FAULTS = random_faults(24)
# Without a limit of the command's own these would wait for ever.
FOR_GOOD = [
    Fault("launcher", signal.SIGSTOP, 2.0, goes_on=False),
    Fault("first rank", signal.SIGKILL, 0.0),
]


def injected(records: Path, fault: Fault) -> Job:
    running = start(
        under_commlens("latency", OPTIONS, "--record", records),
        records.parent,
        {"COMMLENS_BENCH": str(BENCH)},
    )
    if fault.target == "first rank":  # as early as there is one
        running.until(lambda: _target(fault, running.process.pid, running.mark) is not None)
    time.sleep(max(0, running.started + fault.moment_s - time.monotonic()))
    struck = _target(fault, running.process.pid, running.mark)
    if struck is not None:
        with suppress(psutil.Error):
            struck.send_signal(fault.number)
            if fault.number == signal.SIGSTOP and fault.goes_on:
                time.sleep(1)
                struck.send_signal(signal.SIGCONT)
    if not fault.goes_on:
        _give_way(running.mark, running.process.pid)
    if fault.target == "command" and fault.number == signal.SIGKILL:
        _wait_until_gone(running.mark, running.process.pid)
    return running.wait()


def _target(fault: Fault, command: int, mark: str) -> psutil.Process | None:
    """The process, where there is one already and still."""
    processes = [process for process in processes_with(mark) if process.pid != command]
    if fault.target == "command":
        with suppress(psutil.NoSuchProcess):
            return psutil.Process(command)
        return None
    for process in processes:
        with suppress(psutil.Error):
            words, variables = process.cmdline(), process.environ()
            name = Path(words[0]).name if words else ""
            is_rank = name == BENCH.name and "--expect-ranks" in words
            if fault.target == "launcher" and name.startswith("mpirun") and "-n" in words:
                return process
            if is_rank and fault.target == "first rank":
                return process
            if is_rank and fault.target == f"rank {variables.get('OMPI_COMM_WORLD_RANK')}":
                return process
    return None


def _give_way(mark: str, command: int) -> None:
    """Ranks of a job that never ends are busy-waiting on cores that other tests can use."""
    for process in processes_with(mark):
        if process.pid != command:
            with suppress(OSError):
                os.sched_setscheduler(process.pid, os.SCHED_IDLE, os.sched_param(0))


def _wait_until_gone(mark: str, command: int) -> None:
    """A command that was killed cannot wait for its job to end."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if all(process.pid == command for process in processes_with(mark)):
            return
        time.sleep(0.05)


@pytest.fixture(scope="module")
def injections(submit: Callable[..., Jobs]) -> Jobs:
    return submit(injected, {str(fault): (fault,) for fault in [*FOR_GOOD, *FAULTS]})


@pytest.mark.parametrize("fault", [*FOR_GOOD, *FAULTS], ids=str)
def test_an_injected_fault(fault: Fault, injections: Jobs) -> None:
    future, records = injections[str(fault)]
    job = future.result()
    kept = [record for file in records.parent.glob("records*.jsonl") for record in records_in(file)]
    assert {record.status for record in kept} <= {"ok"} and len(kept) <= SIZES
    counted = re.search(r"(\d+) records? kept in", job.error)
    assert counted is None or int(counted[1]) == len(kept), job
    assert "Traceback" not in job.error, job
    if job.status == OK:
        assert len(kept) == SIZES and job.messages == [], "it came too early or too late"
    elif fault.target == "command":
        assert job.status == 128 + fault.number
        assert all(f"interrupted by {fault.number.name}" in said for said in job.messages), job
    else:
        assert job.status in (FAILED, STALLED), job
        assert any(true in job.message for true in expected_messages(fault)), job
    if fault.number == signal.SIGSTOP and fault.goes_on:
        assert job.status == OK, job


def expected_messages(fault: Fault) -> list[str]:
    """Any of these; a launcher that is asked to end has its ranks end with SIGTERM, and of Open MPI
    4.1.4 it has been seen to wait for ever."""
    waited = ["the ranks have not started within 30 s", "no activity for 30 s"]
    if fault.number == signal.SIGSTOP:
        return waited
    died = f"died (signal {int(fault.number)}"
    if fault.target == "launcher":
        number = int(fault.number)
        ended = [f"mpirun was ended by signal {number}", "mpirun ended with status", *waited]
        return ended if fault.number == signal.SIGKILL else [*ended, died, "ended by SIGTERM"]
    early = ["the ranks have not started within 30 s", "a rank died", "mpirun ended with status"]
    if fault.target == "first rank":
        return [died, *early]
    return [f"{fault.target} {died}", f"ended by {fault.number.name}", *early]
