"""Environment: NCCL and RCCL"""

from __future__ import annotations

from commlens.findings import Setting
from commlens.findings.check import NotApplicable, Observed, Seen, check
from commlens.findings.machine_view import DoctorView
from commlens.findings.selection import NCCL_MESSAGE, gpu_kind, is_no, nccl_setting
from commlens.machine.machine import Machine

_TWO_GPUS = "there are no 2 GPUs"


def _is_set(value: str) -> bool:
    return bool(value) and not is_no(value)


def _off(name: str) -> Setting:
    return Setting({name: "0"}, shown_by=NCCL_MESSAGE)


@check(
    "nccl-p2p-disabled",
    "problem",
    about="environment",
    title="NCCL may not copy from GPU to GPU",
    looks_at="NCCL_P2P_DISABLE, NCCL_P2P_LEVEL=LOC",
    fix="`unset {name}`. It was set once to work around a hang: that is an IOMMU or ACS in the "
    "way of the GPUs, or GPUs that are hidden from each other.",
)
def nccl_p2p_disabled(view: DoctorView) -> Seen:
    if view.machine.devices.gpus < 2:
        yield NotApplicable(_TWO_GPUS)
        return
    for name, is_off, fixed in (
        ("NCCL_P2P_DISABLE", _is_set, "0"),
        ("NCCL_P2P_LEVEL", lambda value: value in ("LOC", "0"), "SYS"),
    ):
        value, quote = nccl_setting(view.machine, name)
        if is_off(value):
            yield Observed(
                f"{quote.line} keeps NCCL from copying between the {view.machine.devices.gpus} "
                "GPUs directly: all data pass through host memory",
                quote,
                words={"name": name},
                setting=Setting({name: fixed}, shown_by=NCCL_MESSAGE),
            )


@check(
    "nccl-shm-disabled",
    "problem",
    about="environment",
    title="NCCL may not use shared memory",
    looks_at="NCCL_SHM_DISABLE",
    fix="`unset NCCL_SHM_DISABLE`; if NCCL fails then, /dev/shm is too small.",
)
def nccl_shm_disabled(view: DoctorView) -> Seen:
    if view.machine.devices.gpus < 2:
        yield NotApplicable(_TWO_GPUS)
        return
    value, quote = nccl_setting(view.machine, "NCCL_SHM_DISABLE")
    if _is_set(value):
        yield Observed(
            f"{quote.line} makes NCCL use the network within a node, wherever 2 GPUs cannot copy "
            "directly",
            quote,
            setting=_off("NCCL_SHM_DISABLE"),
        )


@check(
    "nccl-ib-disabled",
    "problem",
    about="environment",
    title="NCCL may not use the RDMA adapter",
    looks_at="NCCL_IB_DISABLE, NCCL_NET=Socket, where there is an RDMA adapter",
    fix="`unset {name}`.",
)
def nccl_ib_disabled(view: DoctorView) -> Seen:
    rdma = view.machine.devices.rdma
    if not gpu_kind(view.machine) or not rdma:
        yield NotApplicable("there is no RDMA adapter, or no GPU")
        return
    for name, is_off in (
        ("NCCL_IB_DISABLE", _is_set),
        ("NCCL_NET", lambda value: value.lower() == "socket"),
    ):
        value, quote = nccl_setting(view.machine, name)
        if is_off(value):
            yield Observed(
                f"{quote.line} makes NCCL use TCP between nodes, though there is {rdma[0]} "
                f"({len(rdma)} in all)",
                quote,
                words={"name": name},
                setting=Setting({name: None}),
            )


@check(
    "nccl-debug-on",
    "advice",
    about="environment",
    title="NCCL writes what it does",
    looks_at="NCCL_DEBUG=INFO or TRACE",
    fix="NCCL_DEBUG=WARN, or `unset NCCL_DEBUG`, when you have seen enough.",
)
def nccl_debug_on(view: DoctorView) -> Seen:
    machine: Machine = view.machine
    if not gpu_kind(machine):
        yield NotApplicable("there is no GPU")
        return
    value, quote = nccl_setting(machine, "NCCL_DEBUG")
    if value.upper() in ("INFO", "TRACE"):
        yield Observed(
            f"{quote.line}: each rank writes many lines when a communicator is made, and TRACE "
            "some for each call",
            quote,
            setting=Setting({"NCCL_DEBUG": None}),
        )
