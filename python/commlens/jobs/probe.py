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
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from commlens.jobs import causes, process
from commlens.jobs.causes import CAUSES
from commlens.jobs.launchers import Chosen
from commlens.jobs.messages import death
from commlens.jobs.native import Native
from commlens.jobs.process import Outcome
from commlens.jobs.spec import PROBE, JobSpec, Options

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


def facts(
    output: str,
    error: str,
    outcome: Outcome,
    *,
    ranks: int,
    mpi: str,
    environment: Mapping[str, str],
) -> dict[str, Any]:
    """What the probe and its launcher wrote, by the names that causes.yaml has for the facts in it;
    `mpi` is the library that the program was built with."""
    lines = list(_lines(output))
    library = next((line for line in lines if line["probe"] == "library"), {})
    done = {line.get("rank") for line in lines if line["probe"] == "done"}
    begun = list(_steps(lines, "begin"))
    waiting = Counter(begun) - Counter(_steps(lines, "end", "library"))
    wrong = next(_steps((line for line in lines if line.get("valid") is False), "end"), None)
    log = f"{error}\n{output}"
    timed_out = bool(outcome.ended_because)
    # A job that ran into the time limit dies of our own signals.
    died = None if timed_out else death(log, outcome.status)
    is_whole = len(done) == ranks
    crashed = not timed_out and not (died is None and outcome.status == 0 and is_whole)
    # The call that did not return: of the rank that died if that is known, else a send before its
    # receive.
    dead = died.rank if died else None
    culprit = min(
        waiting, key=lambda step: (step.rank != dead, "Send" not in step.call), default=None
    )
    returned = re.search(r"^commlens: probe: (.*)$", error, re.MULTILINE)
    says = library.get("says_gpu_aware", "unknown")
    how = library.get("how") or ""
    went_wrong = crashed or timed_out or wrong is not None
    tried_device = any(step.memory == "device" for step in begun)
    return {
        **_messaging_layer(log, library.get("mpi") or mpi, library.get("ucx"), environment),
        "log": log,
        "timed_out": timed_out,
        "crashed": crashed,
        "is_whole": is_whole,
        "in_start": culprit == _START,
        "culprit": culprit,
        "died_on_device": died is not None and culprit is not None and culprit.memory == "device",
        "wrong": wrong,
        # The library denies it, and the probe has not shown otherwise.
        "denies_gpu_support": says == "no" and (went_wrong or not tried_device),
        "source": how or "it",
        "claim": f", although {how or 'the library'} says that it takes GPU memory"
        if says == "yes"
        else "",
        "limit": f"{_LIMIT_S:.0f}",
        "end": f"crashed ({signal.Signals(died.signal).name})"
        if died
        else f"failed ({returned[1] if returned else f'exit status {outcome.status}'})",
    }


def _messaging_layer(
    log: str, mpi: str, ucx: str | None, environment: Mapping[str, str]
) -> dict[str, Any]:
    """Open MPI's choice of a pml, where it was logged, else by the library that was loaded."""
    chosen = re.search(r"select: component (\w+) selected|selected (\w+) best priority", log)
    pml = next(filter(None, chosen.groups()), "") if chosen else ""
    refused = "init returned failure for component ucx" in log
    ucx_in_use = pml == "ucx" if pml else ucx is not None
    over = f" over pml {pml}" if pml else ""
    return {
        "mpi": mpi,
        "pml": pml,
        "library": mpi + (f" with UCX {ucx or ''}".rstrip() if ucx_in_use else over),
        "ucx_in_use": ucx_in_use,
        "uses_other_pml": pml not in ("", "ucx"),
        # By a variable or an option of the launcher.
        "asked_for_ucx": "ucx" in environment.get("OMPI_MCA_pml", "") or refused,
        # Or given a priority below that of ob1, where a GPU's own transports would do.
        "ucx_passed_over": refused or "component ucx not selected" in log,
    }


def judge(known: Mapping[str, Any], environment: Mapping[str, str]) -> ProbeVerdict:
    """The verdict of the first cause that applies to these facts; UNKNOWN where the probe did not
    come far enough."""
    applies = causes.first(CAUSES.probe, known["log"], environment, known)
    if applies is None:
        return ProbeVerdict(GpuSupport.UNKNOWN)
    cause, _ = applies
    return ProbeVerdict(GpuSupport[str(cause.support).upper()], cause.message(**known), cause.set)


def explain_failed_start(log: str, mpi: str, environment: Mapping[str, str]) -> str:
    """Why no rank came through MPI_Init, in a job that failed without a probe; empty: not known."""
    known = facts("", log, Outcome(1), ranks=1, mpi=mpi, environment=environment)
    return judge(known, environment).sentence or causes.launch_failure(log)


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
    outcome, output, error = process.run_within(
        launcher.command(probe, native.path, with_gpus=native.about.has_gpu),
        {**os.environ, **probe.environment},
        requests,
        _LIMIT_S,
    )
    settings, mpi = launcher.settings(job), native.about.mpi
    known = facts(output, error, outcome, ranks=ranks, mpi=mpi, environment=settings)
    return judge(known, settings), outcome


def _lines(output: str) -> Iterator[dict[str, Any]]:
    """Those of the probe, among others."""
    for text in output.splitlines():
        with suppress(json.JSONDecodeError):
            line = json.loads(text)
            if isinstance(line, dict) and "probe" in line:
                yield line


def _steps(lines: Iterable[Mapping[str, Any]], *kinds: str) -> Iterator[Step]:
    """Those in the lines of some kinds."""
    for line in lines:
        kind, call = line["probe"], str(line.get("call", ""))
        if kind not in kinds:
            continue
        # A rank that prints its library has left MPI_Init; before, it did not know its number.
        if kind == "library" or call == _START.call:
            yield _START
        else:
            yield Step(int(line.get("rank", -1)), call, line.get("bytes"), line.get("memory"))
