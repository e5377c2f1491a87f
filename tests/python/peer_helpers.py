"""Adaptors to programs of other projects, with fakes of these programs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from conftest import FAKES
from native_helpers import ROOT

PEERS = ROOT / "tools" / "peers"
# By adaptor, the variable that names the folder of the programs.
HOMES = {"gslib.py": "GSLIB_HOME", "nccl.py": "NCCL_TESTS_HOME", "osu.py": "OSU_HOME"}


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


def run(name: str, *words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """The adaptor as the only rank that it knows of."""
    return subprocess.run(
        [sys.executable, str(PEERS / name), *map(str, words)],
        env={**os.environ, "COMMLENS_BENCH": str(FAKES / "commlens-bench"), **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def refusal(status: int, name: str, *words: object, **environment: str) -> str:
    """The one line with which the adaptor ends, with this status."""
    ended = run(name, *words, **environment)
    assert ended.returncode == status
    assert not ended.stdout or status == 1, "what is refused before it runs says nothing else"
    (line,) = ended.stderr.splitlines()
    assert line.startswith("commlens: ")
    return line
