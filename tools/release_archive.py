#!/usr/bin/env python3
"""Makes dist/commlens-VERSION-offline.tar.gz, from which commlens is built and installed without a
network: the sources of the last commit, in vendor/ the headers of the C++ libraries that a build
would fetch, in wheels/ the Python packages, in docs/site/ the documentation as a site and in
docs/man/ the manual pages, which a build installs.

    tools/release_archive.py [OPTION OF pip download ...]

packaging/README.md says for which machines the archive is, and how to install from it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

try:
    import tomllib
except ImportError:  # before Python 3.11; mypy and pytest bring it
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
MANUAL = "docs/man"
VENDORED = ("CLI", "fmt", "nlohmann")


def run(*command: object) -> None:
    subprocess.run([str(word) for word in command], cwd=ROOT, check=True)


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def requirements() -> list[str]:
    """What pip asks for when it installs the project: to run it, to build it, and the tools of the
    build, which are taken from wheels where a machine has none or old ones."""
    said = project()
    tools = [f"cmake{said['tool']['scikit-build']['cmake']['version']}", "ninja", "pip"]
    return [*said["project"]["dependencies"], *said["build-system"]["requires"], *tools]


def add_sources(folder: Path) -> None:
    """The last commit: what is not committed is in no release."""
    packed = folder.parent / "sources.tar"
    run("git", "archive", f"--output={packed}", "HEAD")
    with tarfile.open(packed) as sources:
        sources.extractall(folder)
    packed.unlink()


def add_vendored(folder: Path) -> None:
    build = folder.parent / "build"  # its own: two may run at once
    run("cmake", "-S", ROOT, "-B", build, "-DCOMMLENS_TESTS=OFF", "-DCOMMLENS_GPU=none")
    run("cmake", "--install", build, "--component", "vendor", "--prefix", folder / "vendor")
    for name in VENDORED:
        if not (folder / "vendor" / "include" / name).is_dir():
            sys.exit(f"commlens: CMake found no headers of {name}, which a release archive brings")


def add_wheels(folder: Path, options: list[str]) -> None:
    """Wheels only: what has to be built first would need more packages there."""
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:"]
    run(*download, "--dest", folder / "wheels", *options, *requirements())


def add_manual_pages(folder: Path) -> None:
    run(sys.executable, ROOT / "tools" / "command_reference.py", "--man", folder / MANUAL)


def add_documentation(folder: Path) -> None:
    run(sys.executable, ROOT / "tools" / "docs_site.py")
    shutil.copytree(ROOT / "build" / "site", folder / "docs" / "site")
    add_manual_pages(folder)


def main(options: list[str]) -> None:
    name = f"commlens-{project()['project']['version']}"
    archive = ROOT / "dist" / f"{name}-offline.tar.gz"
    archive.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / name
        add_sources(folder)
        add_vendored(folder)
        add_documentation(folder)
        add_wheels(folder, options)
        with tarfile.open(archive, "w:gz") as packed:
            packed.add(folder, arcname=name)
    print(f"commlens: {archive.relative_to(ROOT)}, {archive.stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
