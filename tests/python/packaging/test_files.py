"""packaging/: that its files can be read, and say what the project says. How far each has been
tried is in packaging/README.md."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[3] / "packaging"
PROJECT = (FOLDER.parent / "pyproject.toml").read_text(encoding="utf-8")
PYTHON = [
    *FOLDER.glob("reframe/*.py"),
    *FOLDER.glob("spack/**/*.py"),
    *FOLDER.glob("easybuild/*.eb"),
]


@pytest.mark.parametrize("path", PYTHON, ids=lambda path: path.name)
def test_python_reads_it(path: Path) -> None:
    compile(path.read_text(encoding="utf-8"), path.name, "exec")


def test_spack_has_the_packages_that_the_project_needs() -> None:
    needed = re.search(r"^dependencies = \[(.*?)^\]", PROJECT, re.DOTALL | re.MULTILINE)
    assert needed
    wanted = dict(re.findall(r'"([\w-]+)>=([\d.]+)"', needed[1]))
    package = (FOLDER / "spack/repo/packages/commlens/package.py").read_text(encoding="utf-8")
    said = dict(re.findall(r'"([a-z][\w-]+)@([\d.]+):"', package))
    assert {name: float(said[name]) for name in wanted} == {
        name: float(version) for name, version in wanted.items()
    }


def test_the_easyconfig_is_of_this_version() -> None:
    version = re.search(r'^version = "(.*)"', PROJECT, re.MULTILINE)
    assert version
    (path,) = FOLDER.glob("easybuild/*.eb")
    values: dict[str, object] = {"SOURCE_TAR_GZ": "%(name)s-%(version)s.tar.gz"}
    exec(path.read_text(encoding="utf-8"), values)
    assert values["version"] == version[1]
    assert path.name == f"commlens-{version[1]}-foss-2024a.eb"


# A module tool that has no modules.
_LMOD = """#!/bin/sh
case "$*" in *--version*) echo "Modules based on Lua: Version 8.7.50" >&2 ;; esac
echo "mlstatus = True"
"""


@pytest.mark.skipif(not shutil.which("eb"), reason="no eb (EasyBuild)")
def test_easybuild_finds_the_dependencies_of_the_easyconfig(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lmod").write_text(_LMOD)
    (tmp_path / "lmod").chmod(0o755)
    monkeypatch.setenv("LMOD_CMD", str(tmp_path / "lmod"))
    monkeypatch.setenv("HOME", str(tmp_path))
    (path,) = FOLDER.glob("easybuild/*.eb")
    options = ("--allow-use-as-root-and-accept-consequences", "--allow-modules-tool-mismatch")
    run = subprocess.run(
        ["eb", *options, "--robot", "--dry-run", path], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr


@pytest.mark.skipif(not shutil.which("luac"), reason="no luac")
def test_lua_reads_the_module() -> None:
    subprocess.run(["luac", "-p", FOLDER / "modulefiles" / "commlens.lua"], check=True)
