"""Adaptors to programs of other projects, with fakes of these programs."""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from conftest import FAKES
from native_helpers import ROOT

PEERS = ROOT / "tools" / "peers"
# By adaptor, the variable that names the folder of the programs.
HOMES = {"gslib.py": "GSLIB_HOME", "nccl.py": "NCCL_TESTS_HOME", "osu.py": "OSU_HOME"}

# What period.c times.
TIMED = (
    *("allgatherv", "allreduce", "broadcast", "gather", "gatherv", "reduce", "scatter"),
    "scatterv",
)


def program(path: Path, *lines: str) -> Path:
    """A script for sh."""
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(["#!/bin/sh", *lines]) + "\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def printing(path: Path, text: str, status: int = 0) -> Path:
    """A program whose rank 0 prints this."""
    output = path.with_suffix(".txt")
    path.parent.mkdir(exist_ok=True)
    output.write_text(text, encoding="utf-8")
    return program(path, f'[ "$PMI_RANK" = 1 ] || cat {output}', f"exit {status}")


def adaptor(name: str, folder: Path) -> Path:
    """It under the fake launcher, which says otherwise which rank it is than launchers do."""
    return program(
        folder / f"adaptor-{name}",
        'if [ -n "$FAKE_RANK" ]; then export PMI_RANK=$FAKE_RANK; fi',
        f'exec {sys.executable} {PEERS / name} "$@"',
    )


def spawn(name: str, *words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """The adaptor in a process of its own: with some command lines it calls exec."""
    return subprocess.run(
        [sys.executable, str(PEERS / name), *map(str, words)],
        env={**os.environ, "COMMLENS_BENCH": str(FAKES / "commlens-bench"), **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def run(name: str, *words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """The adaptor as the only rank that it knows of. Its script runs in this process, which is the
    quicker way."""
    output, errors = StringIO(), StringIO()
    on_sigterm = signal.getsignal(signal.SIGTERM)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COMMLENS_BENCH", str(FAKES / "commlens-bench"))
        for variable, value in environment.items():
            patch.setenv(variable, value)
        patch.setattr(sys, "argv", [str(PEERS / name), *map(str, words)])
        patch.syspath_prepend(PEERS)
        try:
            with redirect_stdout(output), redirect_stderr(errors), pytest.raises(SystemExit) as end:
                runpy.run_path(str(PEERS / name), run_name="__main__")
        finally:
            signal.signal(signal.SIGTERM, on_sigterm)
    status = end.value.code
    assert isinstance(status, int)
    return subprocess.CompletedProcess(sys.argv, status, output.getvalue(), errors.getvalue())


def refusal(status: int, name: str, *words: object, **environment: str) -> str:
    """The one line with which the adaptor ends, with this status."""
    ended = run(name, *words, **environment)
    assert ended.returncode == status
    assert not ended.stdout or status == 1, "what is refused before it runs says nothing else"
    (line,) = ended.stderr.splitlines()
    assert line.startswith("commlens: ")
    return line
