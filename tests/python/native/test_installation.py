"""What `cmake --install` puts where: each file once, and how it is used without Python."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from building_helpers import path_without
from native_helpers import BENCH, OK, needs_native, records_in, shown, start, under_mpirun

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
    assert ours == {"bin/commlens-bench", "lib/commlens/libcommlens-profile.so"}


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
