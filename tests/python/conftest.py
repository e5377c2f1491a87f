"""A world without MPI: a native program and a launcher that are Python scripts."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from commlens.cli import main
from profile_helpers import install, mpi, shared_folder  # noqa: F401 (fixtures)
from reroute_library_helpers import reroute  # noqa: F401 (fixture)

FOLDER = Path(__file__).resolve().parent
FAKES = FOLDER / "fakes"
SOURCES = FOLDER.parents[1] / "python"

os.environ.pop("COLUMNS", None)  # pytest-xdist sets it
# Many hundreds of commands are started: compiled once, and not beside the sources.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ["PYTHONPYCACHEPREFIX"] = str(FOLDER.parents[1] / "build" / "pycache")
# Started by nohup, as a long run of tests is, every process would ignore it.
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# What the machine at hand might say of its MPI, or of an allocation that the tests run in.
_FOREIGN = (
    "OMPI_",
    "PRTE_",
    "PMIX_",
    "UCX_",
    "SLURM_",
    "LSB_",
    "FLUX_",
    "PBS_",
    "FAKE_",
    "COMMLENS_",
    "PE_HOSTFILE",
)

Commlens = Callable[..., "subprocess.CompletedProcess[str]"]


def pytest_collection_finish() -> None:
    """Modules and tests stay until the end, and pictures are full of cycles: the garbage collector
    took 5 to 8% of the time of tests that draw."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)


@pytest.fixture(autouse=True)
def fake_world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith(_FOREIGN):
            monkeypatch.delenv(name)
    monkeypatch.setenv("COMMLENS_BENCH", str(FAKES / "commlens-bench"))
    monkeypatch.setenv("PATH", f"{FAKES}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(SOURCES))
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))  # of a history that nobody names
    monkeypatch.chdir(tmp_path)


def command_line(*words: object) -> list[str]:
    return [sys.executable, "-m", "commlens", *map(str, words)]


@pytest.fixture
def commlens(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Commlens:
    """Runs the command in this process, which is the quicker way, and returns its status and what
    it wrote."""

    def run(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
        arguments = ["commlens", *map(str, words)]
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", arguments)
            for name, value in environment.items():
                patch.setenv(name, value)
            capfd.readouterr()
            with pytest.raises(SystemExit) as end:
                main()
        written = capfd.readouterr()
        status = end.value.code
        assert isinstance(status, int)
        return subprocess.CompletedProcess(arguments, status, written.out, written.err)

    return run


def captured(name: str) -> str:
    """What an MPI library and its launcher really wrote."""
    return (FOLDER / "captured" / f"{name}.txt").read_text(encoding="utf-8")
