"""A machine as checks see it, in a form that other nodes can send."""

from __future__ import annotations

import platform

import msgspec

from commlens.machine import (
    amd,
    cpus,
    kernel,
    limits,
    links,
    mpi,
    nccl,
    nics,
    nvidia,
    pci,
    settings,
    ucx,
)
from commlens.machine.cpus import CpuView
from commlens.machine.gpus import DeviceView, GpuView, count_devices
from commlens.machine.kernel import KernelView
from commlens.machine.limits import LimitView
from commlens.machine.links import LinkView
from commlens.machine.mpi import MpiView
from commlens.machine.nccl import NcclView
from commlens.machine.nics import NicView
from commlens.machine.system import System
from commlens.machine.ucx import UcxView


class Machine(msgspec.Struct, frozen=True):
    """All that is known of one node."""

    host: str
    devices: DeviceView = DeviceView()
    gpus: GpuView = GpuView()
    links: LinkView = LinkView()
    nics: NicView = NicView()
    cpus: CpuView = CpuView()
    kernel: KernelView = KernelView()
    limits: LimitView = LimitView()
    mpi: MpiView = MpiView()
    ucx: UcxView = UcxView()
    nccl: NcclView = NcclView()
    environment: dict[str, str] = {}  # of communication, secrets masked


def look(system: System, program: str = "") -> Machine:
    """`program`: the one whose libraries matter."""
    own = mpi.look(system, program)
    return Machine(
        host=platform.node(),
        devices=count_devices(system),
        gpus=look_at_gpus(system),
        links=links.look(system),
        nics=nics.look(system),
        cpus=cpus.look(system),
        kernel=kernel.look(system),
        limits=limits.look(system),
        mpi=own,
        ucx=ucx.look(system, own),
        nccl=nccl.look(system, own),
        environment=settings.communication(system),
    )


def look_at_gpus(system: System) -> GpuView:
    """By the tools of the vendor whose GPUs the bus shows."""
    installed = pci.gpus(system)
    if {one.vendor for one in installed} == {"amd"}:
        return amd.look(system, installed)
    # Where the bus shows none, as in some containers, nvidia-smi may.
    return nvidia.look(system, installed)
