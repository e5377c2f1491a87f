"""Cases of rules on limits and on variables of the environment."""

from __future__ import annotations

from commlens.machine.cpus import CpuView
from commlens.machine.gpus import DeviceView
from commlens.machine.limits import CgroupMemory, SharedMemory
from commlens.machine.settings import FileSetting
from commlens.machine.ucx import UcxView
from sound_machine import AMD, FAR, GIB, NEAR, NO_GPU, NO_RDMA, Cases, cray, limit, on, view, with_

CASES: dict[str, Cases] = {
    "locked-memory-limited": Cases(
        {"64 KiB": with_(limits__locked_memory=limit(65536, 65536))},
        {
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
        {"unknown": with_(limits__shared_memory=None)},
    ),
    "shared-memory-not-writable": Cases(
        {"no": with_(limits__shared_memory=SharedMemory(GIB, GIB, "tmpfs", is_writable=False))},
        {"unknown": with_(limits__shared_memory=None)},
    ),
    "open-files-limited": Cases(
        {
            "256": with_(limits__open_files=limit(256, 4096)),
            "a low limit for good": with_(limits__open_files=limit(256, 256)),
        },
        {"unknown": with_(limits__open_files=None)},
    ),
    "stack-small": Cases(
        {"1 MiB": with_(limits__stack=limit(2**20))},
        {"unlimited": with_(limits__stack=limit(None)), "unknown": with_(limits__stack=None)},
    ),
    "address-space-limited": Cases(
        {"8 GiB": with_(limits__address_space=limit(8 * GIB))},
        {"unknown": with_(limits__address_space=None)},
    ),
    "processes-limited": Cases(
        {"100": with_(limits__processes=limit(100))}, {"unknown": with_(limits__processes=None)}
    ),
    "memory-limited": Cases(
        {"used up": with_(limits__cgroup_memory=CgroupMemory(4 * GIB, 4 * GIB - 1, "memory.max"))},
        {"much is free": with_(limits__cgroup_memory=CgroupMemory(64 * GIB, GIB, "memory.max"))},
    ),
    "misspelt-setting": Cases(
        {
            "UCX": with_(ucx__unknown=(NEAR,)),
            "NCCL": with_(nccl__unknown=(NEAR,)),
            "Open MPI": with_(mpi__open_mpi__unknown=(NEAR,)),
        },
        {"nothing like it": with_(ucx__unknown=(FAR,))},
    ),
    "setting-of-no-library": Cases(
        {"UCX": with_(ucx__unknown=(FAR,))}, {"misspelt": with_(ucx__unknown=(NEAR,))}
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
            "with sm": on("UCX_TLS", "tcp,sm"),
            "without tcp": on("UCX_TLS", "self,cuda_copy"),
            "ob1": lambda: view({"UCX_TLS": "tcp", "OMPI_MCA_pml": "ob1"}),
        },
    ),
    "ucx-memtype-cache-on": Cases(
        {"y": on("UCX_MEMTYPE_CACHE", "y")},
        {"n": on("UCX_MEMTYPE_CACHE", "n"), "no GPU": on("UCX_MEMTYPE_CACHE", "y", devices=NO_GPU)},
    ),
    "ucx-gpu-direct-off": Cases(
        {
            "GPUDirect RDMA": on("UCX_IB_GPU_DIRECT_RDMA", "0"),
            "gdrcopy": on("UCX_TLS", "^gdr_copy"),
        },
        {
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
            "no GPU": on("CUDA_LAUNCH_BLOCKING", "1", devices=NO_GPU),
        },
    ),
    "mpich-gpu-support-off": Cases(
        {"not set": cray(), "off": cray({"MPICH_GPU_SUPPORT_ENABLED": "0"})},
        {"on": cray({"MPICH_GPU_SUPPORT_ENABLED": "1"}), "no GPU": cray(devices=NO_GPU)},
    ),
    "ucx-settings-without-ucx": Cases(
        {
            "ob1": lambda: view({"UCX_RNDV_THRESH": "8192", "OMPI_MCA_pml": "ob1"}),
            "no adapter": on("UCX_RNDV_THRESH", "8192", devices=NO_RDMA),
        },
        {"UCX": on("UCX_RNDV_THRESH", "8192"), "MPICH": cray({"UCX_TLS": "all"})},
    ),
    "btl-settings-without-ob1": Cases(
        {"both": lambda: view({"OMPI_MCA_pml": "ucx", "OMPI_MCA_btl": "self,sm"})},
        {
            "ob1": lambda: view({"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,sm"}),
            "to be safe": lambda: view({"OMPI_MCA_pml": "ucx", "OMPI_MCA_btl": "^openib,uct"}),
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
            "fewer": on("OMP_NUM_THREADS", "8"),
            "no number": on("OMP_NUM_THREADS", "many"),
            "cores are unknown": on("OMP_NUM_THREADS", "64", cpus=CpuView()),
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
        {"1": on("NCCL_SHM_DISABLE", "1")}, {"one GPU": on("NCCL_SHM_DISABLE", "1", devices=NO_GPU)}
    ),
    "nccl-ib-disabled": Cases(
        {"1": on("NCCL_IB_DISABLE", "1"), "sockets": on("NCCL_NET", "Socket")},
        {"no adapter": on("NCCL_IB_DISABLE", "1", devices=NO_RDMA)},
    ),
    "nccl-debug-on": Cases(
        {"INFO": on("NCCL_DEBUG", "info")},
        {"WARN": on("NCCL_DEBUG", "WARN"), "no GPU": on("NCCL_DEBUG", "INFO", devices=NO_GPU)},
    ),
}
