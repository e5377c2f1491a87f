"""tools/setup for people without root, and tools/fresh: what they ask for and what they refuse."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from building_helpers import ROOT

SETUP = (ROOT / "tools" / "setup").read_text(encoding="utf-8")
FRESH = ROOT / "tools" / "fresh"
PACKAGES = "libcli11-dev libfmt-dev libgmock-dev libgtest-dev"

# apt-get that has every package, and dpkg-deb that unpacks the header of each.
_APT_GET = """#!/bin/sh
echo "$@" >>"$CALLS"
[ "$1" != download ] || { shift 2; for package; do touch "$package.deb"; done; }
"""
_DPKG_DEB = """#!/bin/sh
case $2 in
  libcli11*) header=CLI/CLI.hpp ;;
  libfmt*) header=fmt/format.h ;;
  *) header=gmock/gmock.h ;;
esac
mkdir -p "$(dirname "$3/usr/include/$header")" && touch "$3/usr/include/$header"
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A machine without any library, whose apt-get, dpkg-deb and git are stand-ins."""
    (tmp_path / "cmake").mkdir()
    shutil.copy(ROOT / "cmake" / "Dependencies.cmake", tmp_path / "cmake")
    setup = tmp_path / "tools" / "setup"
    setup.parent.mkdir()
    functions, _, _ = SETUP.partition("\nset_up_system\n")
    setup.write_text(f"{functions}\nfftw=-lfftw3\nunpack_packages\n", encoding="utf-8")
    stand_in(tmp_path, "apt-get", _APT_GET)
    stand_in(tmp_path, "dpkg-deb", _DPKG_DEB)
    stand_in(tmp_path, "git", "#!/bin/sh\nexit 1\n")
    return tmp_path


def stand_in(folder: Path, name: str, text: str) -> None:
    path = folder / "bin" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def set_up(folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    # A compiler that compiles nothing finds no header.
    environment = {**os.environ, "PATH": path, "CXX": "false", "CALLS": str(folder / "calls")}
    command = ["bash", str(folder / "tools" / "setup")]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def test_packages_are_unpacked_without_root(checkout: Path) -> None:
    done = set_up(checkout)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"commlens: unpacking into .venv/debian: {PACKAGES}\n"
    assert f"download -qq {PACKAGES}\n" in (checkout / "calls").read_text()
    assert (checkout / ".venv/debian/usr/include/CLI/CLI.hpp").exists()
    assert not list(checkout.rglob("*.deb"))

    assert set_up(checkout).stdout == ""  # all of it is there


def test_an_archive_brings_its_headers(checkout: Path) -> None:
    for header in ("CLI/CLI.hpp", "fmt/format.h"):
        path = checkout / "vendor" / "include" / header
        path.parent.mkdir(parents=True)
        path.touch()
    stand_in(checkout, "apt-get", "#!/bin/sh\nexit 100\n")
    done = set_up(checkout)
    assert done.returncode == 0  # what only the tests need is no reason to stop
    assert "only the tests need them" in done.stdout


@pytest.mark.parametrize("git", ["exit 1", "exit 0"])
def test_without_packages_they_are_cloned_or_named(checkout: Path, git: str) -> None:
    stand_in(checkout, "apt-get", "#!/bin/sh\nexit 100\n")
    stand_in(checkout, "git", f"#!/bin/sh\n{git}\n")
    done = set_up(checkout)
    if git == "exit 0":
        assert done.returncode == 0
        assert "CMake will fetch" in done.stdout
    else:
        assert done.returncode == 1
        assert f"have an administrator install {PACKAGES}" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--help"], 0, "tools/fresh [OPTION...] SYSTEM [COMMAND...]"),
        ([], 2, "which system? For example: tools/fresh trixie"),
        (["--frsh", "trixie"], 2, "there is no option --frsh"),
        pytest.param(
            ["nowhere"],
            2,
            "debootstrap",  # does not know it, or is not there
            marks=pytest.mark.skipif(os.geteuid() != 0, reason="takes root"),
        ),
    ],
)
def test_fresh_explains_itself(
    arguments: list[str], status: int, said: str, tmp_path: Path
) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    done = subprocess.run([FRESH, *arguments], env=environment, capture_output=True, text=True)
    assert done.returncode == status
    assert said in done.stdout + done.stderr
    assert not list(tmp_path.glob("commlens-*"))
