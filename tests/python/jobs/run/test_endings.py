"""How jobs end: what is said of it, once and in one line, and that no process is left."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from conftest import Commlens, captured, command_line
from run_helpers import cases, executable, kept, ranks_alive, started, wait_for


@pytest.mark.parametrize(("mode", "status", "said"), cases("what goes wrong"))
def test_a_failure_is_said_once(commlens: Commlens, mode: str, status: int, said: str) -> None:
    run = commlens("run", "latency", FAKE_MODE=mode)
    (file,) = Path("results").iterdir()
    assert run.returncode == status
    lines = [line for line in run.stderr.splitlines(keepends=True) if " records in " not in line]
    assert "".join(lines) == said.replace("FILE", str(file))


def test_a_status_that_nobody_explained_is_not_hidden(commlens: Commlens) -> None:
    run = commlens("run", "latency", FAKE_STATUS="7")
    assert run.returncode == 1
    assert "Exit code:    7" in run.stderr
    said = "commlens: mpirun ended with status 7; 3 records kept in results/latency-"
    assert said in run.stderr


def test_a_launcher_that_refuses_is_heard(commlens: Commlens) -> None:
    run = commlens("run", "latency", "--launcher-args=--refuse")
    assert run.returncode == 1
    assert run.stderr == (
        "mpirun: no such option: --refuse\n"
        'commlens: mpirun ended with status 213 ("mpirun: no such option: --refuse"); '
        "no record was written\n"
    )


def test_what_a_launcher_prints_on_the_standard_output_is_heard(commlens: Commlens) -> None:
    """As Open MPI 5.0.7 does."""
    run = commlens("run", "latency", "--launcher-args=--refuse-in-a-box")
    assert run.returncode == 1 and "Option: --refuse-in-a-box" in run.stdout
    said = 'commlens: mpirun ended with status 213 ("No such option"); no record was written\n'
    assert run.stderr == said


def test_lines_that_are_no_records_are_reported(commlens: Commlens) -> None:
    run = commlens("run", "latency", FAKE_MODE="old records")
    assert run.returncode == 1
    (file,) = Path("results").iterdir()
    assert f"commlens: {file}:5: not a record" in run.stderr


@pytest.mark.parametrize(
    ("mode", "launcher", "number"),
    [
        ("wait", "", signal.SIGINT),
        ("wait and tell", "", signal.SIGTERM),
        ("stubborn", "", signal.SIGTERM),
        ("wait", "stubborn", signal.SIGINT),
    ],
)
def test_an_interrupted_run_leaves_records_and_no_process(
    mode: str, launcher: str, number: int
) -> None:
    process = started("run", "latency", FAKE_MODE=mode, FAKE_LAUNCHER=launcher)
    wait_for(lambda: len(kept()) == 3)
    time.sleep(0.2)
    process.send_signal(number)
    if launcher or mode == "stubborn":  # asked again and again, as an impatient user does
        for _ in range(3):
            time.sleep(0.3)
            process.send_signal(number)
    output, error = process.communicate(timeout=30)
    (file,) = Path("results").iterdir()
    assert process.returncode == 128 + number
    name = signal.Signals(number).name
    assert error == f"commlens: interrupted by {name}; 3 records kept in {file}\n"
    assert output == "row 0\nrow 1\nrow 2\n", "no tables of what was not finished"
    assert ranks_alive() == []


def test_an_interruption_ends_all_launches() -> None:
    process = started("run", "latency", "--launches", 3, FAKE_MODE="wait")
    wait_for(lambda: len(kept()) == 3)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=30)
    (file,) = Path("results").iterdir()
    assert process.returncode == 130
    ending = f"commlens: interrupted by SIGINT; 3 records kept in {file}"
    assert error.splitlines() == ["commlens: latency, launch 1 of 3", ending]


def test_a_hangup_does_not_end_a_run_under_nohup() -> None:
    process = subprocess.Popen(
        ["nohup", *command_line("run", "latency")],
        env={**os.environ, "FAKE_MODE": "wait"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    wait_for(lambda: len(kept()) == 3)
    process.send_signal(signal.SIGHUP)
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGTERM
    assert ranks_alive() == []


def test_a_rank_that_outlives_its_launcher_is_ended(commlens: Commlens) -> None:
    started = time.monotonic()
    assert commlens("run", "latency", FAKE_MODE="daemon").returncode == 0
    assert time.monotonic() - started < 20
    assert ranks_alive() == []


def test_open_mpi_without_its_ucx_is_explained_without_a_probe(
    commlens: Commlens, tmp_path: Path
) -> None:
    message = tmp_path / "message"
    log = captured("open-mpi-4-pml-ucx-refused").replace("init returned failure", "")
    message.write_text(log)
    answer = "[ $1 = --version ] && echo 'Open MPI' && exit"
    executable(tmp_path, "mpirun", f"{answer}\ncat {message} >&2\nexit 1")
    for words, environment in (([], {"OMPI_MCA_pml": "ucx"}), (["--env", "OMPI_MCA_pml=ucx"], {})):
        path = f"{tmp_path}:{os.environ['PATH']}"
        run = commlens("run", "latency", *words, PATH=path, **environment)
        assert run.returncode == 1
        (said,) = [line for line in run.stderr.splitlines() if line.startswith("commlens: ")]
        refused = "MPI_Init failed: Open MPI 4.1.4 was told to use pml ucx"
        assert said.startswith(f"commlens: {refused}")
