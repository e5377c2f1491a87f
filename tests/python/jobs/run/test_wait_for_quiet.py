"""`commlens run --wait-for-quiet`: a launch waits until no other program uses the cores."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from commlens.machine.load import Load, measure_load
from conftest import Commlens
from run_helpers import hogs


def test_the_load_of_a_moment_names_the_program() -> None:
    with hogs():
        load = measure_load(1.0)
    assert load is not None and load.cores == len(os.sched_getaffinity(0))
    assert load.busy_cores > 0.5 * load.cores
    assert any(name.startswith("python") for name, _ in load.programs)
    assert "python" in load.why_busy and f"of {load.cores} core" in load.why_busy


def test_a_quiet_machine_gives_no_reason() -> None:
    assert Load(cores=2, busy_cores=0.1, programs=(("sshd", 0.1),)).why_busy == ""
    assert (
        Load(cores=2, busy_cores=1.0, programs=()).why_busy == "other programs used 1.0 of 2 cores"
    )


def test_a_busy_machine_starts_nothing_and_says_why(commlens: Commlens) -> None:
    with hogs():
        run = commlens("run", "latency", "--wait-for-quiet", "2s")
    assert run.returncode == 1
    first, last = run.stderr.splitlines()[0], run.stderr.splitlines()[-1]
    assert first.startswith("commlens: waiting for quiet cores, at most ")
    assert last.startswith("commlens: --wait-for-quiet 2s: ") and "python" in last
    assert "used " in last and "no record was written" in last
    assert not [file for file in Path("results").glob("*") if file.stat().st_size]


@pytest.mark.parametrize("text", ["0", "soon", "-1s", "5 m", ""])
def test_odd_times_are_refused(commlens: Commlens, text: str) -> None:
    run = commlens("run", "latency", f"--wait-for-quiet={text}")
    assert run.returncode == 2
    assert run.stderr.count("\n") == 1 and "write a time, as in 90s, 10m or 2h" in run.stderr
