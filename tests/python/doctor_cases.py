"""For every check a machine, or short runs, in which it speaks, and some in which it is silent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from commlens.findings.behaviour import Behaviour, Failure
from commlens.findings.machine_view import DoctorView
from commlens.jobs.probe import GpuSupport, Verdict
from commlens.machine.devices import DeviceView
from commlens.machine.limits import CgroupMemory, Limit, LimitView, SharedMemory
from commlens.machine.machine import Machine
from commlens.machine.mpi import MpiLauncher, MpiLibrary, MpiView, OpenMpi
from commlens.machine.nccl import NcclView
from commlens.machine.settings import FileSetting, Unknown
from commlens.machine.ucx import UcxView
from diagnose_records import placement
from record_helpers import parsed
from sample_records import make_record

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
        cores="0-31",
    ),
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


def machine(environment: dict[str, str] | None = None, **changes: object) -> Machine:
    """A sound one, but for what is named: `mpi__library`."""
    own: Machine = changed(SOUND, "environment", environment or {})
    for name, value in changes.items():
        own = changed(own, name.replace("__", "."), value)
    return own


def view(environment: dict[str, str] | None = None, **changes: object) -> DoctorView:
    return DoctorView([machine(environment, **changes)])


def two(second: Machine) -> DoctorView:
    return DoctorView([SOUND, changed(second, "host", "node02")])


def ran(**changes: Any) -> DoctorView:
    given = {"why_none": "", **changes}
    return DoctorView([SOUND], Behaviour(**given))


def placed(*gpus: tuple[int, str]) -> DoctorView:
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


@dataclass(frozen=True)
class Cases:
    """Of one check, by what is special about them."""

    speaks: dict[str, Callable[[], DoctorView]]
    silent: dict[str, Callable[[], DoctorView]]


def on(name: str, value: str, **changes: object) -> Callable[[], DoctorView]:
    """With one variable."""
    return lambda: view({name: value}, **changes)


def with_(**changes: object) -> Callable[[], DoctorView]:
    return lambda: view(**changes)


def cray(environment: dict[str, str] | None = None, **changes: object) -> Callable[[], DoctorView]:
    without_open_mpi: dict[str, object] = {"mpi__library": CRAY, "mpi__open_mpi": None, **changes}
    return lambda: DoctorView([machine(environment, **without_open_mpi)])


NEAR = Unknown("UCX_TSL", "all", "UCX 1.18.0", "UCX_TLS")
FAR = Unknown("UCX_WARP_SPEED", "9", "UCX 1.18.0")
UCT = {**COMPONENTS, "btl": ("self", "sm", "uct")}
OPENIB = {**COMPONENTS, "btl": ("self", "sm", "openib")}

CASES: dict[str, Cases] = {
    "library-not-found": Cases(
        {"one": with_(mpi__missing=("libmpi.so.40",))},
        {"none": view, "no program": with_(mpi__program="")},
    ),
    "two-mpi-libraries-in-program": Cases(
        {
            "of two kinds": with_(
                mpi__libraries={
                    "libmpi.so.40": "/opt/ompi/lib/libmpi.so.40",
                    "libmpich.so.12": "/opt/mpich/lib/libmpich.so.12",
                }
            ),
            "of two versions": with_(
                mpi__libraries={
                    "libmpi.so.40": "/opt/ompi/lib/libmpi.so.40",
                    "libmpi_cxx.so.40": "/usr/lib/libmpi_cxx.so.40",
                }
            ),
        },
        {
            "one": view,
            "both of one": with_(
                mpi__libraries={
                    "libmpi.so.40": "/lib/x/libmpi.so.40",
                    "libmpi_cxx.so.40": "/usr/lib/x/libmpi_cxx.so.40",
                    "libmpi_gtl_cuda.so": "/opt/gtl/libmpi_gtl_cuda.so",
                }
            ),
            "no program": with_(mpi__program=""),
        },
    ),
    "launcher-of-another-mpi": Cases(
        {"MPICH's": with_(mpi__launchers=(MPICH, OPEN_MPI_5)), "Cray": cray()},
        {
            "its own": view,
            "Cray MPICH and hydra": cray(mpi__launchers=(MPICH,)),
            "none": with_(mpi__launchers=()),
            "one that does not say": with_(mpi__launchers=(MpiLauncher("/bin/mpirun", "", ""),)),
            "no library": with_(mpi__library=None),
        },
    ),
    "launcher-of-another-version": Cases(
        {
            "4.1": with_(
                mpi__library=MpiLibrary("/usr/lib/libmpi.so.40", "Open MPI v4.1.4", "openmpi")
            )
        },
        {
            "the same": view,
            "a patch": with_(mpi__library=MpiLibrary("/l", "Open MPI v5.0.3", "openmpi")),
            "MPICH": cray(),
            "no launcher": with_(mpi__launchers=()),
        },
    ),
    "several-mpi-libraries": Cases(
        {
            "launchers": with_(mpi__launchers=(OPEN_MPI_5, MPICH)),
            "libraries": with_(mpi__others=("/opt/other/lib/libmpi.so.40",)),
        },
        {"one": view},
    ),
    "srun-cannot-start-open-mpi": Cases(
        {"pmi2": with_(mpi__pmix="MPI plugin types are...\n\tnone\n\tpmi2\n")},
        {"pmix": with_(mpi__pmix="\tpmi2\n\tpmix\n"), "no allocation": view, "MPICH": cray()},
    ),
    "mpi-without-gpu-support": Cases(
        {
            "CUDA": with_(mpi__open_mpi__gpu_support="false"),
            "ROCm": with_(devices=AMD),
        },
        {
            "it has": view,
            "it does not say": with_(mpi__open_mpi__gpu_support=""),
            "no GPU": with_(devices=NO_GPU, mpi__open_mpi__gpu_support="false"),
            "MPICH": cray(),
        },
    ),
    "mpi-component-not-loaded": Cases(
        {
            "CUDA": with_(
                mpi__open_mpi__unloadable={"accelerator_cuda": "libcuda.so.1: cannot open"}
            )
        },
        {
            "none": view,
            "of something else": with_(mpi__open_mpi__unloadable={"mtl_psm2": "libpsm2.so.2: no"}),
            "no GPU": with_(devices=NO_GPU, mpi__open_mpi__unloadable={"accelerator_cuda": "no"}),
            "MPICH": cray(),
        },
    ),
    "open-mpi-gpu-support-off": Cases(
        {
            "Open MPI 5": on("OMPI_MCA_accelerator", "null"),
            "Open MPI 4": on("OMPI_MCA_opal_cuda_support", "0"),
            "all but": on("OMPI_MCA_accelerator", "^cuda"),
        },
        {
            "nothing": view,
            "CUDA": on("OMPI_MCA_accelerator", "cuda"),
            "no GPU": on("OMPI_MCA_accelerator", "null", devices=NO_GPU),
            "MPICH": cray({"OMPI_MCA_accelerator": "null"}),
        },
    ),
    "gpu-transport-layer-not-linked": Cases(
        {"none": cray()},
        {
            "linked": cray(mpi__gpu_layer="libmpi_gtl_cuda.so"),
            "no GPU": cray(devices=NO_GPU),
            "Open MPI": view,
        },
    ),
    "btl-uct-beside-ucx": Cases(
        {
            "it is used": with_(
                mpi__open_mpi__components=UCT,
                mpi__open_mpi__values={"btl_uct_memory_domains": "mlx5_0,mlx4_0"},
            )
        },
        {
            "no btl uct": view,
            "no domains": with_(
                mpi__open_mpi__components=UCT,
                mpi__open_mpi__values={"btl_uct_memory_domains": "none"},
            ),
            "left out": on(
                "OMPI_MCA_btl",
                "^uct",
                mpi__open_mpi__components=UCT,
                mpi__open_mpi__values={"btl_uct_memory_domains": "mlx5_0"},
            ),
            "left out by a file": with_(
                mpi__open_mpi__components=UCT,
                mpi__open_mpi__values={"btl": "^uct", "btl_uct_memory_domains": "mlx5_0"},
                mpi__open_mpi__from_files=(FileSetting("btl", "^uct", "/etc/x.conf:1"),),
            ),
            "MPICH": cray(),
        },
    ),
    "btl-openib-beside-ucx": Cases(
        {"built": with_(mpi__open_mpi__components=OPENIB)},
        {
            "not built": view,
            "left out": on("OMPI_MCA_btl", "^openib", mpi__open_mpi__components=OPENIB),
            "no adapter": with_(devices=NO_RDMA, mpi__open_mpi__components=OPENIB),
            "MPICH": cray(),
        },
    ),
    "ucx-without-gpu-support": Cases(
        {
            "no module": with_(ucx__modules=("uct_ib",), ucx__transports=("tcp", "rc_mlx5")),
            "ROCm": with_(devices=AMD),
            "a module that does nothing": with_(ucx__transports=("tcp",)),
        },
        {
            "it has": view,
            "ucx_info sees them": with_(ucx__modules=None),
            "nothing is seen": with_(ucx__modules=None, ucx__transports=None),
            "no GPU": with_(devices=NO_GPU, ucx__modules=(), ucx__transports=()),
            "no UCX": with_(ucx=UcxView()),
            "ob1": on("OMPI_MCA_pml", "ob1", ucx__modules=(), ucx__transports=()),
        },
    ),
    "ucx-module-not-loaded": Cases(
        {
            "gdrcopy": with_(ucx__missing={"uct_cuda_gdrcopy": ("libgdrapi.so.2",)}),
            "InfiniBand": with_(ucx__missing={"uct_ib": ("libibverbs.so.1",)}),
        },
        {
            "all are found": view,
            "no GPU": with_(devices=NO_GPU, ucx__missing={"uct_cuda": ("libcuda.so.1",)}),
            "ob1": on("OMPI_MCA_pml", "ob1", ucx__missing={"uct_ib": ("libibverbs.so.1",)}),
            "another GPU": with_(ucx__missing={"uct_rocm": ("libhsa-runtime64.so.1",)}),
            "no UCX": with_(ucx=UcxView()),
        },
    ),
    "ucx-without-gdrcopy": Cases(
        {"none": with_(ucx__modules=("uct_ib", "uct_cuda"))},
        {
            "it has": view,
            "AMD": with_(devices=AMD),
            "no GPU": with_(devices=NO_GPU),
            "ob1": on("OMPI_MCA_pml", "ob1", ucx__modules=("uct_cuda",)),
            "nothing is seen": with_(ucx__modules=None),
        },
    ),
    "ucx-without-rdma": Cases(
        {"none": with_(ucx__modules=("uct_cuda",))},
        {
            "it has": view,
            "no adapter": with_(devices=NO_RDMA, ucx__modules=("uct_cuda",)),
            "no UCX": with_(ucx=UcxView()),
            "nothing is seen": with_(ucx__modules=None),
        },
    ),
    "ucx-refused": Cases(
        {"asked for": on("OMPI_MCA_pml", "ucx", devices=NO_GPU)},
        {
            "an adapter": on("OMPI_MCA_pml", "ucx"),
            "a GPU": on("OMPI_MCA_pml", "ucx", devices=NO_RDMA),
            "not asked for": with_(devices=NO_GPU),
            "over anything": lambda: view(
                {
                    "OMPI_MCA_pml": "ucx",
                    "OMPI_MCA_opal_common_ucx_tls": "any",
                    "OMPI_MCA_opal_common_ucx_devices": "any",
                },
                devices=NO_GPU,
            ),
            "MPICH": cray(),
        },
    ),
    "ucx-info-of-another-ucx": Cases(
        {"another": with_(ucx__why_not_seen="ucx_info is that of another UCX")},
        {
            "its own": view,
            "none": with_(ucx__why_not_seen="ucx_info: not installed"),
            "no UCX": with_(ucx=UcxView()),
        },
    ),
    "locked-memory-limited": Cases(
        {"64 KiB": with_(limits__locked_memory=limit(65536, 65536))},
        {
            "unlimited": view,
            "no adapter": with_(devices=NO_RDMA, limits__locked_memory=limit(65536)),
            "unknown": with_(limits__locked_memory=None),
        },
    ),
    "shared-memory-small": Cases(
        {
            "a container's": with_(
                limits__shared_memory=SharedMemory(64 * 2**20, 64 * 2**20, "shm", True)
            ),
            "full": with_(limits__shared_memory=SharedMemory(GIB, 0, "tmpfs", True)),
        },
        {"large": view, "unknown": with_(limits__shared_memory=None)},
    ),
    "shared-memory-not-writable": Cases(
        {"no": with_(limits__shared_memory=SharedMemory(GIB, GIB, "tmpfs", is_writable=False))},
        {"yes": view, "unknown": with_(limits__shared_memory=None)},
    ),
    "open-files-limited": Cases(
        {
            "256": with_(limits__open_files=limit(256, 4096)),
            "a low limit for good": with_(limits__open_files=limit(256, 256)),
        },
        {"many": view, "unknown": with_(limits__open_files=None)},
    ),
    "stack-small": Cases(
        {"1 MiB": with_(limits__stack=limit(2**20))},
        {
            "8 MiB": view,
            "unlimited": with_(limits__stack=limit(None)),
            "unknown": with_(limits__stack=None),
        },
    ),
    "address-space-limited": Cases(
        {"8 GiB": with_(limits__address_space=limit(8 * GIB))},
        {"unlimited": view, "unknown": with_(limits__address_space=None)},
    ),
    "processes-limited": Cases(
        {"100": with_(limits__processes=limit(100))},
        {"many": view, "unknown": with_(limits__processes=None)},
    ),
    "memory-limited": Cases(
        {"used up": with_(limits__cgroup_memory=CgroupMemory(4 * GIB, 4 * GIB - 1, "memory.max"))},
        {
            "not limited": view,
            "much is free": with_(limits__cgroup_memory=CgroupMemory(64 * GIB, GIB, "memory.max")),
        },
    ),
    "misspelt-setting": Cases(
        {
            "UCX": with_(ucx__unknown=(NEAR,)),
            "NCCL": with_(nccl__unknown=(NEAR,)),
            "Open MPI": with_(mpi__open_mpi__unknown=(NEAR,)),
        },
        {"none": view, "nothing like it": with_(ucx__unknown=(FAR,))},
    ),
    "setting-of-no-library": Cases(
        {"UCX": with_(ucx__unknown=(FAR,))},
        {"none": view, "misspelt": with_(ucx__unknown=(NEAR,))},
    ),
    "ucx-tls-without-gpu": Cases(
        {
            "a list": on("UCX_TLS", "self,sm,rc"),
            "all but": on("UCX_TLS", "^cuda"),
            "all but its copies": on("UCX_TLS", "^cuda_copy"),
            "IPC alone": on("UCX_TLS", "sm,cuda_ipc"),
            "AMD": on("UCX_TLS", "sm,cuda", devices=AMD),
        },
        {
            "nothing": view,
            "all": on("UCX_TLS", "all"),
            "cuda": on("UCX_TLS", "rc,sm,cuda"),
            "cuda_copy": on("UCX_TLS", "rc,cuda_copy,cuda_ipc"),
            "all but gdr_copy": on("UCX_TLS", "^gdr_copy"),
            "AMD": on("UCX_TLS", "sm,rocm", devices=AMD),
            "no GPU": on("UCX_TLS", "sm", devices=NO_GPU),
            "no UCX": on("UCX_TLS", "sm", ucx=UcxView()),
        },
    ),
    "ucx-tls-tcp-only": Cases(
        {"alone": on("UCX_TLS", "tcp"), "with self": on("UCX_TLS", "tcp,self,cuda_copy")},
        {
            "nothing": view,
            "with sm": on("UCX_TLS", "tcp,sm"),
            "without tcp": on("UCX_TLS", "self,cuda_copy"),
            "ob1": lambda: view({"UCX_TLS": "tcp", "OMPI_MCA_pml": "ob1"}),
        },
    ),
    "ucx-memtype-cache-on": Cases(
        {"y": on("UCX_MEMTYPE_CACHE", "y")},
        {
            "n": on("UCX_MEMTYPE_CACHE", "n"),
            "nothing": view,
            "no GPU": on("UCX_MEMTYPE_CACHE", "y", devices=NO_GPU),
        },
    ),
    "ucx-gpu-direct-off": Cases(
        {
            "GPUDirect RDMA": on("UCX_IB_GPU_DIRECT_RDMA", "0"),
            "gdrcopy": on("UCX_TLS", "^gdr_copy"),
        },
        {
            "nothing": view,
            "on": on("UCX_IB_GPU_DIRECT_RDMA", "1"),
            "no adapter": on("UCX_IB_GPU_DIRECT_RDMA", "n", devices=NO_RDMA),
            "no gdrcopy": on("UCX_TLS", "^gdr_copy", ucx__modules=("uct_cuda",)),
            "AMD": on("UCX_IB_GPU_DIRECT_RDMA", "n", devices=AMD),
        },
    ),
    "cuda-launch-blocking": Cases(
        {"CUDA": on("CUDA_LAUNCH_BLOCKING", "1")},
        {
            "off": on("CUDA_LAUNCH_BLOCKING", "0"),
            "nothing": view,
            "no GPU": on("CUDA_LAUNCH_BLOCKING", "1", devices=NO_GPU),
        },
    ),
    "mpich-gpu-support-off": Cases(
        {"not set": cray(), "off": cray({"MPICH_GPU_SUPPORT_ENABLED": "0"})},
        {
            "on": cray({"MPICH_GPU_SUPPORT_ENABLED": "1"}),
            "no GPU": cray(devices=NO_GPU),
            "Open MPI": view,
        },
    ),
    "ucx-settings-without-ucx": Cases(
        {
            "ob1": lambda: view({"UCX_RNDV_THRESH": "8192", "OMPI_MCA_pml": "ob1"}),
            "no adapter": on("UCX_RNDV_THRESH", "8192", devices=NO_RDMA),
        },
        {"nothing": view, "UCX": on("UCX_RNDV_THRESH", "8192"), "MPICH": cray({"UCX_TLS": "all"})},
    ),
    "btl-settings-without-ob1": Cases(
        {"both": lambda: view({"OMPI_MCA_pml": "ucx", "OMPI_MCA_btl": "self,sm"})},
        {
            "nothing": view,
            "ob1": lambda: view({"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,sm"}),
            "to be safe": lambda: view({"OMPI_MCA_pml": "ucx", "OMPI_MCA_btl": "^openib,uct"}),
            "MPICH": cray(),
        },
    ),
    "btl-list-incomplete": Cases(
        {
            "no self": lambda: view({"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "sm,smcuda"}),
            "TCP alone": on("OMPI_MCA_btl", "self,tcp", devices=NO_GPU),
            "no smcuda": on("OMPI_MCA_btl", "self,sm", devices=NO_RDMA),
            "a file": with_(
                devices=NO_GPU,
                mpi__open_mpi__from_files=(FileSetting("btl", "self,tcp", "/etc/x.conf:1"),),
            ),
        },
        {
            "nothing": view,
            "all but": on("OMPI_MCA_btl", "^tcp", devices=NO_GPU),
            "enough": on("OMPI_MCA_btl", "self,vader,tcp", devices=NO_GPU),
            "smcuda": on("OMPI_MCA_btl", "self,smcuda", devices=NO_RDMA),
            "UCX": on("OMPI_MCA_btl", "self"),
            "MPICH": cray({"OMPI_MCA_btl": "self"}),
        },
    ),
    "more-threads-than-cores": Cases(
        {"64 on 32": on("OMP_NUM_THREADS", "64")},
        {
            "not set": view,
            "fewer": on("OMP_NUM_THREADS", "8"),
            "no number": on("OMP_NUM_THREADS", "many"),
            "cores are unknown": on("OMP_NUM_THREADS", "64", limits__cores=""),
        },
    ),
    "nccl-p2p-disabled": Cases(
        {
            "a variable": on("NCCL_P2P_DISABLE", "1"),
            "a level": on("NCCL_P2P_LEVEL", "LOC"),
            "a file": with_(
                nccl__from_files=(FileSetting("NCCL_P2P_DISABLE", "1", "/etc/nccl.conf:3"),)
            ),
        },
        {
            "nothing": view,
            "0": on("NCCL_P2P_DISABLE", "0"),
            "a variable above a file": on(
                "NCCL_P2P_DISABLE",
                "0",
                nccl__from_files=(FileSetting("NCCL_P2P_DISABLE", "1", "/etc/nccl.conf:3"),),
            ),
            "one GPU": on("NCCL_P2P_DISABLE", "1", devices=DeviceView(nvidia_gpus=1)),
        },
    ),
    "nccl-shm-disabled": Cases(
        {"1": on("NCCL_SHM_DISABLE", "1")},
        {"nothing": view, "one GPU": on("NCCL_SHM_DISABLE", "1", devices=NO_GPU)},
    ),
    "nccl-ib-disabled": Cases(
        {"1": on("NCCL_IB_DISABLE", "1"), "sockets": on("NCCL_NET", "Socket")},
        {"nothing": view, "no adapter": on("NCCL_IB_DISABLE", "1", devices=NO_RDMA)},
    ),
    "nccl-debug-on": Cases(
        {"INFO": on("NCCL_DEBUG", "info")},
        {
            "nothing": view,
            "WARN": on("NCCL_DEBUG", "WARN"),
            "no GPU": on("NCCL_DEBUG", "INFO", devices=NO_GPU),
        },
    ),
    "nodes-missing": Cases(
        {"one of two": lambda: DoctorView([SOUND], nodes=2)},
        {
            "one node": view,
            "both": lambda: DoctorView(list(two(SOUND).machines), nodes=2),
        },
    ),
    "nodes-differ-in-libraries": Cases(
        {"UCX": lambda: two(machine(ucx__version="1.13.1"))},
        {"one node": view, "the same": lambda: two(SOUND)},
    ),
    "nodes-differ-in-settings": Cases(
        {
            "a variable": lambda: two(machine({"UCX_TLS": "sm,cuda"})),
            "a file": lambda: two(
                machine(mpi__open_mpi__from_files=(FileSetting("pml", "ob1", "/etc/x.conf:1"),))
            ),
        },
        {
            "one node": view,
            "the same": lambda: two(SOUND),
            "of a node": lambda: two(machine({"CUDA_VISIBLE_DEVICES": "0,1"})),
        },
    ),
    "nodes-differ-in-limits": Cases(
        {"locked memory": lambda: two(machine(limits__locked_memory=limit(65536)))},
        {"one node": view, "the same": lambda: two(SOUND)},
    ),
    "nodes-differ-in-devices": Cases(
        {"a GPU": lambda: two(machine(devices=DeviceView(nvidia_gpus=1, rdma=("mlx5_0",))))},
        {"one node": view, "the same": lambda: two(SOUND)},
    ),
    "one-gpu-visible": Cases(
        {
            "by a wrapper": lambda: placed((0, "GPU-a"), (0, "GPU-b")),
            "by a variable": on("CUDA_VISIBLE_DEVICES", "1"),
        },
        {
            "all": lambda: placed((0, "GPU-a"), (1, "GPU-b")),
            "one GPU for both": lambda: placed((0, "GPU-a"), (0, "GPU-a")),
            "both": on("CUDA_VISIBLE_DEVICES", "0,1"),
            "one GPU": on("CUDA_VISIBLE_DEVICES", "0", devices=DeviceView(nvidia_gpus=1)),
        },
    ),
    "ranks-are-alone": Cases(
        {"alone": lambda: ran(failures=[ALONE])},
        {"together": ran, "another failure": lambda: ran(failures=[CRASH]), "no runs": view},
    ),
    "short-run-fails": Cases(
        {"a crash": lambda: ran(failures=[CRASH])},
        {
            "none": ran,
            "alone": lambda: ran(failures=[ALONE]),
            "slow": lambda: ran(failures=[SLOW]),
            "MPI does not start": lambda: ran(
                failures=[CRASH], verdict=Verdict(GpuSupport.BROKEN, "MPI_Init failed.")
            ),
            "no runs": view,
        },
    ),
    "short-run-slow": Cases(
        {"slow": lambda: ran(failures=[SLOW])},
        {"none": ran, "a crash": lambda: ran(failures=[CRASH]), "no runs": view},
    ),
    "mpi-fails-on-gpu-memory": Cases(
        {
            "with a fix": lambda: ran(
                verdict=Verdict(NOT_SET_UP, "MPI_Send crashed.", {"UCX_MEMTYPE_CACHE": "n"})
            ),
            "without": lambda: ran(verdict=Verdict(NOT_SET_UP, "It does not take it.")),
        },
        {
            "it takes it": lambda: ran(verdict=Verdict(GpuSupport.SUPPORTED)),
            "not tried": ran,
            "no runs": view,
        },
    ),
}
