"""Jobs that do not start, that fall silent, or that are not what was asked for."""

from __future__ import annotations

import math
import signal
import sys
import time
from pathlib import Path

import pytest

from commlens.jobs import watchdog
from commlens.jobs.process import Times
from commlens.jobs.spec import Options
from commlens.jobs.watchdog import Watchdog, limit_of
from conftest import Commlens
from run_helpers import kept, ranks_alive, started, wait_for


def asked(record_file: Path, since_start: float, since_output: float, **settings: bool) -> str:
    return Watchdog(record_file, 30.0, **settings)(Times(since_start, since_output))


def test_a_job_that_does_not_start_is_ended(tmp_path: Path) -> None:
    file = tmp_path / "records.jsonl"
    assert asked(file, 29, 29) == ""
    assert "have not started within 30 s" in asked(file, 31, 0), "whatever it writes"
    file.touch()
    assert "have not started within 30 s" in asked(file, 31, 0)
    assert asked(file, 31, 0, may_wait=True) == "", "in a queue"


def test_a_job_that_falls_silent_is_ended(tmp_path: Path) -> None:
    file = tmp_path / "records.jsonl"
    file.write_text("{}\n")
    assert asked(file, 1000, 29) == ""
    assert "no activity for 30 s" in asked(file, 1000, 31)
    assert "no activity for 30 s" in asked(file, 1000, 31, may_wait=True)
    assert Watchdog(file, math.inf)(Times(1000, 1000)) == ""
    assert Watchdog(file, 30, 60)(Times(61, 0)) == "the job took longer than 60 s, and was ended"


@pytest.mark.parametrize(
    ("timeout", "limit"), [(None, 120), ("600", 600), ("5", 30), ("0", math.inf), ("0.0", math.inf)]
)
def test_the_limit_is_that_of_the_ranks_watchdog(timeout: str | None, limit: float) -> None:
    assert limit_of(Options({"timeout": timeout} if timeout else {})) == limit


@pytest.mark.parametrize("launcher", ["sleeping", "chattering"])
def test_a_launcher_that_starts_nothing(
    commlens: Commlens, monkeypatch: pytest.MonkeyPatch, launcher: str
) -> None:
    monkeypatch.setattr(watchdog, "_LEAST_S", 1.0)
    run = commlens("run", "latency", "--timeout", 1, FAKE_LAUNCHER=launcher)
    assert run.returncode == 3
    (line,) = run.stderr.splitlines()
    assert line.startswith("commlens: the ranks have not started within 1 s, and were ended: ")
    assert line.endswith("; no record was written")
    assert ranks_alive() == []


def test_ranks_that_are_stopped_are_ended_with_their_records(
    commlens: Commlens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchdog, "_LEAST_S", 2.0)
    run = commlens("run", "latency", "--timeout", 2, FAKE_MODE="stopped")
    assert run.returncode == 3
    (file,) = Path("results").iterdir()
    assert "no activity for 2 s" in run.stderr
    assert run.stderr.endswith(f"; 3 records kept in {file}\n")
    assert len(kept()) == 3
    assert ranks_alive() == []


@pytest.mark.parametrize("mode", ["wait", "stubborn"])
def test_a_command_that_is_killed_takes_its_job_along(mode: str) -> None:
    process = started("run", "latency", FAKE_MODE=mode)
    wait_for(lambda: len(kept()) == 3)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=30)
    wait_for(lambda: ranks_alive() == [])
    assert len(kept()) == 3


def test_a_launcher_that_runs_something_else_is_no_success(commlens: Commlens) -> None:
    for word in ("true", "echo"):
        run = commlens("run", "latency", "--launcher-args", word)
        assert run.returncode == 1
        assert run.stderr == (
            "commlens: mpirun ended with status 0, but has not run commlens-bench to its end: "
            f"look at --launcher-args {word}; no record was written\n"
        )
    assert list(Path("results").iterdir()) == []


def test_a_launcher_of_another_mpi_is_refused_before_anything_is_measured(
    commlens: Commlens,
) -> None:
    run = commlens("run", "latency", "--ranks", 4, FAKE_LAUNCHER="singletons")
    assert run.returncode == 2
    assert run.stderr == "commlens: 4 ranks were asked for, but MPI has 1\n", "and said once"
    assert run.stdout == ""
    assert list(Path("results").iterdir()) == []


def test_a_launcher_that_is_killed_is_not_taken_for_a_rank(commlens: Commlens) -> None:
    run = commlens("run", "latency", FAKE_LAUNCHER="killed")
    assert run.returncode == 1
    assert "commlens: mpirun was ended by signal 9 (Killed); " in run.stderr
    assert "rank" not in run.stderr
    assert ranks_alive() == []


def test_a_sleeping_launcher_does_not_outlast_an_impatient_user() -> None:
    process = started("run", "latency", FAKE_LAUNCHER="sleeping")
    wait_for(lambda: any(Path("results").glob("*.jsonl")))
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=30)
    assert process.returncode == 130
    assert error == "commlens: interrupted by SIGINT; no record was written\n"


def test_an_interruption_before_anything_runs_is_reported(
    commlens: Commlens, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["commlens.api.running"], "find_native", interrupted)
    run = commlens("run", "latency")
    assert run.returncode == 130
    assert run.stderr.strip() == "commlens: interrupted by SIGINT"
