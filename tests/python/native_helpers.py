"""The real native programs under a real launcher: starting them, and looking at what they leave.

COMMLENS_BENCH and COMMLENS_BENCH_FAULTS name the programs, else they are those of build/host. Every
job carries a mark in its environment, by which its processes are found whatever their group or
parent is.
"""

from __future__ import annotations

import io
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import jsonschema
import psutil
import pytest
from rich.console import Console

from commlens.model import Record, read
from commlens.render.show import show
from run_helpers import AS_ROOT, SHARED_CORES

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = ROOT / "docs" / "record.schema.json"

_REAL_ENVIRONMENT = dict(
    os.environ
)  # at import: the fake world of conftest.py begins with the first test
_MARK = "COMMLENS_TEST_MARK"
# Only what hangs takes so long, also on a machine that does other things.
LIMIT_S = 120.0
_GONE_WITHIN_S = 10.0

# What the program and the command say besides the one reason, and besides `commlens progress: `.
_NO_REASON = re.compile(r"commlens: (\d+ records? in \S+|warning\b.*)")


def _program(variable: str, built: str) -> Path:
    return Path(_REAL_ENVIRONMENT.get(variable) or ROOT / "build" / "host" / built).resolve()


BENCH = _program("COMMLENS_BENCH", "src/commlens-bench")
FAULTS = _program("COMMLENS_BENCH_FAULTS", "tests/harness/commlens-bench-faults")
# Beside the program, built with the same MPI.
WRONG = BENCH.parent.parent / "tests" / "benchmarks" / "commlens-bench-wrong"
EXAMPLES = ROOT / "build" / "host" / "tests" / "examples" / "commlens-bench-examples"
MPIRUN = shutil.which("mpirun", path=_REAL_ENVIRONMENT.get("PATH")) or ""


def _is_missing(program: Path) -> bool:
    return not (program.is_file() and os.access(program, os.X_OK))


OK, FAILED, USAGE, STALLED, NOTHING_RAN = range(5)
TRANSPORTS = ("mpi", "staged", "ccl", "peer")
# A small case of each benchmark that is not over sizes or takes long; of the others, 8 KiB.
RING = Path(__file__).resolve().parent / "captured" / "ring-of-2-ranks.clt"
SMALL = {
    "barrier": "--no-parts",
    "bp5": "--elements 2,2,2 --order 3 --iterations 5",
    "bps5": "--elements 2,2,2 --order 3 --coarse cg",
    "communicator-creation": "--by split",
    "compare-and-swap-latency": "--synchronization flush",
    "fetch-and-op-latency": "--synchronization flush",
    "fft": "--grid 16",
    "gather-scatter": "--elements 2,2,2 --order 3",
    "init": "--no-parts",
    "replay": f"--trace {RING}",
    "threaded-latency": "--threads 1 --bytes 16K",  # more threads than cores take long
    "xtx": "--dofs 2000 --vectors 16 --block 8",
}
SIZES_BEFORE = 2  # of the sizes 4, 8, 16, 32, 64 of a fault, it strikes at the third
BRIEFLY = ("--repeat", 2, "--warmup", 0, "--batches", 2, "--no-ceilings")


def missing() -> str:
    """Why the real programs cannot be tested here; empty if they can."""
    for program, variable in ((BENCH, "COMMLENS_BENCH"), (FAULTS, "COMMLENS_BENCH_FAULTS")):
        if _is_missing(program):
            return (
                f"{program} is not built: cmake --preset host && cmake --build --preset host, "
                f"or name one with the environment variable {variable}"
            )
    return "" if MPIRUN else "there is no mpirun on the PATH"


@cache
def declared() -> dict[str, dict[str, Any]]:
    """What the program declares, by benchmark; empty where there is no program."""
    if missing():
        return {}
    command = [str(BENCH), "--list", "--format", "json"]
    listed = subprocess.run(command, env=_REAL_ENVIRONMENT, capture_output=True, check=True)
    return {entry["name"]: entry for entry in json.loads(listed.stdout)}


def is_of_sizes(benchmark: str) -> bool:
    options = declared()[benchmark]["options"]
    return any(option["name"] == "bytes" and option["role"] == "size" for option in options)


BENCHMARKS = sorted(declared())
OF_SIZES = [name for name in BENCHMARKS if is_of_sizes(name)]
ONE_SIDED = [
    name
    for name in BENCHMARKS
    if any(option["name"] == "synchronization" for option in declared()[name]["options"])
]
# Made from one description: collectives_test runs all of them, here are three that differ.
OTHER_COLLECTIVES = [
    name
    for name in BENCHMARKS
    if any(option["name"] == "compute" for option in declared()[name]["options"])
    and name not in ("allreduce", "alltoallv", "gather")
]
DIFFERENT = [name for name in BENCHMARKS if name not in OTHER_COLLECTIVES]
OF_MESSAGES = [  # over every transport
    name for name in OF_SIZES if name in DIFFERENT and name not in (*ONE_SIDED, "threaded-latency")
]


def small(benchmark: str) -> str:
    """The options of a small case."""
    return SMALL.get(benchmark, "--bytes 8K")


needs_native = pytest.mark.skipif(bool(missing()), reason=missing() or "-")
needs_wrong, needs_examples = (
    pytest.mark.skipif(not program.is_file(), reason="it is built with the host backend only")
    for program in (WRONG, EXAMPLES)
)


@cache
def backend() -> str:
    command = [str(BENCH), "--about"]
    answer = subprocess.run(
        command, env=_REAL_ENVIRONMENT, capture_output=True, timeout=60, check=True
    )
    return str(json.loads(answer.stdout)["backend"])


on_host_build = pytest.mark.skipif(
    not missing() and backend() != "host", reason="this build may have a GPU and NCCL"
)


# ---- a job ----


@dataclass
class Job:
    """A job that has ended, and of which no process is left."""

    command: list[str]
    status: int
    output: str
    error: str
    seconds: float
    peak_bytes: int  # resident memory of the largest process, above that of the tests' own

    @property
    def messages(self) -> list[str]:
        """What commlens says on the standard error, but for signs of progress and the number of
        records."""
        lines = [line for line in self.error.splitlines() if "commlens: " in line]
        assert all(line.startswith("commlens: ") for line in lines), (
            f"a message begins within a line: {lines}"
        )
        return [line for line in lines if not _NO_REASON.fullmatch(line)]

    @property
    def message(self) -> str:
        """The one message; fails if there is none or if there are several."""
        assert len(self.messages) == 1, f"one message was expected:\n{self}"
        return self.messages[0]

    @property
    def table(self) -> str:
        """The standard output on one line, as sentences in it are wrapped."""
        lines = [line.lstrip("#") for line in self.output.splitlines()]
        return " ".join(" ".join(lines).split())

    def __str__(self) -> str:
        words = " ".join(self.command)
        ended = f"status {self.status} after {self.seconds:.1f} s"
        return f"{words}\n{ended}\n[stdout]\n{self.output}\n[stderr]\n{self.error}"


@dataclass
class Running:
    """A job on its way. Its streams go to files, so that nobody has to read them."""

    command: list[str]
    process: subprocess.Popen[bytes]
    mark: str
    folder: Path
    started: float = field(default_factory=time.monotonic)

    def wait(self, limit_s: float = LIMIT_S) -> Job:
        """The job as it ended. Fails if that takes longer than the limit, or if a process of it
        stays behind."""
        status, peak_bytes = self._status(limit_s)
        seconds = time.monotonic() - self.started
        job = Job(self.command, status, self._text("out"), self._text("err"), seconds, peak_bytes)
        if left := self._left():
            self.kill()
            raise AssertionError(f"processes were left behind: {left}\n{job}")
        return job

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def until(self, condition: Callable[[], bool], limit_s: float = LIMIT_S) -> None:
        try:
            while not condition():
                if self.process.poll() is not None or time.monotonic() > self.started + limit_s:
                    self._fail(f"what was waited for did not come within {limit_s} s")
                time.sleep(0.02)
        except BaseException:
            self.kill()  # whatever the condition has raised, no job stays behind
            raise

    def kill(self) -> None:
        for process in processes_with(self.mark):
            with suppress(psutil.Error):
                process.send_signal(signal.SIGKILL)

    def _status(self, limit_s: float) -> tuple[int, int]:
        while True:
            # Not Popen.wait(): wait4 also tells how much memory the launcher's children had. Until
            # its exec a child has that of the process which starts it.
            number, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            if number:
                code = os.waitstatus_to_exitcode(status)
                self.process.returncode = code
                baseline = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
                return (code if code >= 0 else 128 - code), (usage.ru_maxrss - baseline) * 1024
            if time.monotonic() > self.started + limit_s:
                self._fail(f"still running after {limit_s} s")
            time.sleep(0.01)

    def _fail(self, why: str) -> NoReturn:
        self.kill()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(5)
        written = f"[stdout]\n{self._text('out')}\n[stderr]\n{self._text('err')}"
        pytest.fail(f"{why}: {' '.join(self.command)}\n{written}")

    def _left(self) -> list[str]:
        deadline = time.monotonic() + _GONE_WITHIN_S
        while (left := processes_with(self.mark)) and time.monotonic() < deadline:
            time.sleep(0.02)
        return [f"{process.pid} {process.info['cmdline']}" for process in left]

    def _text(self, stream: str) -> str:
        return (self.folder / f"{self.mark}.{stream}").read_text(encoding="utf-8", errors="replace")


def processes_with(mark: str) -> list[psutil.Process]:
    """The processes that carry the mark in their environment; one that has ended has none."""
    return [
        process
        for process in psutil.process_iter(["environ", "cmdline"])
        if (process.info["environ"] or {}).get(_MARK) == mark
    ]


def start(
    command: list[str],
    folder: Path,
    environment: Mapping[str, str] | None = None,
    file_limit: int | None = None,
) -> Running:
    """Starts a command with the real environment in `folder`; `file_limit` is the size in bytes
    beyond which no file of it may grow."""
    mark = uuid.uuid4().hex
    # By default it is the newest build, which may be one with sanitizers.
    native = {"COMMLENS_BENCH": str(BENCH)}
    python = {"PYTHONPATH": str(ROOT / "python")}
    kept = {
        name: value
        for name, value in _REAL_ENVIRONMENT.items()
        if not name.startswith(("PYTEST_", "COMMLENS_"))
    }
    ours = {**AS_ROOT, **SHARED_CORES, **native, **python, "TERM": "dumb", _MARK: mark}
    everything = {**kept, **ours, **(environment or {})}

    def limit() -> None:
        assert file_limit is not None
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, file_limit))

    with (folder / f"{mark}.out").open("wb") as out, (folder / f"{mark}.err").open("wb") as err:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=everything,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
            preexec_fn=limit if file_limit is not None else None,
        )
    return Running(command, process, mark, folder)


@cache
def launcher_version() -> str:
    """What mpirun prints of its version."""
    if not MPIRUN:
        return ""
    command = [MPIRUN, "--version"]
    return subprocess.run(command, env=_REAL_ENVIRONMENT, capture_output=True, text=True).stdout


@cache
def launcher_is_beside_the_library() -> bool:
    """As with an MPI of PyPI: commlens takes this launcher then, whatever PATH says."""
    linked = subprocess.run(["ldd", str(BENCH)], capture_output=True, text=True).stdout
    match = re.search(r"libmpi\S* => (/\S+)", linked)
    libraries = [Path(match[1]), Path(match[1]).resolve()] if match else []
    return any((library.parent.parent / "bin" / "mpirun").exists() for library in libraries)


@cache
def has_hypre() -> bool:
    """Whether the program has bps5 --coarse boomeramg."""
    return b"HYPRE_BoomerAMG" in BENCH.with_name("commlens-bench-all").read_bytes()


def is_mpich() -> bool:
    """Whether mpirun is that of MPICH, which reports the process that has ended, and no rank."""
    return "HYDRA" in launcher_version()


def status_of_killed(number: int) -> int:
    """What mpirun ends with after a rank has died of this signal."""
    return number if is_mpich() else 128 + number


def statuses_of_abort(status: int) -> set[int]:
    """What mpirun may end with after MPI_Abort with this status: MPICH's may kill the rank that has
    called it before it ends."""
    return {status, signal.SIGKILL} if is_mpich() else {status}


def under_mpirun(ranks: int, *words: object, program: Path = BENCH) -> list[str]:
    more = [] if is_mpich() else ["--oversubscribe"]
    return [MPIRUN, *more, "-n", str(ranks), str(program), *_split(words)]


def under_commlens(*words: object) -> list[str]:
    return [sys.executable, "-m", "commlens", "run", *_split(words)]


def _split(words: Iterable[object]) -> list[str]:
    """A text with blanks is several words, for tests that are easier to read."""
    return [
        part
        for word in words
        for part in (word.split() if isinstance(word, str) and " " in word.strip() else [str(word)])
    ]


# Open MPI 4 waits a second before it kills the rest of a job of which a rank has ended with a
# non-zero status. Where that is not what is looked at, it need not be waited for.
AT_ONCE = {"OMPI_MCA_odls_base_sigkill_timeout": "0"}


def native(
    folder: Path, ranks: int, *words: object, program: Path = BENCH, limit_s: float = LIMIT_S
) -> Job:
    command = under_mpirun(ranks, *words, program=program)
    return start(command, folder, AT_ONCE).wait(limit_s)


def alone(records: Path, *words: object) -> Job:
    """Without a launcher, which is the quicker way: as the only rank."""
    return start([str(BENCH), *_split(words)], records.parent).wait()


def through_command(
    folder: Path, *words: object, program: Path = BENCH, limit_s: float = LIMIT_S
) -> Job:
    environment = {**AT_ONCE, "COMMLENS_BENCH": str(program)}
    return start(under_commlens(*words), folder, environment).wait(limit_s)


def measured(
    folder: Path, ranks: int, *words: object, ceilings: bool = False, limit_s: float = LIMIT_S
) -> list[Record]:
    """The records of a job that must end well. `ceilings`: with what the hardware gives, which
    takes seconds."""
    records = folder / "records.jsonl"
    records.unlink(missing_ok=True)
    without = () if ceilings else ("--no-ceilings",)
    job = native(folder, ranks, *words, *without, "--record", records, limit_s=limit_s)
    assert job.status == OK, job
    assert job.messages == []
    return records_in(records)


Jobs = dict[str, tuple["Future[Job]", Path]]  # by name; the file of records beside each


def foreign_lines(job: Job) -> list[str]:
    """What the launcher or the MPI library says."""
    ours = ("commlens: ", "commlens progress: ")
    return [line for line in job.error.splitlines() if not line.startswith(ours)]


# ---- what is left behind ----


def ran(folder: Path, ranks: int, *words: object) -> Job:
    """A job that must end well, with its records in `records.jsonl`."""
    job = native(folder, ranks, *words, "--record records.jsonl")
    assert job.status == OK, job
    assert job.messages == []
    return job


def preloaded(folder: Path, source: str) -> Path:
    """A library for LD_PRELOAD, of C with calls of MPI. The test is skipped without an mpicc."""
    path = folder / "preloaded.c"
    path.write_text(source)
    built = path.with_suffix(".so")
    try:
        command = ["mpicc", "-shared", "-fPIC", "-o", str(built), str(path)]
        subprocess.run(command, check=True, timeout=60)
    except OSError:
        pytest.skip("there is no mpicc to build a library that is preloaded")
    return built


def records_in(path: Path, after: int = 0) -> list[Record]:
    """The records of a file beyond the first `after` bytes: whole lines only, each as the schema
    has it."""
    with path.open("rb") as file:
        file.seek(after)
        return records_of(file.read().decode())


def records_of(text: str) -> list[Record]:
    assert text == "" or text.endswith("\n"), f"the last line is not whole: …{text[-200:]!r}"
    lines = text.splitlines(keepends=True)
    for line in lines:
        _validator().validate(json.loads(line, parse_constant=_refuse_constant))
    loaded = read(lines)
    assert loaded.problems == []
    return loaded.records


def shown(records: list[Record]) -> str:
    """What `commlens show` prints of them."""
    text = io.StringIO()
    show(records, Console(file=text, width=200))
    return text.getvalue()


def _refuse_constant(name: str) -> NoReturn:
    raise AssertionError(f"{name} is no JSON")


@cache
def _validator() -> Any:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return kind(schema, format_checker=kind.FORMAT_CHECKER)
