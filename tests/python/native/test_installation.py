"""What `cmake --install` puts where: each file once, and how it is used without Python."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from building_helpers import path_without
from native_helpers import BENCH, OK, USAGE, needs_native, records_in, shown, start, under_mpirun

BUILD = BENCH.resolve().parents[1]

needs_build_folder = pytest.mark.skipif(
    not (BUILD / "cmake_install.cmake").exists() or shutil.which("cmake") is None,
    reason="needs a build folder of CMake",
)


def install(prefix: Path, *component: str) -> None:
    command = ["cmake", "--install", str(BUILD), "--prefix", str(prefix), *component]
    subprocess.run(command, check=True, capture_output=True)


@needs_build_folder
@pytest.mark.parametrize("component", [[], ["--component", "native"]], ids=["all", "native"])
def test_an_installation_has_each_file_once(component: list[str], tmp_path: Path) -> None:
    install(tmp_path, *component)
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    ours = {name for name in files if "commlens" in name}
    programs = {"bin/commlens-bench", "bin/commlens-bench-all"}
    libraries = {f"lib/commlens/libcommlens-{name}.so" for name in ("profile", "reroute")}
    assert ours == programs | libraries


@needs_native
def test_messages_are_measured_in_a_process_without_the_libraries_of_computations() -> None:
    """A CUDA-aware MPI takes longer for a message the more libraries a process has loaded."""
    with BENCH.open("rb") as file:
        dynamic = ELFFile(file).get_section_by_name(".dynamic")
        needed = [tag.needed for tag in dynamic.iter_tags() if tag.entry.d_tag == "DT_NEEDED"]
    assert any("mpi" in name for name in needed)
    extra = ("blas", "fftw", "mkl", "HYPRE", "lapack", "cublas", "cufft", "nccl")
    assert [name for name in needed if any(word in name for word in extra)] == []


@needs_native
def test_the_programs_belong_together(tmp_path: Path) -> None:
    alone = shutil.copy(BENCH, tmp_path / BENCH.name)
    run = subprocess.run([alone, "fft"], capture_output=True, text=True, check=False)
    assert run.returncode == USAGE
    (line,) = run.stderr.splitlines()
    assert "commlens-bench-all cannot be started" in line and "keep it beside" in line


@needs_native
@needs_build_folder
def test_the_native_program_runs_where_there_is_no_python(tmp_path: Path) -> None:
    """And its records are shown where there is one."""
    install(tmp_path / "commlens", "--component", "native")
    path = path_without("python3", ("python",), tmp_path)
    records = tmp_path / "node.jsonl"
    words = ("latency --memory host --bytes 8 --repeat 2 --batches 2 --record", records)
    command = under_mpirun(2, *words, program=tmp_path / "commlens" / "bin" / BENCH.name)
    job = start(command, tmp_path, {"PATH": path}).wait()
    assert job.status == OK, job
    assert "latency" in shown(records_in(records))
