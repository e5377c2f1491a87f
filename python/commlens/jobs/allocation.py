"""Allocations: the nodes that a resource manager has given to this command."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from commlens.base.text import whole_number
from commlens.knowledge.launchers import MANAGERS, Manager
from commlens.machine.system import System


@dataclass(frozen=True)
class Allocation:
    """The nodes that a resource manager has given to this command."""

    variable: str  # the one that is set within it
    nodes: int | None = None  # None: not known
    tasks: int | None = None  # the number that was asked for, if any was


def current(environment: Mapping[str, str] = os.environ) -> Allocation | None:
    """The allocation in which this command runs, if it does in one."""
    for manager in MANAGERS:
        if environment.get(manager.variable):
            nodes = _nodes(manager, environment)
            return Allocation(manager.variable, nodes, _number(manager.tasks, environment))
    return None


def _nodes(manager: Manager, environment: Mapping[str, str]) -> int | None:
    if manager.host_slots:
        hosts = environment.get(manager.host_slots, "").split()[::2]
        return len(hosts) - 1 if len(hosts) > 1 else None  # jsrun starts no rank on the first
    if manager.host_file:
        with suppress(OSError):
            path = Path(environment.get(manager.host_file, ""))
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            return len({line.split()[0] for line in lines if line.strip()}) or None
    if manager.nodes_command:
        return whole_number(System(environment).run(*manager.nodes_command).text.strip())
    return _number(manager.nodes, environment)


def _number(variables: Sequence[str], environment: Mapping[str, str]) -> int | None:
    """The number in the first of the variables that has one."""
    numbers = (whole_number(environment.get(variable, "")) for variable in variables)
    return next((number for number in numbers if number), None)
