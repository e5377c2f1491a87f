"""What several rules ask of a machine: facts that they need, and which settings are in force."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from commlens import knowledge
from commlens.findings.entry import Test, filled, value_at
from commlens.findings.finding import Quote
from commlens.findings.view import NotApplicable, not_seen

if TYPE_CHECKING:
    from commlens.machine.machine import Machine
    from commlens.machine.mpi import OpenMpi

# The smallest runs that show what a setting does: half the round trip of the shortest message.
SHORTEST_MESSAGE = ("latency", "--bytes", "1", "--memory", "device", "--transport", "mpi")
SHORTEST_HOST_MESSAGE = ("latency", "--bytes", "1", "--memory", "host", "--transport", "mpi")
RUNS: Mapping[str, tuple[str, ...]] = {
    "shortest message": SHORTEST_MESSAGE,
    "shortest host message": SHORTEST_HOST_MESSAGE,
    "NCCL message": ("bandwidth", "--bytes", "4M", "--memory", "device", "--transport", "ccl"),
    "sum": ("allreduce", "--bytes", "1M", "--memory", "host", "--transport", "mpi"),
}


def variable(machine: Machine, name: str) -> tuple[str, Quote]:
    """The value of a variable, and the line that shows it; an empty value: it is not set.

    Of NCCL's variables its files count, too.
    """
    value = machine.environment.get(name, "")
    file = next((setting for setting in machine.nccl.from_files if setting.name == name), None)
    if value or file is None:
        return value, Quote("environment", f"{name}={value}")
    return file.value, Quote(file.place, f"{name}={file.value}")


def parameter(machine: Machine, name: str) -> tuple[str, Quote]:
    """The value of a parameter of Open MPI: of the environment, a file, or the default."""
    value, quote = variable(machine, f"OMPI_MCA_{name}")
    info = machine.mpi.open_mpi
    if value or info is None:
        return value, quote
    file = next((setting for setting in info.from_files if setting.name == name), None)
    if file is not None:
        return file.value, Quote(file.place, f"{name} = {file.value}")
    value = info.values.get(name, "")
    return value, Quote("ompi_info --all", f"{name} = {value}")


def allows(selection: str, component: str) -> bool:
    """Whether a list of Open MPI, such as `self,vader` or `^openib`, has a component in it."""
    listed = selection.lstrip("^").split(",")
    if selection.startswith("^"):
        return component not in listed
    return not selection or component in listed


def names(selection: str, component: str) -> bool:
    """Whether the list asks for it."""
    return not selection.startswith("^") and component in selection.split(",")


def open_mpi(machine: Machine) -> OpenMpi:
    """What ompi_info prints, for a rule that needs Open MPI."""
    assert machine.mpi.open_mpi is not None
    return machine.mpi.open_mpi


def takes_ucx_anywhere(machine: Machine) -> bool:
    """Whether Open MPI is set to use UCX over whatever UCX finds."""
    return all(
        parameter(machine, f"opal_common_ucx_{suffix}")[0] == "any"
        or parameter(machine, f"pml_ucx_{suffix}")[0] == "any"
        for suffix in ("tls", "devices")
    )


def uses_ucx(machine: Machine) -> bool:
    """Whether the bytes of MPI go through UCX, as far as settings and devices decide."""
    if not machine.ucx.library:
        return False
    if machine.mpi.family != "openmpi" or machine.mpi.open_mpi is None:
        return True
    pml, _ = parameter(machine, "pml")
    if not allows(pml, "ucx"):
        return False
    return names(pml, "ucx") or bool(machine.devices.mellanox) or takes_ucx_anywhere(machine)


def gpu_kind(machine: Machine) -> str:
    """`cuda` or `rocm`; empty without a GPU."""
    if machine.devices.nvidia_gpus:
        return "cuda"
    return "rocm" if machine.devices.amd_gpus else ""


class Fact(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a rule needs of a machine, as facts.yaml explains it."""

    reason: str
    where: dict[str, Test] = {}
    over_ucx: bool = False
    is_seen: bool = True

    def require(self, machine: Machine) -> None:
        """Raises NotApplicable where it does not hold."""
        holds = all(test.passes(value_at(machine, path)) for path, test in self.where.items())
        if not holds or (self.over_ucx and not uses_ucx(machine)):
            reason = filled(self.reason, msgspec.structs.asdict(machine))
            raise NotApplicable(reason) if self.is_seen else not_seen(reason)


FACTS = knowledge.load("facts", dict[str, Fact])  # by the names under which rules need them
