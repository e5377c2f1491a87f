"""A machine as checks see it, in a form that other nodes can send."""

from __future__ import annotations

import platform

import msgspec

from commlens.machine import cpus, gpu_drivers, kernel, libraries, links, mpi, nics
from commlens.machine.cpus import CpuView
from commlens.machine.gpus import DeviceView, GpuView, count_devices
from commlens.machine.kernel import KernelView, LimitView
from commlens.machine.links import LinkView
from commlens.machine.messaging import NcclView, UcxView, look_at_nccl, look_at_ucx
from commlens.machine.mpi import MpiView
from commlens.machine.nics import NicView
from commlens.machine.system import System


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
    mpi_view = mpi.look(system, program)
    return Machine(
        host=platform.node(),
        devices=count_devices(system),
        gpus=gpu_drivers.look(system),
        links=links.look(system),
        nics=nics.look(system),
        cpus=cpus.look(system),
        kernel=kernel.look(system),
        limits=kernel.look_at_limits(system),
        mpi=mpi_view,
        ucx=look_at_ucx(system, mpi_view),
        nccl=look_at_nccl(system, mpi_view),
        environment=libraries.communication_variables(system),
    )
