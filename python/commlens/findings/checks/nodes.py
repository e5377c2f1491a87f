"""Nodes: how they differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from commlens.findings.finding import Quote
from commlens.findings.rule import Seen, observed, rule
from commlens.findings.view import NotApplicable, View
from commlens.machine.machine import Machine

_ONE_NODE = "one node was looked at"
# Of each node other than it must be.
_OF_NODE = (
    "CUDA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "UCX_NET_DEVICES",
)


@rule(
    "nodes-missing",
    "warning",
    "fewer nodes answer than were asked for",
    needs="machines",
    when="whether each node that was asked for answers",
    fix="Ask for that many nodes (`salloc --nodes {asked}`), and let the launcher put a rank on "
    "each; a node that does not answer needs the administrator.",
)
def nodes_missing(view: View) -> Seen:
    hosts = sorted({machine.host for machine in view.machines})
    if view.nodes < 2:
        raise NotApplicable(_ONE_NODE)
    if len(hosts) < view.nodes:
        yield observed(
            f"{view.nodes} nodes were asked for, and {len(hosts)} answered "
            f"({', '.join(hosts[:8])})",
            Quote("python -m commlens.findings.nodes", f"{len(view.machines)} answers"),
            words={"asked": str(view.nodes)},
        )


def _differing(
    machines: list[Machine], facts: Callable[[Machine], Mapping[str, str]]
) -> list[tuple[str, dict[str, list[str]]]]:
    """What is not the same on all: its name, and the hosts by value."""
    own = {machine.host: facts(machine) for machine in machines}
    found = []
    for name in dict.fromkeys(name for one in own.values() for name in one):
        hosts: dict[str, list[str]] = {}
        for host, one in own.items():
            hosts.setdefault(one.get(name, "none"), []).append(host)
        if len(hosts) > 1:
            found.append((name, hosts))
    return found


def _quotes(name: str, hosts: Mapping[str, list[str]]) -> list[Quote]:
    """The fewest first: that is the odd one."""
    ordered = sorted(hosts.items(), key=lambda own: len(own[1]))
    return [Quote(", ".join(own[:3]), f"{name}: {value or 'empty'}") for value, own in ordered]


def compared(view: View, facts: Callable[[Machine], Mapping[str, str]], what: str) -> Seen:
    """Compares the facts of all machines, by their names; `what` comes of a difference."""
    if len(view.machines) < 2:
        raise NotApplicable(_ONE_NODE)
    for name, hosts in _differing(list(view.machines), facts):
        odd = min(hosts.values(), key=len)
        yield observed(
            f"{name} is not the same on all {len(view.machines)} nodes, {', '.join(odd[:3])} has "
            f"another: {what}",
            *_quotes(name, hosts),
            where=", ".join(odd[:3]),
        )


@rule(
    "nodes-differ-in-settings",
    "warning",
    "nodes have different settings",
    needs="machines",
    when="variables and files of settings on each node",
    fix="Set it for all ranks: `mpirun -x NAME=VALUE`, `srun --export=ALL`; and let no node have "
    "files of settings of its own.",
)
def nodes_differ_in_settings(view: View) -> Seen:
    def facts(machine: Machine) -> dict[str, str]:
        info = machine.mpi.open_mpi
        files = info.from_files if info else ()
        variables = machine.environment.items()
        return {
            **{f"The setting {one.name} in a file": one.value for one in files},
            **{f"The setting {name}": value for name, value in variables if name not in _OF_NODE},
        }

    yield from compared(view, facts, "ranks choose different protocols")
