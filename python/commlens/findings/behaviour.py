"""Short runs of benchmarks over every transport: what they gave, and what went wrong in them."""

from __future__ import annotations

import io
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from commlens.base.errors import CommlensError, Status
from commlens.jobs.native import Native
from commlens.jobs.probe import ProbeVerdict
from commlens.jobs.record_file import RecordFile
from commlens.jobs.session import Session, Settings
from commlens.jobs.spec import JobSpec, Options
from commlens.jobs.watchdog import TOO_LONG
from commlens.model import Record

BENCHMARKS = ("latency", "bandwidth", "allreduce")
_SIZES = "8:256K:x8"
_LIMIT_S = 30.0  # of each job: GPUs and NCCL take seconds to start
_ENOUGH_S = 35.0  # after which no further job is started
_SHORT = {
    "bytes": _SIZES, "batches": "10", "max-time": "1", "repeat": "10", "warmup": "2",
    "no-parts": None,
}  # fmt: skip
_TIMEOUT_S = "25"  # without progress
_OURS, _PROGRESS = "commlens: ", "commlens progress:"
_MOST_LINES = 4
_ALONE = "ranks were asked for, but MPI has 1"


@dataclass(frozen=True)
class Failure:
    """A job that did not run to its end, or gave wrong results."""

    benchmark: str
    said: tuple[str, ...]  # lines of the standard error: those of commlens, or else the last
    status: int

    @property
    def ending(self) -> Literal["alone", "slow", "failed"]:
        """`alone`: each rank took itself for the only one; `slow`: it was ended after too long."""
        if any(_ALONE in line for line in self.said):
            return "alone"
        is_slow = self.status == Status.STALLED and any(TOO_LONG in line for line in self.said)
        return "slow" if is_slow else "failed"


@dataclass(frozen=True)
class Behaviour:
    """What the short runs gave, or why there were none."""

    records: Sequence[Record] = ()
    failures: Sequence[Failure] = ()
    verdict: ProbeVerdict | None = None  # of the probe, whether MPI takes GPU memory
    why_none: str = "no job was started"  # empty: they were
    interrupted: int = 0  # the status with which the command ends then


@dataclass(frozen=True)
class Plan:
    """How the short runs are launched, and where their records are kept."""

    launcher: str = "auto"
    spec: JobSpec = field(default_factory=JobSpec)  # its launcher's arguments, and nodes
    out: Path | None = None  # for the records; None: they are not kept

    def session(self, native: Native, folder: Path) -> Session:
        """The session in which they run, quietly and not for long."""
        return Session(native, Settings(self.launcher, folder, quiet=True, time_limit_s=_LIMIT_S))

    def job(self, benchmark: str, session: Session, options: Options) -> JobSpec:
        """On several nodes a rank on each; on two of them, for a benchmark of pairs."""
        nodes = self.spec.nodes if self.spec.nodes > 1 else 0
        if nodes and session.native.benchmark(benchmark).default("pairs") is not None:
            nodes = 2
        return replace(self.spec, benchmark=benchmark, options=options, ranks=nodes, nodes=nodes)


def observe(native: Native, plan: Plan) -> Behaviour:
    """Runs each benchmark once. Raises nothing: `why_none` is why nothing could be run."""
    try:
        with folder_of(plan) as folder, listened() as said:
            return _observe(native, plan, folder, said)
    except (CommlensError, OSError) as error:
        return Behaviour(why_none=str(error))


def _observe(native: Native, plan: Plan, folder: Path, said: Listener) -> Behaviour:
    session = plan.session(native, folder)
    options = Options({**_SHORT, "timeout": _TIMEOUT_S})
    jobs = [plan.job(name, session, options) for name in BENCHMARKS]
    records: list[Record] = []
    failures: list[Failure] = []
    file = RecordFile(folder / "doctor.jsonl", collects=True)
    interrupted = 0
    began = time.monotonic()
    for job in session.jobs(jobs):
        if time.monotonic() - began > _ENOUGH_S:
            break
        said.take()
        result = session.run(job, file)
        records += result.records
        if result.interrupted:
            interrupted = result.status
            break
        if result.status not in (Status.OK, Status.NOTHING_RAN):
            failures.append(Failure(job.benchmark, said.take(), result.status))
    verdict = next(iter(session.verdicts.values()), None)
    return Behaviour(records, failures, verdict, "", interrupted)


class Listener:
    """What was written to the standard error meanwhile: it is evidence, and no message."""

    def __init__(self) -> None:
        self.bytes = io.BytesIO()
        self.stream = io.TextIOWrapper(self.bytes, "utf-8", errors="replace", write_through=True)

    def take(self) -> tuple[str, ...]:
        """The lines since the last time."""
        text = self.bytes.getvalue().decode(errors="replace")
        self.bytes.seek(0)
        self.bytes.truncate()
        lines = [line for line in text.splitlines() if line.strip()]
        messages = [line for line in lines if line.startswith(_OURS) and _PROGRESS not in line]
        return tuple(line.removeprefix(_OURS) for line in (messages or lines)[-_MOST_LINES:])


@contextmanager
def listened() -> Iterator[Listener]:
    """Takes what is written to the standard error meanwhile."""
    said = Listener()
    with redirect_stderr(said.stream):
        yield said


@contextmanager
def folder_of(plan: Plan) -> Iterator[Path]:
    """The plan's folder for records, or one that is removed afterwards."""
    if plan.out is not None:
        plan.out.mkdir(parents=True, exist_ok=True)
        yield plan.out
        return
    with tempfile.TemporaryDirectory(prefix="commlens-doctor-") as name:
        yield Path(name)
