"""recipes/build-openmpi.sh: what it refuses, and what it does with sources that are stand-ins."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from run_helpers import cases

RECIPES = Path(__file__).resolve().parents[3] / "recipes"

STAND_INS: dict[str, str] = yaml.safe_load(
    Path(__file__).with_name("stand_ins.yaml").read_text(encoding="utf-8")
)


def source(folder: Path, configure: str, install: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "configure.ac").touch()
    (folder / "VERSION").write_text("major=5\nminor=0\nrelease=7\n", encoding="utf-8")
    for place in {configure, "configure"}:
        path = folder / place
        path.parent.mkdir(exist_ok=True)
        path.write_text(STAND_INS["configure"].format(install=install), encoding="utf-8")
        path.chmod(0o755)
    return folder


@pytest.fixture
def toolkit(tmp_path: Path) -> Path:
    cuda = tmp_path / "cuda"
    (cuda / "include").mkdir(parents=True)
    for name in ("cuda.h", "nvml.h"):
        (cuda / "include" / name).touch()
    (cuda / "lib64" / "stubs").mkdir(parents=True)
    return cuda


def build(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(RECIPES / "build-openmpi.sh"), *map(str, words)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "LC_ALL": "C"},
    )


def sources(
    tmp_path: Path,
    *,
    cuda: str = "true",
    module: str = "touch $1/lib/ucx/libuct_cuda.so",
    more: str = "",
) -> list[object]:
    ucx = source(
        tmp_path / "u", "contrib/configure-release", STAND_INS["ucx"].format(module=module)
    )
    openmpi = source(tmp_path / "o", "configure", STAND_INS["openmpi"].format(cuda=cuda, more=more))
    return ["--ucx", ucx, "--openmpi", openmpi, "--jobs", 1]


@pytest.mark.parametrize(("words", "said"), cases("refused words of build-openmpi"))
def test_refusals_name_the_option_and_the_value(words: list[str], said: str) -> None:
    done = build(*words)
    assert done.returncode == (0 if words == ["--help"] else 2)
    assert said in done.stdout + done.stderr


def test_both_are_built_once_checked_and_can_be_sourced(tmp_path: Path, toolkit: Path) -> None:
    prefix = tmp_path / "prefix"
    words = [prefix, "--cuda", toolkit, *sources(tmp_path)]
    done = build(*words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PROBLEM" not in done.stdout
    openmpi = (prefix / "build" / "openmpi" / "arguments").read_text(encoding="utf-8")
    assert "--enable-mca-no-build=btl-uct" in openmpi
    assert f"--with-ucx={prefix}/ucx" in openmpi and f"{toolkit}/lib64/stubs" in openmpi
    assert f"--with-cuda={toolkit}" in (prefix / "build" / "ucx" / "arguments").read_text("utf-8")
    assert "Open MPI 5.0.7" in (prefix / "env.sh").read_text(encoding="utf-8")
    located = subprocess.run(
        ["bash", "-c", f'source "{prefix}/env.sh" && command -v ompi_info'],
        capture_output=True,
        text=True,
        check=True,
    )
    assert located.stdout.strip() == f"{prefix}/ompi/bin/ompi_info"
    again = build(*words)
    assert again.returncode == 0
    assert "ucx-make" in done.stdout and "ucx-make" not in again.stdout


@pytest.mark.parametrize(("changed", "said"), cases("builds of another kind"))
def test_a_build_of_another_kind_is_a_failure(
    tmp_path: Path, toolkit: Path, changed: dict[str, str], said: str
) -> None:
    done = build(tmp_path / "prefix", "--cuda", toolkit, *sources(tmp_path, **changed))
    assert done.returncode == 1
    assert said in done.stdout


def test_a_failing_step_shows_the_end_of_its_output(tmp_path: Path, toolkit: Path) -> None:
    words = sources(tmp_path)
    (tmp_path / "u" / "contrib" / "configure-release").write_text("echo no nvml; exit 3", "utf-8")
    done = build(tmp_path / "prefix", "--cuda", toolkit, *words)
    assert done.returncode == 1
    assert "no nvml" in done.stderr
    assert "ucx-configure failed" in done.stderr


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_shellcheck_has_no_objection() -> None:
    subprocess.run(["shellcheck", str(RECIPES / "build-openmpi.sh")], check=True)


def test_the_containers_and_spack_have_the_needs_of_the_script() -> None:
    for name in ("Containerfile", "gpu-mpi.def"):
        text = (RECIPES / "container" / name).read_text(encoding="utf-8")
        assert "recipes/build-openmpi.sh /tmp/" in text
        assert all(tool in text for tool in ("g++", "make", "perl", "curl", "libnuma-dev"))
    environment = yaml.safe_load((RECIPES / "spack" / "spack.yaml").read_text(encoding="utf-8"))
    assert any("fabrics=ucx" in spec for spec in environment["spack"]["specs"])
