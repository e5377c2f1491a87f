"""Modules of the kernel, and drivers of GPUs."""

from __future__ import annotations

from commlens.findings.finding import Quote
from commlens.findings.rule import Seen, observed
from commlens.findings.view import NotApplicable, not_seen
from commlens.machine.libraries import numbers_in
from commlens.machine.machine import Machine

_PEERMEM_SINCE = (11, 4)  # CUDA: before it, Mellanox's nv_peer_memory
_PEERMEM = ("nvidia_peermem", "nv_peer_mem")


def gpu_driver_silent(machine: Machine) -> Seen:
    gpus = machine.gpus
    why = next(iter(gpus.unseen.values()), "")
    if not gpus.gpus and why.endswith("not installed"):
        raise not_seen(why)
    if not gpus.gpus:
        command, _, said = why.partition(": ")
        yield observed(Quote(command, said))


def nvidia_peermem_missing(machine: Machine) -> Seen:
    if not any(machine.kernel.has(name) for name in _PEERMEM) and not machine.kernel.dmabuf:
        cuda = numbers_in(machine.gpus.cuda)[:2]
        yield observed(which="old" if cuda and cuda < _PEERMEM_SINCE else "")


def nv_peer_memory_deprecated(machine: Machine) -> Seen:
    if machine.kernel.has("nv_peer_mem") and numbers_in(machine.gpus.cuda)[:2] >= _PEERMEM_SINCE:
        yield observed()


def driver_older_than_cuda(machine: Machine) -> Seen:
    gpus = machine.gpus
    driver, toolkit = numbers_in(gpus.cuda), numbers_in(gpus.toolkit)
    if not driver:
        raise NotApplicable(gpus.why_none if not gpus.gpus else "it is no driver of NVIDIA")
    if not toolkit:
        raise NotApplicable("no nvcc is on PATH")
    # Within a major version a newer toolkit's programs run on an older driver.
    if toolkit[0] > driver[0]:
        yield observed()
