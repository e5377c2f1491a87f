"""Whether the MPI library takes GPU memory: tried in a job of its own, whose crash is survived and
explained.

The native program's `probe` prints a line of JSON before and after each step. From these lines,
from how the job ended and from what Open MPI logs of its choice of a messaging layer (pml), the
first known cause that applies makes a message: which call, which library and version, what to set.
"""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from commlens.jobs import causes, process
from commlens.jobs.causes import CAUSES
from commlens.jobs.launchers import Chosen
from commlens.jobs.messages import Death, death
from commlens.jobs.native import Native
from commlens.jobs.options import Options
from commlens.jobs.process import Outcome
from commlens.jobs.spec import PROBE, JobSpec

_LIMIT_S = 60.0
# With it Open MPI logs which pml it chose, and which one it passed over.
_LOG_THE_CHOICE = {"OMPI_MCA_pml_base_verbose": "10"}


class GpuSupport(Enum):
    """The verdict of a probe."""

    SUPPORTED = "MPI takes GPU memory"
    UNSUPPORTED = "MPI must not be given GPU memory"
    BROKEN = "MPI does not start at all, for any memory"
    UNKNOWN = "the probe itself did not run"


@dataclass(frozen=True)
class ProbeVerdict:
    """Whether MPI takes GPU memory, and why not."""

    support: GpuSupport
    sentence: str = ""  # for SUPPORTED: advice, often none
    fix: Mapping[str, str] = field(default_factory=dict)  # the variables to set


@dataclass(frozen=True)
class Step:
    """A call of the probe: `MPI_Send` of 1 byte from device memory."""

    rank: int
    call: str
    bytes: int | None = None
    memory: str | None = None

    def __str__(self) -> str:
        if self.bytes is None or self.memory is None:
            return self.call
        receives = "recv" in self.call.lower() and "send" not in self.call.lower()
        return f"{self.call} of {self.bytes} B {'to' if receives else 'from'} {self.memory} memory"


_START = Step(-1, "MPI_Init")


@dataclass(frozen=True)
class ProbeEvidence:
    """What is known when the probe has ended."""

    ranks: int
    begun: tuple[Step, ...] = ()
    open: tuple[Step, ...] = ()  # begun and not ended
    wrong: tuple[Step, ...] = ()  # ended with wrong data
    done: frozenset[int] = frozenset()  # ranks that came to the end
    mpi: str = ""  # "Open MPI 5.0.7"
    ucx: str | None = None
    says_gpu_aware: str = "unknown"
    how: str = ""
    log: str = ""  # the standard error, and what the launcher wrote
    death: Death | None = None
    status: int = 0
    error: str = ""  # printed by the native program, of a call that returned an error
    timed_out: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def pml(self) -> str:
        """Open MPI's messaging layer; empty where no choice was logged."""
        match = re.search(
            r"select: component (\w+) selected|selected (\w+) best priority", self.log
        )
        return next((name for name in match.groups() if name), "") if match else ""

    @property
    def _refused_ucx(self) -> bool:
        return "init returned failure for component ucx" in self.log

    @property
    def asked_for_ucx(self) -> bool:
        """By a variable or an option of the launcher."""
        return "ucx" in self.environment.get("OMPI_MCA_pml", "") or self._refused_ucx

    @property
    def ucx_passed_over(self) -> bool:
        """Refused, or given a priority below that of ob1, where a GPU's own transports would do."""
        return self._refused_ucx or "component ucx not selected" in self.log

    @property
    def ucx_in_use(self) -> bool:
        """By the log, else by the library that was loaded."""
        return self.pml == "ucx" if self.pml else self.ucx is not None

    @property
    def uses_other_pml(self) -> bool:
        """A messaging layer that is known and is not UCX."""
        return self.pml not in ("", "ucx")

    @property
    def library(self) -> str:
        """`Open MPI 5.0.7 with UCX 1.22.0`."""
        if self.ucx_in_use:
            return f"{self.mpi} with UCX {self.ucx}" if self.ucx else f"{self.mpi} with UCX"
        return f"{self.mpi} over pml {self.pml}" if self.pml else self.mpi

    @property
    def culprit(self) -> Step | None:
        """The call that did not return: of the rank that died if that is known, else a send before
        its receive."""
        dead = self.death.rank if self.death else None
        suspects = sorted(self.open, key=lambda step: (step.rank != dead, "Send" not in step.call))
        return suspects[0] if suspects else None

    @property
    def in_start(self) -> bool:
        """MPI_Init did not return."""
        return self.culprit == _START

    @property
    def died_on_device(self) -> bool:
        """A signal ended it in a call with device memory."""
        step = self.culprit
        return self.death is not None and step is not None and step.memory == "device"

    @property
    def first_wrong(self) -> Step | None:
        """The first call that delivered wrong data."""
        return self.wrong[0] if self.wrong else None

    @property
    def end(self) -> str:
        """`crashed (SIGSEGV)`, or `failed (REASON)` where no signal ended it."""
        if self.death:
            return f"crashed ({signal.Signals(self.death.signal).name})"
        return f"failed ({self.error or f'exit status {self.status}'})"

    @property
    def is_whole(self) -> bool:
        """All ranks came to the end of the probe."""
        return len(self.done) == self.ranks

    @property
    def crashed(self) -> bool:
        """It ended before its end, by itself."""
        succeeded = self.death is None and self.status == 0 and self.is_whole
        return not self.timed_out and not succeeded

    @property
    def denies_gpu_support(self) -> bool:
        """The library denies it, and the probe has not shown otherwise."""
        went_wrong = self.crashed or self.timed_out or bool(self.wrong)
        tried_device = any(step.memory == "device" for step in self.begun)
        return self.says_gpu_aware == "no" and (went_wrong or not tried_device)

    @property
    def source(self) -> str:
        """What was asked whether the library takes GPU memory."""
        return self.how or "it"

    @property
    def claim(self) -> str:
        """The library's contrary claim, as a part of a sentence."""
        if self.says_gpu_aware != "yes":
            return ""
        return f", although {self.how or 'the library'} says that it takes GPU memory"

    @property
    def limit(self) -> str:
        """Seconds after which the probe is ended."""
        return f"{_LIMIT_S:.0f}"


def judge(evidence: ProbeEvidence) -> ProbeVerdict:
    """The verdict of the first cause that applies; UNKNOWN where the probe did not come far
    enough."""
    applies = causes.first(
        CAUSES.probe,
        evidence.log,
        evidence.environment,
        lambda name: bool(getattr(evidence, name)),
    )
    if applies is None:
        return ProbeVerdict(GpuSupport.UNKNOWN)
    cause, _ = applies
    return ProbeVerdict(
        GpuSupport[str(cause.support).upper()], cause.message(probe=evidence), cause.set
    )


def explain_failed_start(log: str, mpi: str, environment: Mapping[str, str]) -> str:
    """Why no rank came through MPI_Init, in a job that failed without a probe; empty: not known."""
    evidence = ProbeEvidence(ranks=1, log=log, mpi=mpi, environment=environment, status=1)
    verdict = judge(evidence)
    return verdict.sentence or causes.launch_failure(log)


def is_needed(native: Native, options: Options) -> bool:
    """Whether a benchmark with these options could give GPU memory to MPI. An option that is not
    given counts as possible."""
    if not native.about.has_gpu:
        return False
    transports = (options.text("transport") or "all").split(",")
    memories = [options.text(name) for name in ("memory", "from", "to") if name in options]
    gpu_memory = not memories or any(
        part not in ("host", "pinned") for memory in memories for part in memory.split(",")
    )
    return gpu_memory and bool({"all", *native.about.probed_transports} & set(transports))


def run_probe(
    job: JobSpec, ranks: int, launcher: Chosen, native: Native, requests: list[int]
) -> tuple[ProbeVerdict, Outcome]:
    """Runs the probe on `ranks` ranks, under the conditions of `job`. Raises CommlensError where
    the launcher cannot be started."""
    probe = replace(
        job,
        benchmark=PROBE,
        options=Options({"memory": "device"}),
        ranks=ranks,
        environment={**_LOG_THE_CHOICE, **job.environment},
    )
    output, error = bytearray(), bytearray()
    outcome = process.run(
        launcher.command(probe, native.path, with_gpus=native.about.has_gpu),
        {**os.environ, **probe.environment},
        output.extend,
        error.extend,
        requests,
        why_end=lambda times: "it takes too long" if times.since_start > _LIMIT_S else "",
    )
    evidence = gather(
        output.decode(errors="replace"),
        error.decode(errors="replace"),
        outcome,
        ranks=ranks,
        mpi=native.about.mpi,
        environment=launcher.settings(job),
    )
    return judge(evidence), outcome


@dataclass
class _Steps:
    """The steps in the lines of the probe, taken one after the other."""

    begun: list[Step] = field(default_factory=list)
    open: list[Step] = field(default_factory=list)
    wrong: list[Step] = field(default_factory=list)
    done: set[int] = field(default_factory=set)
    library: dict[str, Any] = field(default_factory=dict)

    def take(self, line: dict[str, Any]) -> None:
        kind, step = line["probe"], _step(line)
        if kind == "library":
            self.library = self.library or line
            # A rank that prints this has left MPI_Init; before, it did not know its number.
            self._close(_START)
        elif kind == "begin":
            self.begun.append(step)
            self.open.append(step)
        elif kind == "end":
            self._close(step)
            if line.get("valid") is False:
                self.wrong.append(step)
        elif kind == "done":
            self.done.add(step.rank)

    def _close(self, step: Step) -> None:
        with suppress(ValueError):
            self.open.remove(step)


def gather(
    output: str,
    error: str,
    outcome: Outcome,
    *,
    ranks: int,
    mpi: str,
    environment: Mapping[str, str],
) -> ProbeEvidence:
    """The evidence in what the probe and its launcher wrote; `mpi` is the library that the program
    was built with."""
    steps = _Steps()
    for line in _json_lines(output):
        steps.take(line)
    log = f"{error}\n{output}"
    message = re.search(r"^commlens: probe: (.*)$", error, re.MULTILINE)
    return ProbeEvidence(
        ranks=ranks,
        begun=tuple(steps.begun),
        open=tuple(steps.open),
        wrong=tuple(steps.wrong),
        done=frozenset(steps.done),
        mpi=steps.library.get("mpi") or mpi,
        ucx=steps.library.get("ucx"),
        says_gpu_aware=steps.library.get("says_gpu_aware", "unknown"),
        how=steps.library.get("how") or "",
        log=log,
        # A job that ran into the time limit dies of our own signals.
        death=None if outcome.ended_because else death(log, outcome.status),
        status=outcome.status,
        error=message[1] if message else "",
        timed_out=bool(outcome.ended_because),
        environment=environment,
    )


def _step(line: Mapping[str, Any]) -> Step:
    if line.get("call") == _START.call:
        return _START
    call = str(line.get("call", ""))
    return Step(int(line.get("rank", -1)), call, line.get("bytes"), line.get("memory"))


def _json_lines(output: str) -> list[dict[str, Any]]:
    lines = []
    for text in output.splitlines():
        with suppress(json.JSONDecodeError):
            line = json.loads(text)
            if isinstance(line, dict) and "probe" in line:
                lines.append(line)
    return lines
