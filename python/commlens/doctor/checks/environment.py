"""Environment"""

from __future__ import annotations

from collections.abc import Iterator

from commlens.diagnose import Quote, Setting
from commlens.doctor.check import Observed, Seen, check
from commlens.doctor.view import DoctorView
from commlens.machine.machine import Machine
from commlens.machine.settings import Unknown

NO_GPU = "there is no GPU"


def unknown_settings(machine: Machine) -> Iterator[Unknown]:
    yield from machine.ucx.unknown
    yield from machine.nccl.unknown
    if machine.mpi.open_mpi:
        yield from machine.mpi.open_mpi.unknown


@check(
    "misspelt-setting",
    "problem",
    about="environment",
    title="a variable is misspelt",
    looks_at="names of variables for UCX, Open MPI and NCCL that are nearly those of a setting",
    cure="Set {near} instead of {name}.",
)
def misspelt_setting(view: DoctorView) -> Seen:
    for one in unknown_settings(view.machine):
        if one.near:
            yield Observed(
                f"{one.library} knows no {one.name}, which has no effect; {one.near} is meant, "
                "probably",
                Quote("environment", f"{one.name}={one.value}"),
                words={"near": one.near, "name": one.name},
                setting=Setting({one.name: None, one.near: one.value}),
            )
