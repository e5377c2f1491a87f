"""The command line that is profiled, and what is refused."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from commlens.base.errors import CommlensError
from commlens.jobs.preload import program as program_of
from commlens.jobs.preload.library import PROFILE, find_library
from conftest import Commlens
from profile_helpers import Mpi
from run_helpers import cases


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
    assert program_of.family(program) == mine
    with pytest.raises(
        CommlensError, match=rf"{program} is linked to {mine}, but .* was built for {other}"
    ):
        find_library(PROFILE, program, mine, {"COMMLENS_PROFILE_LIBRARY": str(library)})


def test_another_mpi_behind_a_script_is_refused(mpi: Mpi, install: Callable[[str], Mpi]) -> None:
    other = install("mpich" if mpi.name == "openmpi" else "openmpi")
    # It ends with another status than the refused ranks, as MPICH's mpirun sometimes does.
    Path("script").write_text('#!/bin/sh\n"$@"\nexit 1\n')
    Path("script").chmod(0o755)
    words = ["profile", "--", "./script", *mpi.command(mpi.compile("counts.c"))]
    environment = {**mpi.environment(), "COMMLENS_PROFILE_LIBRARY": str(other.library)}
    refused = subprocess.run(
        [sys.executable, "-m", "commlens", *words], capture_output=True, text=True, env=environment
    )
    assert refused.returncode == 2
    built, runs = ("MPICH", "Open MPI") if mpi.name == "openmpi" else ("Open MPI", "MPICH")
    said = rf"^commlens: the library was built for {built} [\d.]+, but the program runs {runs}"
    assert len(re.findall(said, refused.stderr, re.MULTILINE)) == 1
    assert "nothing was recorded" not in refused.stderr


KNOWN = {"mpirun", "mpiexec", "srun", "flux", "ls", "cat", "node", "test", "time", "batch", "env"}


@pytest.fixture
def known_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda word: word if word.split(".")[0] in KNOWN else None)


@pytest.mark.usefixtures("known_programs")
@pytest.mark.parametrize(("line", "expected"), cases("programs in commands"))
def test_the_program_of_a_command(line: str, expected: list[int]) -> None:
    words = line.split()
    command = program_of.parse(words)
    assert list(command.programs) == expected
    started = command.with_environment({"LD_PRELOAD": "x.so"})
    assert started.count("LD_PRELOAD=x.so") == len(expected)
    for position in expected:
        program = started[started.index("env") + 2]
        assert program == words[position]
        del started[started.index("env")]


@pytest.mark.usefixtures("known_programs")
def test_the_separator_is_not_passed_to_the_launcher() -> None:
    command = program_of.parse(["srun", "--new-option", "test", "--", "ls", "--", "x"])
    started = command.with_environment({"A": "b"})
    assert " ".join(started) == "srun --new-option test env A=b ls -- x"


@pytest.mark.usefixtures("known_programs")
@pytest.mark.parametrize(("line", "said"), cases("commands without a program"))
def test_a_command_without_a_program_is_refused(line: str, said: str) -> None:
    with pytest.raises(CommlensError, match=said.replace("(", r"\(")):
        program_of.parse(line.split())
