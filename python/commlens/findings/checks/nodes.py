"""How nodes differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from commlens.findings.finding import Quote
from commlens.findings.rule import Seen, observed
from commlens.findings.view import NotApplicable, View
from commlens.machine.machine import Machine

_ONE_NODE = "one node was looked at"


def nodes_missing(view: View) -> Seen:
    hosts = sorted({machine.host for machine in view.machines})
    if view.nodes < 2:
        raise NotApplicable(_ONE_NODE)
    if len(hosts) < view.nodes:
        yield observed(asked=view.nodes, hosts=hosts, first=hosts[:8], answers=len(view.machines))


def compared(view: View, facts: Callable[[Machine], Mapping[str, str]]) -> Seen:
    """Compares the facts of all machines, by their names."""
    own = {machine.host: facts(machine) for machine in view.machines}
    if len(view.machines) < 2:
        raise NotApplicable(_ONE_NODE)
    for name in dict.fromkeys(name for one in own.values() for name in one):
        by_value: dict[str, list[str]] = {}
        for host, one in own.items():
            by_value.setdefault(one.get(name, "none"), []).append(host)
        if len(by_value) > 1:
            # The fewest first: that is the odd one.
            ordered = sorted(by_value.items(), key=lambda item: len(item[1]))
            lines = [(", ".join(hosts[:3]), f"{name}: {value or 'empty'}")
                     for value, hosts in ordered]  # fmt: skip
            odd = lines[0][0]
            quotes = (Quote(*line) for line in lines)
            yield observed(*quotes, where=odd, name=name, count=len(view.machines), odd=odd)


def nodes_differ_in_settings(view: View, of_node: str) -> Seen:
    """`of_node`: variables that are of each node other than they must be."""

    def facts(machine: Machine) -> dict[str, str]:
        info = machine.mpi.open_mpi
        files = info.from_files if info else ()
        variables = machine.environment.items()
        differing = {name: value for name, value in variables if name not in of_node.split()}
        return {
            **{f"The setting {one.name} in a file": one.value for one in files},
            **{f"The setting {name}": value for name, value in differing.items()},
        }

    return compared(view, facts)
