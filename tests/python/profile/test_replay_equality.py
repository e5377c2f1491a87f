"""The replay of a program has the program's profile."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from profile_helpers import ROOT, SOURCES, TIME_LIMIT_S, Mpi, for_mpi4py

BENCH = Path(os.environ.get("COMMLENS_BENCH") or ROOT / "build/host/src/commlens-bench")


@pytest.mark.parametrize(
    ("source", "ranks"),
    [
        *(("counts.c", 1), ("counts.c", 3), ("requests.c", 2)),
        *(("fortran.f90", 2), ("fortran08.f90", 2), ("python.py", 3)),
    ],
)
def test_a_replay_has_the_profile_of_the_program(source: str, ranks: int, mpi: Mpi) -> None:
    if not BENCH.exists():
        pytest.skip("commlens-bench is not built")
    linked = subprocess.run(["ldd", BENCH], capture_output=True, text=True).stdout
    if ("libmpich" in linked) != (mpi.name == "mpich"):
        pytest.skip(f"commlens-bench is not built with {mpi.name}")
    if source.endswith(".py"):
        pytest.importorskip("mpi4py")
        program: list[object] = [sys.executable, SOURCES / source]
        environment = for_mpi4py(mpi, mpi.compile("counts.c"))
    else:
        program, environment = [mpi.compile(source)], {}
    done = subprocess.run(
        [
            *(sys.executable, ROOT / "tools/replay_equality.py"),
            *("--launcher", " ".join(mpi.command(ranks=ranks)), "--"),
            *mpi.command(*program, ranks=ranks),
        ],
        capture_output=True,
        text=True,
        env={**mpi.environment(), **environment, "COMMLENS_BENCH": str(BENCH)},
        timeout=TIME_LIMIT_S,
    )
    assert done.returncode == 0, done
    assert "the messages between ranks are equal" in done.stdout
