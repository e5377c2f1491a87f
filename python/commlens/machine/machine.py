"""A machine as checks see it, in a form that other nodes can send."""

from __future__ import annotations

import platform

import msgspec

from commlens.machine import devices, limits, mpi, nccl, settings, ucx
from commlens.machine.devices import DeviceView
from commlens.machine.limits import LimitView
from commlens.machine.mpi import MpiView
from commlens.machine.nccl import NcclView
from commlens.machine.system import System
from commlens.machine.ucx import UcxView


class Machine(msgspec.Struct, frozen=True):
    host: str
    devices: DeviceView = DeviceView()
    # Place of the views of hardware: gpus, links, nics, cpus, kernel.
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
        devices=devices.look(system),
        # Place of gpus.look(system), and so on.
        limits=limits.look(system),
        mpi=own,
        ucx=ucx.look(system, own),
        nccl=nccl.look(system, own),
        environment=settings.communication(system),
    )
