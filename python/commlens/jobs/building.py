"""Builds the native program and the libraries that are preloaded from the sources that the package
carries, for the MPI at hand."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import commlens
from commlens.base.errors import CommlensError, Status, reason
from commlens.base.text import enumerated, printable, shown
from commlens.jobs import process
from commlens.jobs.native import PROGRAM, Native
from commlens.jobs.preload.library import PRELOADS
from commlens.jobs.progress import NewestRow
from commlens.jobs.remaining import time_left

GPUS = ("none", "cuda", "hip")
_PACKAGE = Path(__file__).resolve().parents[1]
_ARCHIVE = "native.tar.gz"  # that of tools/wheel.py
_CMAKE = "CMake 3.25 (pip install cmake)"
_COMPILER = "a C++20 compiler (Debian: g++; a cluster's module of GCC 11 or Clang 14; or CXX)"
_MPI = "MPI (Debian: libopenmpi-dev; a cluster's module; or --mpi DIR)"
# What CMake says where one of them is missing, and what brings it.
_CAUSES = {
    r"Could NOT find MPI": _MPI,
    r"Could NOT find CBLAS": (
        "a BLAS with cblas.h (Debian: libopenblas-dev; a cluster's module of OpenBLAS or MKL;"
        " pip install scipy-openblas32)"
    ),
    r"Could NOT find FFTW": (
        "FFTW 3 in double and single precision (Debian: libfftw3-dev; a cluster's module of FFTW"
        " or MKL; pip install mkl mkl-include)"
    ),
    r"CMake 3\.\d+ or higher is required": _CMAKE,
    r"(No CMAKE_CUDA_COMPILER|Failed to find nvcc|Could NOT find CUDA)": (
        "CUDA (a cluster's module of CUDA 12 or newer; or CUDACXX)"
    ),
    r"COMMLENS_HIPCC": "ROCm's hipcc (a cluster's module of ROCm; or ROCM_PATH)",
}
_STEP = re.compile(r"^\[\s*(\d+)(?:/(\d+)|%)\]")  # of Ninja, of Make
_ERROR = re.compile(r"\b[Ee]rror\b|undefined reference")


@dataclass(frozen=True)
class Built:
    """What was built."""

    native: Native
    libraries: Mapping[str, Path]  # that are preloaded, by the variables that name them


@dataclass(frozen=True)
class BuildOptions:
    """What is to be built."""

    mpi: Path | None = None  # the folder of an MPI, or its compiler mpicc
    gpu: str = "none"
    prefix: Path | None = None  # None: the package's folder
    jobs: int = 0  # compilers at once; 0: as many as cores


def build(options: BuildOptions, environment: Mapping[str, str] = os.environ) -> Built:
    """Configures, compiles and installs. Raises CommlensError for what is missing, before anything
    is compiled, and for what fails; a later call goes on where it was interrupted."""
    mpicc = _mpicc(options.mpi, environment)
    _check_tools(environment, mpicc)
    prefix = (options.prefix or _PACKAGE).resolve()
    _check_prefix(prefix)
    place = _place(options, mpicc, environment)
    log = _Log(place / "build.log", environment)
    with _sources(place) as sources:
        generator = ["-G", "Ninja"] if shutil.which("ninja", path=environment.get("PATH")) else []
        log.run(
            "configuring",
            [
                "cmake", "-S", str(sources), "-B", str(place / "build"), *generator,
                "-DCMAKE_BUILD_TYPE=Release", "-DCOMMLENS_TESTS=OFF",
                f"-DCOMMLENS_GPU={options.gpu}",
                # Compiled as one file, a library takes half the time.
                f"-DCMAKE_UNITY_BUILD={'ON' if options.gpu == 'none' else 'OFF'}",
                "-DCMAKE_UNITY_BUILD_BATCH_SIZE=0",
                *([f"-DMPI_C_COMPILER={mpicc}"] if mpicc else []),
            ],
        )  # fmt: skip
        jobs = str(options.jobs or len(os.sched_getaffinity(0)))
        log.run("compiling", ["cmake", "--build", str(place / "build"), "--parallel", jobs])
        install = ["cmake", "--install", str(place / "build"), "--component", "native"]
        log.run("installing", [*install, "--prefix", str(prefix)])
    shutil.rmtree(place, ignore_errors=True)
    native = Native(prefix / "bin" / PROGRAM)
    _ = native.about  # raises CommlensError where it does not run
    folder = prefix / "lib" / "commlens"
    return Built(native, {each.variable: folder / each.file for each in PRELOADS})


def _mpicc(mpi: Path | None, environment: Mapping[str, str]) -> str | None:
    """The compiler of the MPI that is named; None where CMake finds one. Raises CommlensError where
    there is none in the folder."""
    if mpi is None:
        return None
    for path in (mpi, mpi / "mpicc", mpi / "bin" / "mpicc"):
        if path.is_file() and os.access(path, os.X_OK):
            return str(path.absolute())
    raise CommlensError(
        f"--mpi {shown(mpi)} has no bin/mpicc: name the folder of an MPI library, with its headers"
    )


def _check_tools(environment: Mapping[str, str], mpicc: str | None) -> None:
    """Raises CommlensError, which names all that is missing and what brings it."""

    def has(*programs: str) -> bool:
        return any(shutil.which(name, path=environment.get("PATH")) for name in programs)

    missing = []
    if not has(*environment.get("CXX", "c++ g++ clang++").split()):
        missing.append(_COMPILER)
    if not has("cmake"):
        missing.append(_CMAKE)
    # Compilers that add MPI by themselves, as Cray's, are named in CXX.
    if not mpicc and not has("mpicc") and "CXX" not in environment:
        missing.append(_MPI)
    if missing:
        raise _lacks(missing)


def _lacks(missing: Sequence[str]) -> CommlensError:
    return CommlensError(f"building takes {enumerated(missing)}, which this machine lacks")


def _check_prefix(prefix: Path) -> None:
    """Raises CommlensError where nothing can be installed."""
    try:
        prefix.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=prefix):
            pass
    except OSError as error:
        raise CommlensError(
            f"{prefix} cannot be written: {reason(error)}; name a folder with --prefix"
        ) from None


def _place(options: BuildOptions, mpicc: str | None, environment: Mapping[str, str]) -> Path:
    """The folder in which this build is made, and found again after an interruption."""
    cache = environment.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    path = environment.get("PATH", "")
    chosen = [mpicc or shutil.which("mpicc", path=path), environment.get("CXX"), options.gpu]
    which = hashlib.sha256(repr(chosen).encode()).hexdigest()[:12]
    place = Path(cache) / "commlens" / f"build-{commlens.__version__}-{which}"
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommlensError(
            f"{place} cannot be written: {reason(error)}; name another folder in XDG_CACHE_HOME"
        ) from None
    return place


@contextmanager
def _sources(place: Path) -> Iterator[Path]:
    """The folder of the sources: those that the package carries, else the checkout."""
    archive, checkout = _PACKAGE / _ARCHIVE, _PACKAGE.parents[1]
    if archive.is_file():
        folder = place / "sources"
        with tarfile.open(archive) as packed:  # times stay as they are: what is compiled is kept
            packed.extractall(folder)
        yield folder
    elif (checkout / "CMakeLists.txt").is_file():
        yield checkout
    else:
        raise CommlensError(
            f"{_PACKAGE} has no {_ARCHIVE}: install a wheel of commlens, or build a checkout with"
            " `pip install .`"
        )


class _Log:
    """What the tools write: in a file, with progress on the standard error."""

    def __init__(self, path: Path, environment: Mapping[str, str]) -> None:
        self._path, self._environment = path, environment
        self._rest = b""

    def run(self, what: str, command: Sequence[str]) -> None:
        """Runs a tool. Raises CommlensError with the reason where it fails."""
        self._rest = b""
        progress, began = NewestRow(), time.monotonic()
        progress.show([what])
        lines: list[str] = []

        def take(data: bytes) -> None:
            file.write(data)
            *whole, self._rest = (self._rest + data).split(b"\n")
            for line in (each.decode("utf-8", "replace") for each in whole):
                lines.append(line)
                if match := _STEP.match(line):
                    done, total = int(match[1]), int(match[2] or 100)
                    left = time_left(done, total, time.monotonic() - began)
                    progress.show([f"{what}: {100 * done // max(1, total)}%{left}"])

        with self._path.open("ab") as file, process.signals_listed() as requests:
            outcome = process.run(command, self._environment, take, take, requests)
        progress.clear()
        lines.append(self._rest.decode("utf-8", "replace"))
        if outcome.interrupted or requests:
            number = outcome.interrupted or requests[0]
            raise CommlensError(
                f"interrupted while {what}; `commlens build` goes on from there", 128 + number
            )
        if outcome.status:
            raise self._failure(what, lines)

    def _failure(self, what: str, lines: Sequence[str]) -> CommlensError:
        text = "\n".join(lines)
        missing = [fix for pattern, fix in _CAUSES.items() if re.search(pattern, text)]
        if missing:
            return _lacks(missing)
        errors = (line for line in lines if _ERROR.search(line) and not _STEP.match(line))
        first = next(errors, "").strip()
        said = f': "{printable(first)}"' if first else ""
        return CommlensError(
            f"{what} failed{said}; all that the tools said is in {self._path}", Status.FAILED
        )
