"""What `cmake --install` puts where: each file once."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from native_helpers import BENCH

BUILD = BENCH.resolve().parents[1]


@pytest.mark.skipif(
    not (BUILD / "cmake_install.cmake").exists() or shutil.which("cmake") is None,
    reason="needs a build folder of CMake",
)
@pytest.mark.parametrize("component", [[], ["--component", "native"]], ids=["all", "native"])
def test_an_installation_has_each_file_once(component: list[str], tmp_path: Path) -> None:
    command = ["cmake", "--install", str(BUILD), "--prefix", str(tmp_path), *component]
    subprocess.run(command, check=True, capture_output=True)
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    ours = {name for name in files if "commlens" in name}
    assert ours == {"bin/commlens-bench", "lib/commlens/libcommlens-profile.so"}
