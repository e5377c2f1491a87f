"""tools/release_archive.py: what it brings is enough to build and install without a network.

The whole way, from `make archive` to the records of an installed copy, takes minutes and the
package index, and is a slow test; what it rests on is tested by itself.
"""

from __future__ import annotations

import os
import shutil
import sys
import tarfile
from pathlib import Path

import pytest

from building_helpers import CMAKE, ROOT, SLOW, has_namespaces, output_of, tool, without_network
from commlens.model import read
from native_helpers import BENCH

BUILD = BENCH.parents[1]
ARCHIVE = tool("release_archive")
needs_namespaces = pytest.mark.skipif(not has_namespaces(), reason="no network namespaces here")


def test_it_brings_all_that_pip_asks_for() -> None:
    names = {name.partition(">")[0] for name in ARCHIVE.requirements()}
    assert {"click", "numpy", "scipy", "matplotlib", "msgspec"} <= names  # to run commlens
    assert {"scikit-build-core", "cmake", "ninja", "pip"} <= names  # to build it


def test_no_library_that_it_brings_lacks_its_license() -> None:
    text = (ROOT / "packaging" / "third-party-licenses.txt").read_text(encoding="utf-8")
    assert all(f"(vendor/include/{name})" in text for name in ARCHIVE.VENDORED)


@needs_namespaces
@pytest.mark.skipif(
    not (CMAKE and shutil.which("ninja") and (BUILD / "cmake_install.cmake").exists()),
    reason="needs cmake, ninja and a build folder",
)
def test_vendored_headers_are_enough_without_a_network(tmp_path: Path) -> None:
    """Two files are preprocessed, which include all of the libraries: a whole build takes
    minutes."""
    sources = tmp_path / "sources"
    for name in ("cmake", "src", "python/commlens/knowledge"):
        shutil.copytree(ROOT / name, sources / name)
    shutil.copy(ROOT / "CMakeLists.txt", sources)
    vendor = sources / "vendor"
    install = [CMAKE, "--install", str(BUILD), "--component", "vendor", "--prefix", str(vendor)]
    output_of(install, tmp_path)
    assert {path.name for path in (vendor / "include").iterdir()} == set(ARCHIVE.VENDORED)

    build = tmp_path / "build"
    configure = [CMAKE, "-G", "Ninja", "-S", sources, "-B", build, "-DCOMMLENS_TESTS=OFF"]
    preprocess = ["-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-E"]
    checks = "-DCMAKE_TRY_COMPILE_CONFIGURATION=Release"  # CMake's own must compile
    output_of(without_network(*configure, *preprocess, checks), tmp_path)
    preprocessed = [
        "src/harness/CMakeFiles/commlens_harness.dir/settings.cpp.o",
        "src/measure/CMakeFiles/commlens_measure.dir/record_json.cpp.o",
    ]
    output_of(without_network("ninja", "-C", build, *preprocessed), tmp_path)
    listed = output_of(["ninja", "-C", str(build), "-t", "deps", *preprocessed], tmp_path)
    for name in ARCHIVE.VENDORED:
        included = [path for path in listed.split() if f"/include/{name}/" in path]
        assert included, f"{preprocessed} include nothing of {name}"
        assert all(path.startswith(str(vendor)) for path in included)


@pytest.mark.slow
@pytest.mark.skipif(not SLOW, reason="takes minutes: set COMMLENS_SLOW_TESTS=1")
@needs_namespaces
def test_an_archive_is_installed_and_measures_without_a_network(tmp_path: Path) -> None:
    """As packaging/README.md says, with nothing in the home folder and no settings of pip."""
    made = output_of([sys.executable, str(ROOT / "tools" / "release_archive.py")], tmp_path)
    (archive,) = [word for word in made.replace(",", " ").split() if word.endswith(".tar.gz")]
    with tarfile.open(ROOT / archive) as packed:
        packed.extractall(tmp_path)
    (sources,) = tmp_path.glob("commlens-*")
    assert (sources / "docs" / "site" / "index.html").is_file()
    home = tmp_path / "home"
    home.mkdir()
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in ("PATH", "LANG", "CC", "CXX", "CMAKE_CXX_COMPILER_LAUNCHER", "CCACHE_DIR")
        or name.startswith("OMPI_")
    }
    environment = {**kept, "HOME": str(home)}
    prefix = home / "commlens"
    output_of([sys.executable, "-m", "venv", str(prefix)], sources, environment)
    pip = (prefix / "bin" / "pip", "install", "--no-index", "--find-links", "wheels")
    output_of(without_network(*pip, "--upgrade", "pip"), sources, environment)
    output_of(without_network(*pip, "."), sources, environment)

    assert (prefix / "share" / "man" / "man1" / "commlens-run.1").is_file()
    commlens = prefix / "bin" / "commlens"
    options = ("--ranks", 2, "--memory", "host", "--bytes", "8,1K", "--out", home / "results")
    output_of(without_network(commlens, "run", "latency", *options), home, environment)
    (records,) = (home / "results").rglob("*.jsonl")
    with records.open(encoding="utf-8") as lines:
        assert {record.parameters["bytes"] for record in read(lines).records} == {8, 1024}
    assert "latency" in output_of(
        without_network(commlens, "show", home / "results"), home, environment
    )
