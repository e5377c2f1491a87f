"""Allocations: the nodes that a resource manager has given to this command.

A new resource manager is one entry in MANAGERS.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from commlens.jobs.options import whole_number

_ANSWER_TIME_S = 10


@dataclass(frozen=True)
class Allocation:
    variable: str  # the one that is set within it
    nodes: int | None = None  # None: the resource manager does not say
    tasks: int | None = None  # the number that was asked for, if any was

    @property
    def spans_nodes(self) -> bool:
        return (self.nodes or 1) > 1


_Environment = Mapping[str, str]
_Count = Callable[[_Environment], "int | None"]


@dataclass(frozen=True)
class Manager:
    variable: str
    nodes: _Count
    tasks: _Count = lambda _: None


def _number(*variables: str) -> _Count:
    """What the first of them says that is set."""

    def read(environment: _Environment) -> int | None:
        found = (whole_number(environment.get(variable, "")) for variable in variables)
        return next((number for number in found if number), None)

    return read


def _hosts_in(variable: str) -> _Count:
    """The different hosts in the file that the variable names; a line begins with a host."""

    def read(environment: _Environment) -> int | None:
        with suppress(OSError):
            text = Path(environment.get(variable, "")).read_text(encoding="utf-8", errors="replace")
            return len({line.split()[0] for line in text.splitlines() if line.strip()}) or None
        return None

    return read


def _lsf_nodes(environment: _Environment) -> int | None:
    """LSB_MCPU_HOSTS is `host slots host slots`; the first is the node on which the script runs,
    which is none of the compute nodes where jsrun starts the ranks."""
    hosts = environment.get("LSB_MCPU_HOSTS", "").split()[::2]
    return len(hosts) - 1 if len(hosts) > 1 else None


def _flux_nodes(environment: _Environment) -> int | None:
    """An instance of Flux has a broker on each node."""
    with suppress(OSError, subprocess.TimeoutExpired):
        answer = subprocess.run(
            ["flux", "getattr", "size"],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            env=dict(environment),
            timeout=_ANSWER_TIME_S,
        )
        return whole_number(answer.stdout.strip())
    return None


MANAGERS: Sequence[Manager] = (
    Manager(
        "SLURM_JOB_ID",
        _number("SLURM_JOB_NUM_NODES", "SLURM_NNODES"),
        _number("SLURM_NTASKS", "SLURM_NPROCS"),
    ),
    Manager("LSB_JOBID", _lsf_nodes),
    Manager("FLUX_URI", _flux_nodes),
    Manager("PBS_JOBID", _hosts_in("PBS_NODEFILE")),
    Manager("PE_HOSTFILE", _hosts_in("PE_HOSTFILE")),
)


def current(environment: _Environment = os.environ) -> Allocation | None:
    """The allocation in which this command runs, if it does in one."""
    for manager in MANAGERS:
        if environment.get(manager.variable):
            return Allocation(
                manager.variable, manager.nodes(environment), manager.tasks(environment)
            )
    return None
