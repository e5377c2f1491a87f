"""Compiles MPI programs and runs them under `commlens profile`, with the MPI of the build.

COMMLENS_TEST_ALL_MPIS=1: with Open MPI and with MPICH. It is then a failure if one of them, or a
compiler of it, is missing.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import pytest

from commlens.jobs.preload.library import PROFILE, REROUTE, Preload, read_library
from commlens.model.profile import parse
from run_helpers import AS_ROOT, SHARED_CORES, wait_for

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "tests" / "profile"
ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("PYTEST_", "COMMLENS_", "COLUMNS"))
}
TIME_LIMIT_S = 120
_BUILT = {
    preload.name: Path(
        os.environ.get(preload.variable) or ROOT / "build/host/src" / preload.name / preload.file
    )
    for preload in (PROFILE, REROUTE)
}
_FAMILIES = {"openmpi": "Open MPI", "mpich": "MPICH"}
ALL_MPIS = bool(os.environ.get("COMMLENS_TEST_ALL_MPIS"))


@dataclass(frozen=True)
class Mpi:
    """An installed MPI with its profiling library; programs are compiled once."""

    name: str
    library: Path
    folder: Path
    tools: Path
    suffix: str  # of its tools, as Debian's have where another MPI is the default

    @property
    def family(self) -> str:
        """As it calls itself."""
        return _FAMILIES[self.name]

    @property
    def compiler(self) -> str:
        """Its mpicc."""
        return str(self.tools / f"mpicc{self.suffix}")

    def compile(self, source: str, *options: str, name: str = "") -> Path:
        program = self.folder / f"{name or Path(source).stem}-{self.name}"
        if not program.exists():
            compiler = {".c": "mpicc", ".cpp": "mpicxx", ".f90": "mpif90"}[Path(source).suffix]
            wrapper = shutil.which(f"{compiler}{self.suffix}", path=self.tools)
            if wrapper is None:
                lack(f"there is no {compiler} of {self.name}")
            called = subprocess.run([wrapper, "-show"], capture_output=True, text=True).stdout
            if called and shutil.which(called.split()[0]) is None:
                lack(f"there is no {called.split()[0]}, which {compiler} of {self.name} calls")
            words = [wrapper, "-g", str(SOURCES / source), *options, "-o", str(program)]
            subprocess.run(
                [*words, "-J", str(self.folder)] if source.endswith("f90") else words, check=True
            )
        return program

    def command(self, *words: object, ranks: int = 2) -> list[str]:
        options = ["--oversubscribe"] if self.name == "openmpi" else []
        return [f"mpirun{self.suffix}", *options, "-n", str(ranks), *map(str, words)]

    def environment(self) -> dict[str, str]:
        python = {"PYTHONPATH": str(ROOT / "python"), "COMMLENS_PROFILE_LIBRARY": str(self.library)}
        return {**ENVIRONMENT, **AS_ROOT, **SHARED_CORES, **python}

    def profile(
        self,
        *words: object,
        ranks: int = 2,
        options: tuple[str, ...] = (),
        out: str = "out",
        stdin: str = "",
    ) -> Profiled:
        """Runs `commlens profile` in the working directory, which is the test's own."""
        before = set(Path(out).glob("*.jsonl")) if Path(out).is_dir() else set()
        arguments = ["profile", "--out", out, *options, "--", *self.command(*words, ranks=ranks)]
        answer = subprocess.run(
            [sys.executable, "-m", "commlens", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            env=self.environment(),
            timeout=TIME_LIMIT_S,
        )
        new = sorted(set(Path(out).glob("*.jsonl")) - before) if Path(out).is_dir() else []
        record = json.loads(new[0].read_text()) if new else None
        if record is not None:
            parse(json.dumps(record))  # as the schema has it
        return Profiled(answer.returncode, answer.stdout, answer.stderr, record)


def wait_until_stuck(output: Path) -> None:
    """Until both ranks of `endings stuck` are in MPI_Recv: what they write comes just before."""
    wait_for(lambda: output.read_text().count("stuck") >= 2)
    time.sleep(1)


@dataclass(frozen=True)
class Profiled:
    status: int
    output: str
    error: str
    recorded: dict[str, Any] | None

    @property
    def record(self) -> dict[str, Any]:
        """Where there is one."""
        assert self.recorded is not None, self.error
        return self.recorded

    def functions(self) -> dict[str, dict[str, Any]]:
        return {function["name"]: function for function in self.record["functions"]}

    def bytes(self, function: str) -> list[int]:
        return list(self.functions()[function]["bytes"])

    def calls(self) -> dict[str, list[int]]:
        return {name: function["calls"] for name, function in self.functions().items()}

    def peers(self) -> dict[tuple[int, int], tuple[int, int]]:
        """Bytes and messages by sender and receiver."""
        return {
            (entry["from"], entry["to"]): (entry["bytes"], entry["messages"])
            for entry in self.record["peers"]
        }

    def endings(self) -> list[str]:
        return [entry["ending"] for entry in self.record["placement"]]


def lack(reason: str) -> NoReturn:
    if ALL_MPIS:
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session", params=["openmpi", "mpich"])
def mpi(request: pytest.FixtureRequest, install: Callable[[str], Mpi]) -> Mpi:
    return install(request.param)


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The processes of one pytest run share what is above their own folders."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def install(tmp_path_factory: pytest.TempPathFactory, shared_folder: Path) -> Callable[[str], Mpi]:
    return cache(
        lambda name: _install(name, tmp_path_factory.mktemp(f"profile-{name}"), shared_folder)
    )


def _install(name: str, folder: Path, shared: Path) -> Mpi:
    """The MPI with its profiling library. The test is skipped if the MPI is missing or not asked
    for."""
    family = _FAMILIES[name]
    built = read_library(PROFILE, _BUILT[PROFILE.name])
    if not (ALL_MPIS or built is None or built.mpi.startswith(family)):
        pytest.skip(f"the build has {built.mpi}; COMMLENS_TEST_ALL_MPIS=1 also tests {family}")
    suffixes = [suffix for suffix in ("", f".{name}") if _launcher_of(suffix) == name]
    compiler = shutil.which(f"mpicc{suffixes[0]}") if suffixes else None
    if compiler is None:
        lack(f"{family} is not installed")
    tools = Path(compiler).parent, suffixes[0]
    return Mpi(name, built_for(PROFILE, family, shared, compiler), folder, *tools)


def built_for(preload: Preload, family: str, shared: Path, compiler: str) -> Path:
    """The library for the MPI of the compiler, which is built unless it has been."""
    built = read_library(preload, _BUILT[preload.name])
    if built is not None and built.mpi.startswith(family):
        return built.path

    def build(folder: Path) -> None:
        # Without the compiler's name CMake can find another MPI.
        folders = ["-S", str(ROOT / "src" / preload.name), "-B", str(folder)]
        configure = ["cmake", *folders, f"-DMPI_C_COMPILER={compiler}"]
        for words in (configure, ["cmake", "--build", str(folder)]):
            subprocess.run(words, check=True, capture_output=True, env=ENVIRONMENT)

    return built_once(shared / f"{preload.name}-{family.split()[0].lower()}", build) / preload.file


def mpi_library(program: Path) -> str:
    """The file of MPI's library that the program is linked to."""
    linked = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
    return next(
        line.split()[2]
        for line in linked.splitlines()
        if "libmpi.so" in line or "libmpich.so" in line
    )


def for_mpi4py(mpi: Mpi, program: Path) -> dict[str, str]:
    """The environment in which its wheel uses the MPI that the program is linked to."""
    library = mpi_library(program)
    if mpi.name == "mpich":  # Debian's has another name than the one that the wheel needs
        link = Path("libmpi.so.12")
        link.unlink(missing_ok=True)
        link.symlink_to(library)
        return {"MPI4PY_MPIABI": "mpich", "LD_LIBRARY_PATH": str(Path.cwd())}
    return {"MPI4PY_MPIABI": mpi.name, "MPI4PY_LIBMPI": library}


def built_once(folder: Path, build: Callable[[Path], None]) -> Path:
    """The folder, in which the first process that comes has built something."""
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "built").exists():
            build(folder)
            (folder / "built").touch()
    return folder


def _launcher_of(suffix: str) -> str:
    """The name of the MPI that mpirun with this suffix belongs to; empty where there is none."""
    mpirun = shutil.which(f"mpirun{suffix}")
    if mpirun is None:
        return ""
    version = subprocess.run([mpirun, "--version"], capture_output=True, text=True).stdout
    return "mpich" if "HYDRA" in version else "openmpi"
