#!/usr/bin/env python3
"""Makes, of the last commit, what is published: the source distribution, which pip compiles, and a
wheel without compiled parts, which carries the sources of the native program for `commlens build`.

    tools/wheel.py [FOLDER]        dist/ by default

Takes the package `build` and CMake. The wheel brings the headers that a build would fetch, and both
bring the manual pages.
"""

from __future__ import annotations

import shutil
import sys
import tarfile
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from release_archive import (
    MANUAL,
    ROOT,
    add_manual_pages,
    add_sources,
    add_vendored,
    project,
    run,
)

SOURCES = ("CMakeLists.txt", "LICENSE", "cmake", "src", "python/commlens/knowledge", "vendor")
# Without CMake, which installs them from the source distribution.
PAGES = f"-Cwheel.force-include.{MANUAL}=${{SKBUILD_DATA_DIR}}/share/man/man1"
ARCHIVE = "python/commlens/native.tar.gz"  # that of commlens.jobs.building


def pack(folder: Path) -> None:
    """Puts the sources of the native program into the Python package."""
    add_vendored(folder)
    shutil.copy(ROOT / "packaging" / "third-party-licenses.txt", folder / "vendor")
    with tarfile.open(folder / ARCHIVE, "w:gz") as packed:
        for name in SOURCES:
            packed.add(folder / name, arcname=name)


def main(out: Path) -> None:
    name = f"commlens-{project()['project']['version']}"
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / name
        add_sources(folder)
        add_manual_pages(folder)
        # By the backend itself, as `pip install` of the sources does.
        build = (sys.executable, "-m", "build", "--outdir", out)
        run(*build, "--sdist", folder)
        pack(folder)
        run(*build, "--wheel", "-Cwheel.cmake=false", PAGES, folder)
    for made in sorted(out.glob(f"{name}*")):
        print(f"commlens: {made}, {made.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(Path(*sys.argv[1:2] or ["dist"]).resolve())
