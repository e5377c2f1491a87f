"""`commlens build`: with CMake and a compiler, on a project of two small programs; and without."""

from __future__ import annotations

import os
import shutil
import signal
import tarfile
from pathlib import Path

import pytest

from building_helpers import CMAKE
from commlens.jobs import building
from conftest import FAKES, Commlens
from run_helpers import started, wait_for

_PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(small LANGUAGES NONE)
{find}
add_custom_target(work ALL COMMAND {command} VERBATIM)
install(PROGRAMS commlens-bench DESTINATION bin COMPONENT native)
install(FILES library DESTINATION lib/commlens COMPONENT native)
"""

needs_cmake = pytest.mark.skipif(not CMAKE, reason="there is no CMake")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package without a native program; tools for its build are on the PATH."""
    package, tools = tmp_path / "package", tmp_path / "tools"
    package.mkdir()
    tools.mkdir()
    for name in ("c++", "mpicc"):
        (tools / name).symlink_to("/bin/true")
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("CMAKE_GENERATOR", raising=False)
    monkeypatch.setattr(building, "_PACKAGE", package)
    return package


def carry(package: Path, script: str = "true", find: str = "") -> None:
    """Makes the package carry sources, which this script builds."""
    sources = package.parent / "sources"
    sources.mkdir()
    (sources / "work.sh").write_text(script)
    command = "sh ${PROJECT_SOURCE_DIR}/work.sh"
    (sources / "CMakeLists.txt").write_text(_PROJECT.format(command=command, find=find))
    # It is a script that finds what belongs to it beside itself.
    program = f'#!/bin/sh\nexec {FAKES / "commlens-bench"} "$@"\n'
    (sources / "commlens-bench").write_text(program)
    (sources / "library").write_text("a library")
    with tarfile.open(package / "native.tar.gz", "w:gz") as packed:
        for path in sources.iterdir():
            packed.add(path, arcname=path.name)


@needs_cmake
def test_it_builds_what_the_package_carries(package: Path, commlens: Commlens) -> None:
    carry(package)
    run = commlens("build", "--prefix", package)
    assert run.returncode == 0, run.stderr
    program = package / "bin" / "commlens-bench"
    assert f"built:    {program} (commlens" in run.stdout and "backend host" in run.stdout
    assert (package / "lib" / "commlens" / "library").read_text() == "a library"
    for name in ("profile", "reroute"):
        library = f"{package}/lib/commlens/libcommlens-{name}.so"
        assert f"export COMMLENS_{name.upper()}_LIBRARY={library}\n" in run.stdout
    assert list((package.parent / "cache" / "commlens").iterdir()) == []


@needs_cmake
def test_what_a_compiler_says_is_quoted(package: Path, commlens: Commlens) -> None:
    carry(package, "echo main.cpp:7: error: no type named span; exit 1")
    run = commlens("build", "--prefix", package)
    assert run.returncode == 1
    (line,) = [line for line in run.stderr.splitlines() if "progress" not in line]
    assert line.startswith('commlens: compiling failed: "main.cpp:7: error: no type named span"')
    log = Path(line.rpartition(" in ")[2])
    assert "no type named span" in log.read_text()


@needs_cmake
@pytest.mark.parametrize(
    ("find", "package_name"),
    [
        ('message(FATAL_ERROR "Could NOT find MPI_C (missing: MPI_C_LIB)")', "libopenmpi-dev"),
        ('message(FATAL_ERROR "Could NOT find CBLAS")', "libopenblas-dev"),
        ('message(FATAL_ERROR "Could NOT find FFTW")', "libfftw3-dev"),
    ],
)
def test_a_library_that_cmake_does_not_find_is_named(
    find: str, package_name: str, package: Path, commlens: Commlens
) -> None:
    carry(package, find=find)
    run = commlens("build", "--prefix", package)
    assert run.returncode == 2
    (line,) = run.stderr.splitlines()
    assert line.startswith("commlens: building takes ") and package_name in line


def test_all_missing_tools_are_named_at_once(
    package: Path, commlens: Commlens, monkeypatch: pytest.MonkeyPatch
) -> None:
    carry(package)
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(package))
    run = commlens("build")
    assert run.returncode == 2
    (line,) = run.stderr.splitlines()
    for word in ("C++20 compiler (Debian: g++;", "CMake 3.25", "MPI (Debian: libopenmpi-dev;"):
        assert word in line


def test_another_mpi_is_named_by_its_folder(package: Path, commlens: Commlens) -> None:
    run = commlens("build", "--mpi", package)
    assert run.returncode == 2
    assert run.stderr == (
        f"commlens: --mpi {package} has no bin/mpicc: name the folder of an MPI library, with its"
        " headers\n"
    )


def test_a_folder_that_cannot_be_written_is_named(package: Path, commlens: Commlens) -> None:
    carry(package)
    (package / "file").touch()
    run = commlens("build", "--prefix", package / "file")
    assert run.returncode == 2 and "name a folder with --prefix" in run.stderr


@needs_cmake
def test_an_interrupted_build_goes_on(package: Path, tmp_path: Path) -> None:
    """In a copy of the package, which is a process of its own."""
    waiting = tmp_path / "waiting"
    carry(package, f"test -e {waiting} || {{ touch {waiting}; exec sleep 60; }}")
    copy = tmp_path / "copy" / "commlens"
    shutil.copytree(Path(building.__file__).parents[1], copy)
    shutil.copy(package / "native.tar.gz", copy)
    process = started("build", PYTHONPATH=str(copy.parent))
    wait_for(waiting.exists)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted while compiling; `commlens build` goes on from there" in error
    output, error = started("build", PYTHONPATH=str(copy.parent)).communicate(timeout=60)
    assert f"built:    {copy / 'bin' / 'commlens-bench'}" in output, error
