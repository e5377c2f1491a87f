"""Nodes: how they differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from commlens.findings.finding import Quote
from commlens.findings.rule import Seen, observed, rule
from commlens.findings.view import NotApplicable, View
from commlens.machine.limits import Limit
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


def _compared(view: View, facts: Callable[[Machine], Mapping[str, str]], what: str) -> Seen:
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


def _libraries(machine: Machine) -> dict[str, str]:
    mpi = machine.mpi
    return {
        "The MPI library": mpi.library.name if mpi.library else "none",
        "The version of mpirun": mpi.launchers[0].version if mpi.launchers else "none",
        "The version of UCX": machine.ucx.version or "none",
        "The version of NCCL": machine.nccl.version or "none",
    }


@rule(
    "nodes-differ-in-libraries",
    "warning",
    "nodes have different libraries",
    needs="machines",
    when="versions of MPI, mpirun, UCX and NCCL on each node",
    fix="Load the same modules on all nodes (in the job script, not in the shell's files of one "
    "node), or leave the odd node out (`--exclude` of Slurm) and report it.",
)
def nodes_differ_in_libraries(view: View) -> Seen:
    yield from _compared(view, _libraries, "ranks of different versions hang or fail")


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

    yield from _compared(view, facts, "ranks choose different protocols")


def _limit(limit: Limit | None) -> str:
    return "unknown" if limit is None else "unlimited" if limit.soft is None else str(limit.soft)


@rule(
    "nodes-differ-in-limits",
    "warning",
    "nodes have different limits",
    needs="machines",
    when="locked memory, open files and size of /dev/shm on each node",
    fix="Ask the administrator to give all nodes the same limits, or leave the odd node out "
    "(`--exclude` of Slurm).",
)
def nodes_differ_in_limits(view: View) -> Seen:
    def facts(machine: Machine) -> dict[str, str]:
        limits = machine.limits
        return {
            "The limit of locked memory": _limit(limits.locked_memory),
            "The limit of open files": _limit(limits.open_files),
        }

    yield from _compared(view, facts, "the smallest decides what works")


@rule(
    "nodes-differ-in-devices",
    "warning",
    "nodes have different numbers of GPUs or adapters",
    needs="machines",
    when="numbers of GPUs and RDMA adapters on each node",
    fix="A GPU or an adapter may have fallen off the bus (`dmesg`, `nvidia-smi`): report the node "
    "to the administrator, and leave it out.",
)
def nodes_differ_in_devices(view: View) -> Seen:
    def facts(machine: Machine) -> dict[str, str]:
        devices = machine.devices
        return {
            "The number of GPUs": str(devices.gpus),
            "The number of RDMA adapters": str(len(devices.rdma)),
        }

    yield from _compared(view, facts, "a rank has no GPU, or nodes share fewer adapters")
