"""What several checks ask of a machine: which library carries MPI's bytes, and what is set."""

from __future__ import annotations

from commlens.findings import Quote
from commlens.machine.machine import Machine

NO_GPU = "there is no GPU"
NO_OPEN_MPI = "the MPI library is not Open MPI, or has no ompi_info"
_YES = ("1", "y", "yes", "on", "true", "t")
_NO = ("0", "n", "no", "off", "false", "f")

# Half the round trip of the shortest message between two GPUs, by MPI.
SHORTEST_MESSAGE = (
    "latency", "--bytes", "1", "--memory", "device", "--transport", "mpi",
)  # fmt: skip
NCCL_MESSAGE = (
    "bandwidth", "--bytes", "4M", "--memory", "device", "--transport", "ccl",
)  # fmt: skip


def is_yes(value: str) -> bool:
    return value.strip().lower() in _YES


def is_no(value: str) -> bool:
    return value.strip().lower() in _NO


def variable(machine: Machine, name: str) -> tuple[str, Quote]:
    """Its value, and the line that shows it; an empty value: it is not set."""
    value = machine.environment.get(name, "")
    return value, Quote("environment", f"{name}={value}")


def nccl_setting(machine: Machine, name: str) -> tuple[str, Quote]:
    """The same, where a file may say it, too."""
    value, quote = variable(machine, name)
    file = next((one for one in machine.nccl.from_files if one.name == name), None)
    if value or file is None:
        return value, quote
    return file.value, Quote(file.place, f"{name}={file.value}")


def parameter(machine: Machine, name: str) -> tuple[str, Quote]:
    """The value of a parameter of Open MPI: of the environment, a file, or the default."""
    value, quote = variable(machine, f"OMPI_MCA_{name}")
    own = machine.mpi.open_mpi
    if value or own is None:
        return value, quote
    file = next((one for one in own.from_files if one.name == name), None)
    if file is not None:
        return file.value, Quote(file.place, f"{name} = {file.value}")
    value = own.values.get(name, "")
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
    return machine.mpi.family == "openmpi" and machine.mpi.open_mpi is not None


def takes_ucx_anywhere(machine: Machine) -> bool:
    """Whether Open MPI was told to use UCX over whatever UCX finds."""
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
