"""Cases of rules on MPI, UCX and their launchers."""

from __future__ import annotations

from commlens.machine.mpi import MpiLauncher, MpiLibrary
from commlens.machine.settings import FileSetting
from commlens.machine.ucx import UcxView
from sound_machine import (
    AMD,
    MPICH,
    NO_GPU,
    NO_RDMA,
    OPEN_MPI_5,
    OPENIB,
    UCT,
    Cases,
    cray,
    on,
    view,
    with_,
)

CASES: dict[str, Cases] = {
    "library-not-found": Cases(
        {"one": with_(mpi__missing=("libmpi.so.40",))}, {"no program": with_(mpi__program="")}
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
            "a patch": with_(mpi__library=MpiLibrary("/l", "Open MPI v5.0.3", "openmpi")),
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
        {"pmix": with_(mpi__pmix="\tpmi2\n\tpmix\n")},
    ),
    "mpi-without-gpu-support": Cases(
        {"CUDA": with_(mpi__open_mpi__gpu_support="false"), "ROCm": with_(devices=AMD)},
        {
            "it does not say": with_(mpi__open_mpi__gpu_support=""),
            "no GPU": with_(devices=NO_GPU, mpi__open_mpi__gpu_support="false"),
        },
    ),
    "mpi-component-not-loaded": Cases(
        {
            "CUDA": with_(
                mpi__open_mpi__unloadable={"accelerator_cuda": "libcuda.so.1: cannot open"}
            )
        },
        {
            "of something else": with_(mpi__open_mpi__unloadable={"mtl_psm2": "libpsm2.so.2: no"}),
            "no GPU": with_(devices=NO_GPU, mpi__open_mpi__unloadable={"accelerator_cuda": "no"}),
        },
    ),
    "open-mpi-gpu-support-off": Cases(
        {
            "Open MPI 5": on("OMPI_MCA_accelerator", "null"),
            "Open MPI 4": on("OMPI_MCA_opal_cuda_support", "0"),
            "all but": on("OMPI_MCA_accelerator", "^cuda"),
        },
        {
            "CUDA": on("OMPI_MCA_accelerator", "cuda"),
            "no GPU": on("OMPI_MCA_accelerator", "null", devices=NO_GPU),
            "MPICH": cray({"OMPI_MCA_accelerator": "null"}),
        },
    ),
    "gpu-transport-layer-not-linked": Cases(
        {"none": cray()},
        {"linked": cray(mpi__gpu_layer="libmpi_gtl_cuda.so"), "no GPU": cray(devices=NO_GPU)},
    ),
    "btl-uct-beside-ucx": Cases(
        {
            "it is used": with_(
                mpi__open_mpi__components=UCT,
                mpi__open_mpi__values={"btl_uct_memory_domains": "mlx5_0,mlx4_0"},
            )
        },
        {
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
        },
    ),
    "btl-openib-beside-ucx": Cases(
        {"built": with_(mpi__open_mpi__components=OPENIB)},
        {
            "left out": on("OMPI_MCA_btl", "^openib", mpi__open_mpi__components=OPENIB),
            "no adapter": with_(devices=NO_RDMA, mpi__open_mpi__components=OPENIB),
        },
    ),
    "ucx-without-gpu-support": Cases(
        {
            "no module": with_(ucx__modules=("uct_ib",), ucx__transports=("tcp", "rc_mlx5")),
            "ROCm": with_(devices=AMD),
            "a module that does nothing": with_(ucx__transports=("tcp",)),
        },
        {
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
            "no GPU": with_(devices=NO_GPU, ucx__missing={"uct_cuda": ("libcuda.so.1",)}),
            "ob1": on("OMPI_MCA_pml", "ob1", ucx__missing={"uct_ib": ("libibverbs.so.1",)}),
            "another GPU": with_(ucx__missing={"uct_rocm": ("libhsa-runtime64.so.1",)}),
            "no UCX": with_(ucx=UcxView()),
        },
    ),
    "ucx-without-gdrcopy": Cases(
        {"none": with_(ucx__modules=("uct_ib", "uct_cuda"))},
        {
            "AMD": with_(devices=AMD),
            "no GPU": with_(devices=NO_GPU),
            "ob1": on("OMPI_MCA_pml", "ob1", ucx__modules=("uct_cuda",)),
            "nothing is seen": with_(ucx__modules=None),
        },
    ),
    "ucx-without-rdma": Cases(
        {"none": with_(ucx__modules=("uct_cuda",))},
        {
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
        },
    ),
    "ucx-info-of-another-ucx": Cases(
        {"another": with_(ucx__why_not_seen="ucx_info is that of another UCX")},
        {
            "none": with_(ucx__why_not_seen="ucx_info: not installed"),
            "no UCX": with_(ucx=UcxView()),
        },
    ),
}
