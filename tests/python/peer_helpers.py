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

Ended = subprocess.CompletedProcess[str]


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


def become(name: str, *words: object, **environment: str) -> Ended:
    """The adaptor in a process of its own, which becomes another program."""
    return subprocess.run(
        [sys.executable, str(PEERS / name), *map(str, words)],
        env={**os.environ, "COMMLENS_BENCH": str(FAKES / "commlens-bench"), **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def run(name: str, *words: object, **environment: str) -> Ended:
    """The adaptor as the only rank that it knows of. Its script runs in this process, in a tenth of
    the time that one of its own takes."""
    output, errors = StringIO(), StringIO()
    on_end = signal.getsignal(signal.SIGTERM)
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as ended:
        for variable, value in {
            "COMMLENS_BENCH": str(FAKES / "commlens-bench"),
            **environment,
        }.items():
            patch.setenv(variable, value)
        patch.setattr(sys, "argv", [str(PEERS / name), *map(str, words)])
        patch.syspath_prepend(PEERS)
        with redirect_stdout(output), redirect_stderr(errors):
            runpy.run_path(str(PEERS / name), run_name="__main__")
    signal.signal(signal.SIGTERM, on_end)
    assert isinstance(ended.value.code, int)
    return Ended(words, ended.value.code, output.getvalue(), errors.getvalue())


def refusal(status: int, name: str, *words: object, **environment: str) -> str:
    """The one line with which the adaptor ends, with this status."""
    ended = run(name, *words, **environment)
    assert ended.returncode == status
    assert not ended.stdout or status == 1, "what is refused before it runs says nothing else"
    (line,) = ended.stderr.splitlines()
    assert line.startswith("commlens: ")
    return line
