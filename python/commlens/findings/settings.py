"""Which variables steer the library that carries a record's bytes. A library is one entry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from commlens.findings.disturbance import is_on_gpu
from commlens.model import Record


@dataclass(frozen=True)
class Library:
    carries: Callable[[Record], bool]
    switch: str  # the variable by which a message's size decides over the protocol
    values: tuple[str, str]  # two of it that are worth a comparison


def _mpi(record: Record) -> str:
    return record.start.mpi.lower()


def _variable(record: Record, name: str) -> str:
    return record.start.environment.get(name, "")


def _is_on_gpu(record: Record) -> bool:
    """Whether MPI sees GPU memory, which `staged` has brought to the host before."""
    return record.transport != "staged" and is_on_gpu(record.memory)


def _major(record: Record) -> str:
    """`5` of `Open MPI 5.0.7`"""
    return record.start.mpi.rpartition(" ")[2].lstrip("v").partition(".")[0]


# The first that carries them is the one.
_LIBRARIES: Sequence[Library] = (
    Library(lambda one: one.transport == "ccl", "NCCL_PROTO", ("LL128", "Simple")),
    Library(
        lambda one: _variable(one, "OMPI_MCA_pml") == "ucx", "UCX_RNDV_THRESH", ("4096", "inf")
    ),
    Library(
        lambda one: "open mpi" in _mpi(one) and _is_on_gpu(one),
        "OMPI_MCA_btl_smcuda_eager_limit",
        ("4096", "65536"),
    ),
    Library(
        lambda one: "open mpi" in _mpi(one) and _major(one) == "4",
        "OMPI_MCA_btl_vader_eager_limit",
        ("4096", "65536"),
    ),
    Library(lambda one: "open mpi" in _mpi(one), "OMPI_MCA_btl_sm_eager_limit", ("4096", "65536")),
    Library(
        lambda one: "cray" in _mpi(one) and one.start.nodes > 1,
        "FI_CXI_RDZV_THRESHOLD",
        ("4096", "65536"),
    ),
    Library(
        lambda one: "cray" in _mpi(one) and _is_on_gpu(one),
        "MPICH_GPU_IPC_THRESHOLD",
        ("1024", "65536"),
    ),
    Library(lambda one: "cray" in _mpi(one), "MPICH_SMP_SINGLE_COPY_SIZE", ("1024", "65536")),
)


def library_of(record: Record) -> Library | None:
    """None where the library is none that we know the variables of."""
    return next((one for one in _LIBRARIES if one.carries(record)), None)


def switches() -> list[str]:
    """The variables of all libraries, each once."""
    return list(dict.fromkeys(one.switch for one in _LIBRARIES))
