"""Which GPUs are compiled for where nobody says: as many as the compiler at hand knows."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from building_helpers import CMAKE, ROOT
from run_helpers import cases

MODULE = ROOT / "cmake" / "GpuArchitectures.cmake"

pytestmark = pytest.mark.skipif(not CMAKE, reason="no cmake")


def chosen(backend: str, version: str, folder: Path) -> list[str]:
    script = folder / "ask.cmake"
    script.write_text(
        f"include({MODULE})\ncommlens_{backend}_architectures(chosen {version})\n"
        'message("${chosen}")\n',
        encoding="utf-8",
    )
    done = subprocess.run([CMAKE, "-P", script], check=True, capture_output=True, text=True)
    return done.stderr.strip().split(";")


@pytest.mark.parametrize(("version", "gpus"), cases("architectures of CUDA"))
def test_cuda(version: str, gpus: list[str], tmp_path: Path) -> None:
    # Only the last one's PTX is kept, from which the driver compiles for newer GPUs.
    assert chosen("cuda", version, tmp_path) == [f"{gpu}-real" for gpu in gpus[:-1]] + gpus[-1:]


@pytest.mark.parametrize(("clang", "gpus"), cases("architectures of HIP"))
def test_hip(clang: str, gpus: list[str], tmp_path: Path) -> None:
    assert chosen("hip", clang, tmp_path) == gpus


NVCC = shutil.which("nvcc")


@pytest.mark.skipif(not NVCC, reason="no nvcc")
def test_the_nvcc_at_hand_knows_them(tmp_path: Path) -> None:
    assert NVCC
    said = subprocess.run([NVCC, "--version"], check=True, capture_output=True, text=True).stdout
    version = said.partition(", V")[2].split()[0]
    known = subprocess.run([NVCC, "--list-gpu-code"], check=True, capture_output=True, text=True)
    wanted = {f"sm_{gpu.partition('-')[0]}" for gpu in chosen("cuda", version, tmp_path)}
    assert wanted <= set(known.stdout.split())
