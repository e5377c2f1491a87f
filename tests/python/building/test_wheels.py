"""tools/wheel.py: what is published is checked, and installed into an empty environment, in which
there is neither a compiler nor MPI. Takes the package index."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from building_helpers import CMAKE, ROOT, output_of
from native_helpers import BRIEFLY, MPIRUN, OK, missing, start
from run_helpers import executable

MEASURED = ROOT / "docs" / "measured"
pytestmark = pytest.mark.skipif(
    not (CMAKE and os.environ.get("COMMLENS_TEST_WHEELS")),
    reason="takes the package index: set COMMLENS_TEST_WHEELS=1",
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    output_of([sys.executable, str(ROOT / "tools" / "wheel.py"), str(folder)], folder)
    return folder


@pytest.fixture(scope="module")
def commlens(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command in an environment with nothing but the wheel and what it asks for."""
    prefix = tmp_path_factory.mktemp("empty") / "environment"
    output_of([sys.executable, "-m", "venv", str(prefix)], made)
    (wheel,) = made.glob("*.whl")
    pip = (str(prefix / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check")
    output_of([*pip, str(wheel)], made)
    return prefix / "bin" / "commlens"


def test_they_pass_the_checks_of_the_index(made: Path) -> None:
    files = [str(path) for path in sorted(made.iterdir())]
    assert [Path(name).suffix for name in files] == [".whl", ".gz"]
    output_of([sys.executable, "-m", "twine", "check", "--strict", *files], made)
    output_of([str(Path(sys.executable).parent / "check-wheel-contents"), files[0]], made)


def test_the_wheel_is_for_every_machine_and_carries_the_sources(made: Path, tmp_path: Path) -> None:
    (wheel,) = made.glob("commlens-*-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
        packed.extract("commlens/native.tar.gz", tmp_path)
    assert {"commlens/py.typed", "commlens/__init__.pyi", "commlens/jobs/guard.sh"} <= {*names}
    assert [name for name in names if name.endswith(".so") or "/bin/" in name] == []
    with tarfile.open(tmp_path / "commlens" / "native.tar.gz") as sources:
        carried = {*sources.getnames()}
    assert {"CMakeLists.txt", "src/main.cpp", "vendor/include/fmt/format.h"} <= carried


def test_the_sources_have_what_a_build_takes(made: Path) -> None:
    (archive,) = made.glob("commlens-*.tar.gz")
    with tarfile.open(archive) as sources:
        names = {name.partition("/")[2] for name in sources.getnames()}
    assert {
        "CMakeLists.txt",
        "docs/man/commlens-run.1",
        "pyproject.toml",
        "src/main.cpp",
        "python/commlens/cli/run.py",
    } <= names


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("show", MEASURED / "h200-x2" / "allreduce-ucx.jsonl"), "353x"),
        (("compare", *(MEASURED / "h200" / f"bp5-{end}.jsonl" for end in ("before", "after"))),
         "faster"),
        (("plot", MEASURED / "h200-x2" / "allreduce-ucx.jsonl", "--out", "it.png"), "it.png"),
        (("report", MEASURED / "h200-x2" / "allreduce-ucx.jsonl"), "report.html"),
        (("sites",), "frontier"),
        (("job", "frontier", "--account", "ABC", "--", "run", "quick"), "#SBATCH --account=ABC"),
        (("submit", "frontier", "--account", "ABC", "--dry-run", "--", "run", "quick"), "sbatch"),
        (("history", "add", MEASURED / "history-host.jsonl"), "56 records added"),
        (("completion", "bash"), "_COMMLENS_COMPLETE"),
    ],
    ids=lambda words: words[0] if isinstance(words, tuple) else "",
)  # fmt: skip
def test_without_compiler_and_mpi(
    words: tuple[object, ...], says: str, commlens: Path, tmp_path: Path
) -> None:
    environment = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    assert says in output_of([str(commlens), *map(str, words)], tmp_path, environment)


def test_manual_pages_are_installed_where_man_looks(commlens: Path) -> None:
    pages = commlens.parents[1] / "share" / "man" / "man1"
    assert (pages / "commlens.1").is_file() and (pages / "commlens-history-show.1").is_file()


@pytest.mark.parametrize("words", [("build",), ("run", "latency")], ids=lambda words: words[0])
def test_what_is_missing_is_said(words: tuple[str, ...], commlens: Path, tmp_path: Path) -> None:
    environment = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    run = subprocess.run(
        [commlens, *words], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert run.returncode == 2
    (line,) = run.stderr.splitlines()
    assert ("C++20 compiler" in line) if words == ("build",) else ("`commlens build`" in line)


@pytest.mark.skipif(bool(missing()), reason=missing() or "-")
def test_the_sources_that_it_carries_are_built(commlens: Path, tmp_path: Path) -> None:
    # Without optimisation compiling takes half the time; the last of two such options counts.
    executable(tmp_path, "quick-c++", 'exec c++ "$@" -O0')
    environment = {
        **os.environ,
        "XDG_CACHE_HOME": str(tmp_path),
        "CXX": str(tmp_path / "quick-c++"),
    }
    del environment["PYTHONPATH"]
    prefix = tmp_path / "built"
    output_of([str(commlens), "build", "--prefix", str(prefix)], tmp_path, environment)
    for name in ("commlens-bench", "commlens-bench-all"):
        words = ("-n", 2, prefix / "bin" / name, "latency", "--bytes", 8, *BRIEFLY)
        job = start([MPIRUN, *map(str, words)], tmp_path).wait()
        assert job.status == OK, job
    for name in ("profile", "reroute"):
        assert (prefix / "lib" / "commlens" / f"libcommlens-{name}.so").is_file()
