"""The command line that is profiled, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from commlens.errors import CommlensError
from commlens.profile import program as profile_program
from conftest import Commlens
from profile_helpers import Mpi


def test_a_static_program_is_refused(commlens: Commlens, tmp_path: Path) -> None:
    (tmp_path / "static.c").write_text("int main(void) { return 0; }\n")
    subprocess.run(["cc", "-static", "static.c", "-o", "static"], check=True)
    refused = commlens("profile", "--", "./static")
    assert refused.returncode == 2
    assert "./static is statically linked" in refused.stderr


def test_a_missing_program_is_named(commlens: Commlens) -> None:
    refused = commlens("profile", "--", "mpirun", "-n", "2", "./missing")
    assert refused.returncode == 2
    assert "'./missing' is neither an executable file nor on the PATH" in refused.stderr


def test_another_mpi_is_named(mpi: Mpi, tmp_path: Path) -> None:
    mine, other = (
        ("Open MPI", "MPICH 4.2") if mpi.name == "openmpi" else ("MPICH", "Open MPI 5.0.7")
    )
    library = tmp_path / "libother.so"
    library.write_bytes(b"\0commlens-profile is built for: " + other.encode() + b"\0")
    program = str(mpi.compile("counts.c"))
    assert profile_program.family(program) == mine
    with pytest.raises(
        CommlensError, match=rf"{program} is linked to {mine}, but .* was built for {other}"
    ):
        profile_program.find_library(program, mine, {"COMMLENS_PROFILE_LIBRARY": str(library)})


def test_another_mpi_behind_a_script_is_refused(mpi: Mpi, install: Callable[[str], Mpi]) -> None:
    other = install("mpich" if mpi.name == "openmpi" else "openmpi")
    Path("script").write_text('#!/bin/sh\nexec "$@"\n')
    Path("script").chmod(0o755)
    words = ["profile", "--", "./script", *mpi.command(mpi.compile("counts.c"))]
    environment = {**mpi.environment(), "COMMLENS_PROFILE_LIBRARY": str(other.library)}
    refused = subprocess.run(
        [sys.executable, "-m", "commlens", *words], capture_output=True, text=True, env=environment
    )
    assert refused.returncode == 2
    built, runs = ("MPICH", "Open MPI") if mpi.name == "openmpi" else ("Open MPI", "MPICH")
    assert (
        refused.stderr.count(f"the library was built for {built}, but the program runs {runs}") == 1
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["mpirun", "-n", "4", "ls", "-l"], [3]),
        (["mpirun", "--mca", "btl", "self", "-x", "ls", "-n", "4", "ls", "ls"], [8]),
        (["mpiexec", "-n", "1", "ls", ":", "-n", "2", "cat"], [3, 7]),
        (["ls", "cat"], [0]),
    ],
)
def test_the_program_is_found_in_the_command(
    words: list[str], expected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {"mpirun", "mpiexec", "ls", "cat"}
    monkeypatch.setattr("shutil.which", lambda word: word if word in known else None)
    assert profile_program.programs(words) == expected
    command = profile_program.with_environment(words, expected, {"LD_PRELOAD": "x.so"})
    assert command.count("LD_PRELOAD=x.so") == len(expected)
