"""Compilers that add MPI by themselves, as Cray's cc and CC do, where there is no mpicc."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from building_helpers import CMAKE, ROOT, SLOW, output_of, path_without

MPICC = shutil.which("mpicc")
COMPILERS = {"cc": shutil.which("gcc"), "CC": shutil.which("g++")}
WITH_HYPRE = Path("/usr/include/hypre/HYPRE.h").exists()

pytestmark = pytest.mark.skipif(
    not (CMAKE and MPICC and all(COMPILERS.values()) and shutil.which("ninja")),
    reason="needs cmake, ninja, gcc, g++ and an mpicc to learn from",
)


@pytest.fixture
def compilers(tmp_path: Path) -> Path:
    """A folder with cc and CC, which are gcc and g++ with what mpicc adds to them."""
    assert MPICC
    shown = subprocess.run([MPICC, "-show"], check=True, capture_output=True, text=True).stdout
    folder = tmp_path / "compilers"
    folder.mkdir()
    for name, compiler in COMPILERS.items():
        added = shlex.join(shlex.split(shown)[1:])
        (folder / name).write_text(f'#!/bin/sh\nexec {compiler} "$@" {added}\n', encoding="utf-8")
        (folder / name).chmod(0o755)
    return folder


@pytest.fixture
def environment(compilers: Path, tmp_path: Path) -> dict[str, str]:
    """A PATH that leads to them first, and to no program of MPI."""
    path = path_without("mpicc", ("mpi", "ompi", "orte", "prte", "opal"), tmp_path)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CMAKE_")}
    return {**kept, "PATH": f"{compilers}{os.pathsep}{path}", "CC": "cc", "CXX": "CC"}


def configure(source: Path, build: Path, environment: dict[str, str], *options: str) -> str:
    assert MPICC
    # CMake looks into /usr/bin also where the PATH does not name it.
    hidden = f"-DCMAKE_IGNORE_PATH={Path(MPICC).parent};/usr/bin;/bin"
    command = [CMAKE, "-G", "Ninja", "-S", str(source), "-B", str(build), hidden, *options]
    return output_of(command, build.parent, environment)


def test_the_build_takes_their_mpi(
    compilers: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    """And the compiler of the GPUs, which is another one, is told where mpi.h is."""
    gpu = "cuda" if shutil.which("nvcc") else "none"
    options = ("-DCOMMLENS_TESTS=OFF", f"-DCOMMLENS_GPU={gpu}", "-DCMAKE_CUDA_ARCHITECTURES=90")
    build = tmp_path / "build"
    said = configure(ROOT, build, environment, *options)
    assert f"Found MPI_C: {compilers}/cc" in said
    assert f"MPI of {compilers}/cc" in said
    assert ("Found HYPRE" in said) == WITH_HYPRE
    if gpu == "cuda":
        database = [CMAKE, "-E", "cat", str(build / "compile_commands.json")]
        kernels = [line for line in output_of(database, tmp_path).splitlines() if "-x cu " in line]
        assert kernels
        header = f"-isystem={_folder_of_mpi_h(build)}"
        assert [line for line in kernels if header in line.replace("-isystem ", "-isystem=")]


def _folder_of_mpi_h(build: Path) -> str:
    for line in (build / "CMakeCache.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("COMMLENS_MPI_HEADER_DIR:"):
            return line.partition("=")[2]
    raise AssertionError("CMake has not looked for mpi.h")


@pytest.mark.slow
@pytest.mark.skipif(not SLOW, reason="takes half a minute: set COMMLENS_SLOW_TESTS=1")
@pytest.mark.parametrize("name", ["profile", "reroute"])
def test_what_is_preloaded_is_linked_with_no_mpi(
    name: str, environment: dict[str, str], tmp_path: Path
) -> None:
    build = tmp_path / "build"
    configure(ROOT / "src" / name, build, environment)
    output_of([CMAKE, "--build", str(build)], tmp_path, environment)
    needed = output_of(["readelf", "--dynamic", str(build / f"libcommlens-{name}.so")], tmp_path)
    assert "NEEDED" in needed
    assert "libmpi" not in needed


def test_set_up_asks_for_no_other_mpi(environment: dict[str, str], tmp_path: Path) -> None:
    """tools/setup, its function mpi alone."""
    lines = (ROOT / "tools" / "setup").read_text(encoding="utf-8").splitlines()
    script = "\n".join(lines[: lines.index("find_missing() {")]) + "\nmpi\n"
    copy = tmp_path / "tools" / "setup"
    copy.parent.mkdir()
    copy.write_text(script, encoding="utf-8")
    assert output_of(["bash", str(copy)], tmp_path, environment).strip().endswith("/CC")
    without = {**environment, "CC": "gcc", "CXX": "g++"}
    assert subprocess.run(["bash", copy], env=without, capture_output=True).returncode != 0
