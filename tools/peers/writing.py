"""What another program has printed, as records with the keys that commlens-bench gives to the same
cases: what a case is and which metrics it has, commlens-bench is asked."""

from __future__ import annotations

import os
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from socket import gethostname
from typing import NamedTuple

import interpreter  # noqa: F401

from commlens.base.errors import CommlensError, Status, reason
from commlens.jobs.native import About, Benchmark
from commlens.model import Place, Record, Start, Statistic, Value
from commlens.model.embedded import encoded
from commlens.model.results import Harness, Samples, Validation
from commlens.model.start import SCHEMA_VERSION, BenchmarkDeclaration, Parameter, StartLine

_NOT_VALIDATED = Validation(status="off", checks=0, elements=0, message="")


class Figures(NamedTuple):
    """Of one case."""

    parameters: Mapping[str, Value]
    times_s: Sequence[float]  # of the operation, a sample each
    metrics: Mapping[str, Sequence[float]]  # others than the time, of the same samples
    validation: Validation = _NOT_VALIDATED


def _none(_: str) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True)
class Plan:
    """What a command line of commlens-bench means for the other program."""

    command: Sequence[str]
    harness: Harness
    operation: str  # what a sample times
    cases: int  # of which it prints figures
    read: Callable[[Iterable[str]], Iterator[Figures]]  # of the lines that it prints
    versions: Callable[[str], Mapping[str, str]] = _none  # that a line names, by what has them


class Job(NamedTuple):
    about: About
    benchmark: Benchmark
    ranks: int
    transport: str
    memory: str


class Writer:
    """Appends to a file: the start's line first, and a line per case."""

    def __init__(self, path: str, job: Job, plan: Plan) -> None:
        self._path = path  # empty: none
        self._job = job
        self._plan = plan
        self._versions: dict[str, str] = {}
        self._start: Start | None = None
        self.cases = 0  # that have been written

    def look_for_versions(self, line: str) -> None:
        self._versions.update(self._plan.versions(line))

    def write(self, figures: Figures) -> None:
        """Raises CommlensError where the file cannot be written."""
        start = self._start = self._start or _start(self._job, self._versions)
        try:
            record = _record(start, self._job, self._plan, figures)
        except ValueError as error:
            name = start.benchmark.name
            raise CommlensError(
                f"commlens-bench has another {name} than this adaptor ({error}): use one version",
            ) from None
        lines = encoded([] if self.cases else [start], [record], [])
        self.cases += 1
        try:
            if self._path:
                with Path(self._path).open("ab") as file:
                    file.writelines(lines)
        except OSError as error:
            raise CommlensError(f"--record {self._path}: {reason(error)}", Status.FAILED) from None


def _start(job: Job, versions: dict[str, str]) -> Start:
    """What the program does not say stays empty: on which cores its ranks run, its MPI library."""
    host, now = gethostname(), datetime.now(timezone.utc)
    places = [Place(rank=rank, host=host, cores="", numa_nodes="") for rank in range(job.ranks)]
    return Start(
        StartLine(
            schema=SCHEMA_VERSION,
            start=f"{now:%Y%m%dT%H%M%SZ}-{host}-{os.getpid()}",
            time=_text(now),
            benchmark=_declaration(job.benchmark),
            backend=job.about.backend,  # part of the key: of what it is compared with
            ranks=job.ranks,
            nodes=1,
            transports=list(job.about.transports),
            placement=places,
            warnings=[],
            notes=[],
            versions=versions,
            environment={},
            settings=[],
            command=sys.argv,
        )
    )


def _declaration(benchmark: Benchmark) -> BenchmarkDeclaration:
    parameters = [
        Parameter(
            name=option.name.replace("-", "_"),
            option=option.name,
            role=option.role,
            unit=option.unit,
            help=option.help,
        )
        for option in benchmark.options
    ]
    return BenchmarkDeclaration(
        name=benchmark.name,
        description=benchmark.description,
        parameters=parameters,
        metrics=list(benchmark.metrics),
        facts=[],
    )


def _record(start: Start, job: Job, plan: Plan, figures: Figures) -> Record:
    metrics = {**figures.metrics, "time_us": [1e6 * time for time in figures.times_s]}
    return Record(
        schema=SCHEMA_VERSION,
        start=start,
        time=_text(datetime.now(timezone.utc)),
        benchmark=start.benchmark.name,
        parameters=figures.parameters,
        ranks=start.ranks,
        transport=job.transport,
        memory=job.memory,
        harness=plan.harness,
        status="ok",
        reason="",
        samples=Samples(operation=plan.operation, values_s=array("d", figures.times_s)),
        statistics={name: Statistic.of(values) for name, values in metrics.items()},
        setup_s=0.0,  # not known
        validation=figures.validation,
        ceilings=(),
    )


def _text(time: datetime) -> str:
    return f"{time:%Y-%m-%dT%H:%M:%SZ}"
