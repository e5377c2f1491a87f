"""Rows of a job are progress where a table has them: what is shown of them, and where."""

from __future__ import annotations

import fcntl
import os
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from commlens.base.errors import Status
from commlens.jobs import progress
from commlens.jobs.causes import Result
from commlens.jobs.run import JobRun, Ran
from commlens.jobs.spec import JobSpec
from commlens.render.run_summary import print_rows
from conftest import Commlens, command_line
from run_helpers import kept, started, wait_for

ROW = "\x1b[32m     8 B  mpi\x1b[0m     host    latency 0.15 us"


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """A pseudo-terminal of 20 columns: where it is read, and where it is written."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 10, 20, 0, 0))
    yield ours, theirs
    os.close(ours)
    os.close(theirs)


def test_a_terminal_shows_the_newest_row_in_one_line_and_clears_it(
    terminal: tuple[int, int],
) -> None:
    ours, theirs = terminal
    process = subprocess.run(
        command_line("run", "latency"), stdout=subprocess.PIPE, stderr=theirs, text=True, timeout=90
    )
    assert process.returncode == 0
    (file,) = Path("results").iterdir()
    shown = os.read(ours, 10_000).decode()
    assert shown.endswith(f"\rrow 2\r     \rcommlens: 3 records in {file}\r\n")
    assert "row" not in process.stdout and "latency" in process.stdout


def test_a_row_is_clipped_to_the_terminal_and_has_no_colors(
    terminal: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = terminal
    with os.fdopen(os.dup(theirs), "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        shown = progress.NewestRow()
        shown.show(["# latency", ROW, "", "#   a remark"])
        assert os.read(ours, 1000).decode() == "\r     8 B  mpi     h"
        shown.clear()
        assert os.read(ours, 1000).decode() == f"\r{' ' * 19}\r"
        shown.show([ROW], lambda: ", 5 s left")
        assert os.read(ours, 1000).decode() == "\r     8 B , 5 s left"


def test_elsewhere_a_row_is_a_progress_line_after_some_time(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    shown = progress.NewestRow()
    for now[0] in (101.0, 110.0, 119.0, 120.0):
        shown.show([f"{ROW} at {now[0]}"], lambda: ", 5 s left")
    shown.clear()
    assert capsys.readouterr().err.splitlines() == [
        f"commlens progress: 8 B mpi host latency 0.15 us at {time}, 5 s left"
        for time in (110.0, 120.0)
    ]


@pytest.mark.parametrize("words", [["--wide"], []])
def test_a_suite_prints_its_rows_once(commlens: Commlens, words: list[str]) -> None:
    Path("mine.yaml").write_text("name: mine\nruns: [{benchmark: latency}]\n")
    run = commlens("run", "mine.yaml", *words)
    assert run.returncode == 0, run.stderr
    assert ("row 0\nrow 1\nrow 2\n" in run.stdout) == (not words), "its wide tables have them"


def test_an_interruption_shows_the_rows_of_all_launches() -> None:
    process = started("run", "latency", "--scaling", "1,2", FAKE_MODE="wait", FAKE_MODE_RANKS="2")
    # The first launch's may be in two files for a moment.
    wait_for(lambda: [record.ranks for record in kept()].count(2) == 3)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=30)
    assert output == "row 0\nrow 1\nrow 2\n" * 2


def test_rows_without_records_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    failed = Result(Status.FAILED, rows=["# latency", ROW])
    run = JobRun(None, JobSpec("latency"), None, results=[failed])  # type: ignore[arg-type]
    ran = Ran([run.job], [run], [])
    print_rows(ran)
    assert capsys.readouterr().out == "# latency\n     8 B  mpi     host    latency 0.15 us\n"
    print_rows(replace(ran, interruption=failed))
    assert capsys.readouterr().out
