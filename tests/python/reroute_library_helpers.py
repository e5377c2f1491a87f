"""Runs programs with libcommlens-reroute.so, with each MPI that is installed, on a fake GPU and a
fake NCCL (tests/reroute)."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from commlens.jobs.preload.library import REROUTE
from profile_helpers import ENVIRONMENT, ROOT, Mpi, built_for, built_once

SOURCES = ROOT / "tests" / "reroute"
_TIME_LIMIT_S = 300
# Open MPI 5 says so of each rank where there is only a loopback interface. Blank lines are its own.
_OF_NETWORKS = re.compile(".*Unable to find reachable pairing between local and remote.*\n")


def is_aborted(status: int, error: str) -> bool:
    """Whether a rank has ended the job by MPI_Abort with 1: that is the launcher's status, unless
    Open MPI's has died of SIGSEGV: 5's after it has printed that, 4's as it ends, by the component
    that no rank has."""
    is_launcher = "MPI_ABORT was invoked" in error or "mca_ess_hnp.so" in error
    return status == 1 or (status in (-11, 139) and is_launcher)


@dataclass(frozen=True)
class Ran:
    status: int
    output: str
    error: str
    ranks: list[dict[str, Any]]  # what they wrote

    @property
    def good(self) -> int:
        """Processes that said so. (A launcher may mix the lines of several.)"""
        return self.output.count("good")

    def total(self, field: str) -> int:
        """Over the functions and ranks."""
        return sum(function[field] for rank in self.ranks for function in rank["functions"])

    def reasons(self, function: str) -> list[dict[str, int]]:
        """Why calls were passed on, by rank."""
        return [
            entry["fell_back"]
            for rank in self.ranks
            for entry in rank["functions"]
            if entry["function"] == function
        ]


@dataclass(frozen=True)
class Reroute:
    """The library for an MPI."""

    mpi: Mpi
    library: Path
    fakes: Path

    def compile(
        self, source: str, *options: str, gpu: str = "libcuda.so.1", name: str = ""
    ) -> Path:
        """`gpu`: the fake of a GPU's library; empty: none."""
        libraries = [f"-L{self.fakes}", f"-l:{gpu}", f"-Wl,-rpath,{self.fakes}"]
        language = [] if source.endswith("f90") else ["-std=c++20", "-DOMPI_SKIP_MPICXX"]
        flags = [*language, *options, *(libraries if gpu else []), "-pthread"]
        return self.mpi.compile(str(SOURCES / source), *flags, name=name)

    def run(self, *words: object, ranks: int = 3, least: str = "1", **variables: str) -> Ran:
        """In the working directory, with the variables of the library and of the fakes."""
        out = Path("reroute.out").resolve()
        shutil.rmtree(out, ignore_errors=True)
        (out / "nccl").mkdir(parents=True)
        given = {
            "LD_PRELOAD": str(self.library),
            "COMMLENS_REROUTE_DIR": str(out),
            "COMMLENS_REROUTE_NCCL": str(self.fakes / "libnccl.so.2"),
            "COMMLENS_REROUTE_MIN_BYTES": least,
            "FAKE_NCCL_DIR": str(out / "nccl"),
            **variables,
        }
        setting = ["env", *(f"{name}={value}" for name, value in given.items() if value)]
        return self._start([*setting, *map(str, words)], ranks, out)

    def has(self, framework: str, component: str) -> bool:
        """Of Open MPI."""
        listed = subprocess.run(["ompi_info"], capture_output=True, text=True).stdout
        return self.mpi.name == "openmpi" and f"MCA {framework}: {component} " in listed

    def alone(self, *words: object, ranks: int = 3) -> Ran:
        return self._start(list(map(str, words)), ranks, Path("nothing"))

    def _start(self, words: list[str], ranks: int, out: Path) -> Ran:
        answer = subprocess.run(
            self.mpi.command(*words, ranks=ranks),
            capture_output=True,
            text=True,
            env={**ENVIRONMENT, **self.mpi.environment()},
            timeout=_TIME_LIMIT_S,
        )
        written = [json.loads(path.read_text()) for path in out.glob("rank-*.json")]
        written.sort(key=lambda rank: int(rank["rank"]))
        error = _OF_NETWORKS.sub("", answer.stderr).strip()
        return Ran(answer.returncode, answer.stdout, error, written)


@pytest.fixture(scope="session")
def reroute(mpi: Mpi, shared_folder: Path) -> Reroute:
    fakes = built_once(shared_folder / "reroute-fakes", _build_fakes)
    return Reroute(mpi, built_for(REROUTE, mpi.family, shared_folder, mpi.compiler), fakes)


def _build_fakes(folder: Path) -> None:
    common = ["c++", "-std=c++20", "-fPIC", "-shared", "-pthread"]
    for source, names in (
        ("fake_gpu.cpp", ("libcuda.so.1", "libamdhip64.so.6")),
        ("fake_nccl.cpp", ("libnccl.so.2",)),
    ):
        for name in names:
            output = [f"-Wl,-soname,{name}", "-o", str(folder / name)]
            subprocess.run([*common, *output, str(SOURCES / source)], check=True)
