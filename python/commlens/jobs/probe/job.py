"""The probe's job: when it is needed, running it, and reading what it and its launcher wrote."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from commlens.jobs import process
from commlens.jobs.launchers import Chosen
from commlens.jobs.messages import death
from commlens.jobs.native import Native
from commlens.jobs.options import Options
from commlens.jobs.probe.causes import TIME_LIMIT_S, judge
from commlens.jobs.probe.evidence import START, Evidence, Step, Verdict
from commlens.jobs.process import Outcome
from commlens.jobs.spec import PROBE, JobSpec

# With it Open MPI logs which pml it chose, and which one it passed over.
_LOG_THE_CHOICE = {"OMPI_MCA_pml_base_verbose": "10"}


def is_needed(native: Native, options: Options) -> bool:
    """Whether a benchmark with these options could give GPU memory to MPI. What is not said counts
    as possible."""
    if not native.about.has_gpu:
        return False
    transports = (options.text("transport") or "all").split(",")
    memories = [options.text(name) for name in ("memory", "from", "to") if name in options]
    gpu_memory = not memories or any(
        part not in ("host", "pinned") for memory in memories for part in memory.split(",")
    )
    return gpu_memory and bool({"mpi", "all"} & set(transports))


def run_probe(
    job: JobSpec, ranks: int, launcher: Chosen, native: Native, requests: list[int]
) -> tuple[Verdict, Outcome]:
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
        why_end=lambda times: "it takes too long" if times.since_start > TIME_LIMIT_S else "",
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
    """What the lines of the probe say, taken one after the other."""

    begun: list[Step] = field(default_factory=list)
    open: list[Step] = field(default_factory=list)
    wrong: list[Step] = field(default_factory=list)
    done: set[int] = field(default_factory=set)
    library: dict[str, Any] = field(default_factory=dict)

    def take(self, line: dict[str, Any]) -> None:
        kind, step = line["probe"], _step(line)
        if kind == "library":
            self.library = self.library or line
            # A rank that can say this has left MPI_Init; before, it did not know its number.
            self._close(START)
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
) -> Evidence:
    """The evidence in what the probe and its launcher wrote; `mpi` is the library that the program
    was built with."""
    steps = _Steps()
    for line in _json_lines(output):
        steps.take(line)
    log = f"{error}\n{output}"
    said = re.search(r"^commlens: probe: (.*)$", error, re.MULTILINE)
    return Evidence(
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
        said=said[1] if said else "",
        timed_out=bool(outcome.ended_because),
        environment=environment,
    )


def _step(line: Mapping[str, Any]) -> Step:
    if line.get("call") == START.call:
        return START
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
