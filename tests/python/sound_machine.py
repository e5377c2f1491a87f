"""A machine with which nothing is wrong, and others like it but for one thing, for cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from commlens.findings.behaviour import Behaviour, Failure
from commlens.findings.view import View
from commlens.jobs.probe import GpuSupport
from commlens.machine.cpus import CpuView
from commlens.machine.gpus import DeviceView
from commlens.machine.limits import Limit, LimitView, SharedMemory
from commlens.machine.machine import Machine
from commlens.machine.mpi import MpiLauncher, MpiLibrary, MpiView, OpenMpi
from commlens.machine.nccl import NcclView
from commlens.machine.settings import Unknown
from commlens.machine.ucx import UcxView
from record_helpers import parsed
from rule_records import placement
from sample_records import make_record

Given = Callable[[], View]
GIB = 2**30
OPEN_MPI_5 = MpiLauncher(
    "/opt/ompi/bin/mpirun", "Open MPI", "mpirun (Open MPI) 5.0.7", ("openmpi",)
)
MPICH = MpiLauncher("/opt/mpich/bin/mpirun", "MPICH", "Version: 4.0.2", ("mpich", "intel"))
CRAY = MpiLibrary(
    "/opt/cray/lib/libmpi_cray.so.12", "MPI VERSION : CRAY MPICH version 8.1.28", "cray"
)


def limit(soft: int | None, hard: int | None = None) -> Limit:
    return Limit(soft, hard, f"Max {soft} {hard}")


COMPONENTS = {
    "pml": ("ob1", "ucx"),
    "btl": ("self", "sm", "smcuda"),
    "accelerator": ("cuda", "null"),
}
SOUND = Machine(
    host="node01",
    devices=DeviceView(nvidia_gpus=2, rdma=("mlx5_0",)),
    limits=LimitView(
        locked_memory=limit(None),
        open_files=limit(65536),
        stack=limit(8 * 2**20),
        address_space=limit(None),
        processes=limit(100_000),
        shared_memory=SharedMemory(256 * GIB, 255 * GIB, "tmpfs", is_writable=True),
    ),
    cpus=CpuView(allowed="0-31"),
    mpi=MpiView(
        program="/opt/app/program",
        library=MpiLibrary("/opt/ompi/lib/libmpi.so.40", "Open MPI v5.0.7, package", "openmpi"),
        launchers=(OPEN_MPI_5,),
        open_mpi=OpenMpi("5.0.7", "true", COMPONENTS),
    ),
    ucx=UcxView(
        library="/opt/ucx/lib/libucp.so.0",
        version="1.18.0",
        modules=("uct_ib", "uct_cuda", "uct_cuda_gdrcopy"),
        transports=("self", "tcp", "posix", "rc_mlx5", "cuda_copy", "cuda_ipc", "gdr_copy"),
    ),
    nccl=NcclView("/opt/nccl/lib/libnccl.so.2", "2.28.3"),
)


def changed(machine: Any, path: str, value: object) -> Any:
    """`mpi.open_mpi.version`"""
    name, _, rest = path.partition(".")
    own = changed(getattr(machine, name), rest, value) if rest else value
    return msgspec.structs.replace(machine, **{name: own})


def machine(environment: dict[str, str] | None = None, **changes: Any) -> Machine:
    """A sound one, but for what is named: `mpi__library`."""
    own: Machine = changed(SOUND, "environment", environment or {})
    for name, value in changes.items():
        own = changed(own, name.replace("__", "."), value)
    return own


def view(environment: dict[str, str] | None = None, **changes: Any) -> View:
    return View(machines=[machine(environment, **changes)])


def two(second: Machine) -> View:
    return View(machines=[SOUND, changed(second, "host", "node02")])


def ran(**changes: Any) -> View:
    given = {"why_none": "", **changes}
    return View(machines=[SOUND], behaviour=Behaviour(**given))


def placed(*gpus: tuple[int, str]) -> View:
    """Ranks on the GPUs with these numbers, as the rank sees them, and these names."""
    places = placement(cores=["0-7"] * len(gpus), numa=["0"] * len(gpus), gpus=range(len(gpus)),
                       gpu_numa=[0] * len(gpus))  # fmt: skip
    for place, (ordinal, uuid) in zip(places, gpus):
        place["device"].update(ordinal=ordinal, uuid=uuid)
    record = make_record(memory="device", ranks=len(gpus), placement=places)
    return ran(records=parsed(record))


NO_GPU = DeviceView()
NO_RDMA = DeviceView(nvidia_gpus=2)
AMD = DeviceView(amd_gpus=4, rdma=("mlx5_0",))
ALONE = Failure("latency", ("2 ranks were asked for, but MPI has 1",), 1)
CRASH = Failure("latency", ("mpirun ended with status 139; no record was written",), 1)
SLOW = Failure("latency", ("the job took longer than 15 s, and was ended; 3 records",), 3)
NOT_SET_UP = GpuSupport.UNSUPPORTED


class Cases(NamedTuple):
    """Of one rule, by name: views in which it reports something, others in which it does not, and
    those for which it is not applicable. Where the latter are given, the silent ones are `ok`."""

    speaks: Mapping[str, Callable[[], Any]]  # a View, or records or a profile to make one of
    silent: Mapping[str, Callable[[], Any]]
    not_applicable: Mapping[str, Callable[[], Any]] = {}


def on(name: str, value: str, **changes: Any) -> Given:
    """With one variable."""
    return lambda: view({name: value}, **changes)


def with_(**changes: Any) -> Given:
    return lambda: view(**changes)


def cray(environment: dict[str, str] | None = None, **changes: Any) -> Given:
    without_open_mpi: dict[str, object] = {"mpi__library": CRAY, "mpi__open_mpi": None, **changes}
    return lambda: View(machines=[machine(environment, **without_open_mpi)])


NEAR = Unknown("UCX_TSL", "all", "UCX 1.18.0", "UCX_TLS")
FAR = Unknown("UCX_WARP_SPEED", "9", "UCX 1.18.0")
UCT = {**COMPONENTS, "btl": ("self", "sm", "uct")}
OPENIB = {**COMPONENTS, "btl": ("self", "sm", "openib")}
