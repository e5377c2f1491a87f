"""`commlens.run`: what the command runs, without printing it."""

from __future__ import annotations

import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import commlens
from commlens.api.running import options_of
from run_helpers import kept, wait_for


def test_it_returns_the_records_and_keeps_their_file(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("commlens.jobs.progress._PAUSE_S", 0.0)
    records = commlens.run("latency", ranks=2, memory="host", launches=2)
    assert len({record.start.start for record in records}) == 2
    assert capfd.readouterr() == ("", "")
    assert len(commlens.read("results")) == len(records)


def test_options_and_variables_reach_the_job(tmp_path: Path) -> None:
    (record, *_) = commlens.run(
        "latency", ranks=2, transport=["mpi", "staged"], no_ceilings=True, parts=None,
        no_validate=False, env={"UCX_TLS": "self"}, out=tmp_path / "there",
    )  # fmt: skip
    assert record.transport in ("mpi", "staged")
    assert record.start.environment["UCX_TLS"] == "self"
    assert [*(tmp_path / "there").glob("latency-*.jsonl")]


def test_options_are_words_of_the_command_line() -> None:
    values: dict[str, Any] = {
        "transport": ["mpi", "ccl"],
        "in_place": True,
        "repeat": 7,
        "to": None,
        "x": False,
    }
    words = ["--transport", "mpi,ccl", "--in-place", "--repeat", "7"]
    assert options_of(values).words() == words


def test_several_benchmarks_and_suites(tmp_path: Path) -> None:
    records = commlens.run("latency", "allreduce", ranks=2, memory="host")
    assert {record.benchmark for record in records} == {"latency", "allreduce"}


def test_a_failure_has_the_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_MODE", "wrong")
    with pytest.raises(commlens.RunError, match="failed") as error:
        commlens.run("latency", ranks=2, memory="host")
    assert error.value.status == 1
    assert any(record.status == "failed" for record in error.value.records)
    returned = commlens.run("latency", ranks=2, memory="host", check=False)
    assert len(returned) == len(error.value.records)


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        ((), {}, "run what"),
        (("latencyy",), {}, "did you mean latency"),
        (("latency",), {"launcher": "mpiexc"}, "launcher 'mpiexc'"),
        (("latency",), {"site": "nowhere"}, "nowhere"),
    ],
)
def test_what_cannot_be_run_is_refused(
    names: tuple[str, ...], options: dict[str, str], message: str, tmp_path: Path
) -> None:
    with pytest.raises(commlens.CommlensError, match=message):
        commlens.run(*names, **options)  # type: ignore[arg-type]
    assert not (tmp_path / "results").exists()


def test_it_keeps_records_in_the_history() -> None:
    records = commlens.run("latency", ranks=2, memory="host", keep=True)
    assert len(commlens.history.open().records()) == len(records)


_INTERRUPTED = """
import signal
import commlens

before = signal.getsignal(signal.SIGINT)
try:
    commlens.run("latency", ranks=2, memory="host")
except KeyboardInterrupt:
    print("interrupted", signal.getsignal(signal.SIGINT) == before)
"""


def test_an_interruption_is_a_keyboard_interrupt_and_signals_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FAKE_MODE", "wait")
    process = subprocess.Popen([sys.executable, "-c", _INTERRUPTED], stdout=subprocess.PIPE)
    wait_for(lambda: len(kept()) == 3)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=30)
    assert (process.returncode, output) == (0, b"interrupted True\n")


def test_it_runs_in_a_thread() -> None:
    with ThreadPoolExecutor(1) as pool:
        assert len(pool.submit(commlens.run, "latency", ranks=2, memory="host").result())
