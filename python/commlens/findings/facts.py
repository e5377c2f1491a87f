"""What several rules ask of a machine: facts that they need, and which settings are in force."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

from commlens.findings.finding import Quote
from commlens.findings.view import NotApplicable, not_seen

if TYPE_CHECKING:
    from commlens.machine.machine import Machine
    from commlens.machine.mpi import OpenMpi

_YES = ("1", "y", "yes", "on", "true", "t")
_NO = ("0", "n", "no", "off", "false", "f")
# The smallest runs that show what a setting does: half the round trip of the shortest message.
SHORTEST_MESSAGE = ("latency", "--bytes", "1", "--memory", "device", "--transport", "mpi")
SHORTEST_HOST_MESSAGE = ("latency", "--bytes", "1", "--memory", "host", "--transport", "mpi")
RUNS: Mapping[str, tuple[str, ...]] = {
    "shortest message": SHORTEST_MESSAGE,
    "shortest host message": SHORTEST_HOST_MESSAGE,
    "NCCL message": ("bandwidth", "--bytes", "4M", "--memory", "device", "--transport", "ccl"),
    "sum": ("allreduce", "--bytes", "1M", "--memory", "host", "--transport", "mpi"),
}


def is_yes(value: str) -> bool:
    """Whether a library takes a value of a variable for yes."""
    return value.strip().lower() in _YES


def is_no(value: str) -> bool:
    """Whether a library takes a value of a variable for no."""
    return value.strip().lower() in _NO


def variable(machine: Machine, name: str) -> tuple[str, Quote]:
    """The value of a variable, and the line that shows it; an empty value: it is not set.

    Of NCCL's variables its files count, too.
    """
    value = machine.environment.get(name, "")
    file = next((one for one in machine.nccl.from_files if one.name == name), None)
    if value or file is None:
        return value, Quote("environment", f"{name}={value}")
    return file.value, Quote(file.place, f"{name}={file.value}")


def parameter(machine: Machine, name: str) -> tuple[str, Quote]:
    """The value of a parameter of Open MPI: of the environment, a file, or the default."""
    value, quote = variable(machine, f"OMPI_MCA_{name}")
    info = machine.mpi.open_mpi
    if value or info is None:
        return value, quote
    file = next((one for one in info.from_files if one.name == name), None)
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


def is_open_mpi(machine: Machine) -> bool:
    """Whether the MPI library is Open MPI, and its ompi_info is here."""
    return machine.mpi.family == "openmpi" and machine.mpi.open_mpi is not None


def open_mpi(machine: Machine) -> OpenMpi:
    """What ompi_info prints, for a rule that needs Open MPI."""
    assert machine.mpi.open_mpi is not None
    return machine.mpi.open_mpi


def takes_ucx_anywhere(machine: Machine) -> bool:
    """Whether Open MPI is set to use UCX over whatever UCX finds."""
    return all(
        parameter(machine, f"opal_common_ucx_{what}")[0] == "any"
        or parameter(machine, f"pml_ucx_{what}")[0] == "any"
        for what in ("tls", "devices")
    )


def uses_ucx(machine: Machine) -> bool:
    """Whether the bytes of MPI go through UCX, as far as settings and devices decide."""
    if not machine.ucx.library:
        return False
    if not is_open_mpi(machine):
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


@dataclass(frozen=True)
class Fact:
    """What a rule needs of a machine; without it the rule is not applicable."""

    holds: Callable[[Machine], object]
    reason: str | Callable[[Machine], str]  # why it does not hold
    is_seen: bool = True  # False: where it does not hold, nobody can decide

    def require(self, machine: Machine) -> None:
        """Raises NotApplicable where it does not hold."""
        if not self.holds(machine):
            reason = self.reason if isinstance(self.reason, str) else self.reason(machine)
            raise NotApplicable(reason) if self.is_seen else not_seen(reason)


def _why_no_nvidia(machine: Machine) -> str:
    return "there is no GPU of NVIDIA" if machine.gpus.vendor else machine.gpus.why_none


def _why_no_modules(machine: Machine) -> str:
    return machine.kernel.unseen.get("kernel modules", "/proc/modules")


# By the names under which rules need them.
FACTS: Mapping[str, Fact] = {
    "GPU": Fact(gpu_kind, "there is no GPU"),
    "2 GPUs": Fact(lambda machine: machine.devices.gpus >= 2, "there are no 2 GPUs"),
    "CUDA": Fact(lambda machine: gpu_kind(machine) == "cuda", "there is no NVIDIA GPU"),
    "RDMA": Fact(attrgetter("devices.rdma"), "there is no RDMA adapter"),
    "Mellanox": Fact(attrgetter("devices.mellanox"), "there is no Mellanox adapter"),
    "Open MPI": Fact(is_open_mpi, "the MPI library is not Open MPI, or has no ompi_info"),
    "Cray MPICH": Fact(
        lambda machine: machine.mpi.family == "cray", "the MPI library is not Cray MPICH"
    ),
    "program": Fact(attrgetter("mpi.program"), "there is no program to look at", is_seen=False),
    "UCX": Fact(attrgetter("ucx.library"), "the MPI library has no UCX"),
    "MPI over UCX": Fact(uses_ucx, "MPI does not use UCX here"),
    "UCX modules": Fact(
        lambda machine: machine.ucx.modules is not None, attrgetter("ucx.why_not_seen"), False
    ),
    "srun": Fact(attrgetter("mpi.pmix"), "this is no allocation of Slurm, or srun prints nothing"),
    # Of the driver and the kernel, where those above are of the devices in /dev.
    "GPU on the bus": Fact(attrgetter("gpus.installed"), "there is no GPU"),
    "GPU of the driver": Fact(attrgetter("gpus.gpus"), attrgetter("gpus.why_none")),
    "GPU of NVIDIA": Fact(lambda machine: machine.gpus.vendor == "nvidia", _why_no_nvidia),
    "fast adapter": Fact(
        attrgetter("nics.fast"), "there is no adapter for InfiniBand, RoCE or Slingshot"
    ),
    "Yama": Fact(
        lambda machine: machine.kernel.ptrace_scope is not None,
        "the kernel does not restrict it: there is no /proc/sys/kernel/yama/ptrace_scope",
    ),
    "adapter for peer memory": Fact(
        lambda machine: any(
            (nic.driver or nic.name).startswith("mlx") for nic in machine.nics.rdma
        ),
        "there is no adapter that needs it (of Mellanox)",
    ),
    "modules": Fact(
        lambda machine: machine.kernel.modules is not None, _why_no_modules, is_seen=False
    ),
    "gdrcopy library": Fact(attrgetter("ucx.gdrcopy"), "the loader finds no libgdrapi"),
    "gdrdrv": Fact(lambda machine: machine.kernel.has("gdrdrv"), "gdrdrv is not loaded"),
    "physical": Fact(
        lambda machine: not machine.cpus.virtual,
        "a virtual machine does not show the slots of its host",
    ),
    "control group of memory": Fact(attrgetter("limits.cgroup_memory"), "no cgroup limits memory"),
}
