"""MPI library: UCX"""

from __future__ import annotations

from commlens.findings import Quote, Setting
from commlens.findings.check import NotApplicable, Observed, Seen, check, not_seen
from commlens.findings.machine_view import DoctorView
from commlens.findings.selection import (
    NO_GPU,
    NO_OPEN_MPI,
    gpu_kind,
    is_open_mpi,
    parameter,
    takes_ucx_anywhere,
    uses_ucx,
)
from commlens.machine.machine import Machine

_NO_UCX = "the MPI library has no UCX"
_UNUSED = "MPI does not use UCX here"


def _not_for(machine: Machine) -> str:
    """Why UCX's support for GPUs does not matter here."""
    if not gpu_kind(machine):
        return NO_GPU
    if not machine.ucx.library:
        return _NO_UCX
    return "" if uses_ucx(machine) else _UNUSED


def _ucx(machine: Machine) -> str:
    return f"UCX {machine.ucx.version}".strip()


@check(
    "ucx-without-gpu-support",
    "problem",
    about="MPI library",
    title="UCX was built without support for GPUs",
    looks_at="UCX's modules and transports for the GPU of this machine (cuda_copy, rocm_copy)",
    fix="Load or build UCX `--with-cuda` or `--with-rocm`, and Open MPI with that UCX; or let "
    "Open MPI use another layer: `OMPI_MCA_pml=ob1`.",
)
def ucx_without_gpu_support(view: DoctorView) -> Seen:
    machine, kind = view.machine, gpu_kind(view.machine)
    ucx = machine.ucx
    if reason := _not_for(machine):
        yield NotApplicable(reason)
    elif ucx.modules is None and ucx.transports is None:
        yield not_seen(ucx.why_not_seen)
    elif ucx.transports is not None and f"{kind}_copy" in ucx.transports:
        return
    elif ucx.modules is not None and not ucx.has_module(f"uct_{kind}"):
        yield Observed(
            f"{_ucx(machine)} has no module uct_{kind}: it has no transport for this GPU, and "
            "takes a pointer to GPU memory for one to host memory",
            Quote(ucx.library, f"modules: {', '.join(ucx.modules) or 'none'}"),
            Quote("ucx_info -v", ucx.configured or "configured without"),
        )
    elif ucx.transports is not None:
        yield Observed(
            f"{_ucx(machine)} has the module uct_{kind}, but finds no {kind}_copy among its "
            f"{len(ucx.transports)} transports here",
            Quote("ucx_info -d", f"Transport: {', '.join(ucx.transports)}"),
        )


@check(
    "ucx-module-not-loaded",
    "problem",
    about="MPI library",
    title="a module of UCX cannot be loaded",
    looks_at="libraries that UCX's modules for GPUs, gdrcopy and InfiniBand need",
    fix="Add the folder of {name} to LD_LIBRARY_PATH for all ranks (mpirun: `-x "
    "LD_LIBRARY_PATH`), or install it.",
)
def ucx_module_not_loaded(view: DoctorView) -> Seen:
    machine = view.machine
    if not uses_ucx(machine):
        yield NotApplicable(_UNUSED if machine.ucx.library else _NO_UCX)
        return
    kind = gpu_kind(machine)
    for module, missing in machine.ucx.missing.items():
        is_for_gpu = module.startswith(("uct_cuda", "uct_rocm"))
        if not (module.startswith(f"uct_{kind}") if is_for_gpu and kind else not is_for_gpu):
            continue  # of a GPU that is not here
        yield Observed(
            f"The module {module} of {_ucx(machine)} cannot be loaded, as {', '.join(missing)} "
            "is not found: UCX goes on without it, and says nothing",
            *(Quote(f"ldd lib{module}.so", f"{name} => not found") for name in missing),
            words={"name": missing[0]},
        )


@check(
    "ucx-without-gdrcopy",
    "advice",
    about="MPI library",
    title="UCX has no gdrcopy",
    looks_at="gdrcopy in UCX, for short messages of NVIDIA GPUs",
    fix="Build UCX `--with-gdrcopy=FOLDER`, with the kernel module gdrdrv loaded; or let Open MPI "
    "use smcuda within a node: `OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,smcuda`.",
)
def ucx_without_gdrcopy(view: DoctorView) -> Seen:
    machine = view.machine
    ucx = machine.ucx
    if reason := _not_for(machine):
        yield NotApplicable(reason)
    elif gpu_kind(machine) != "cuda":
        yield NotApplicable("gdrcopy is for NVIDIA GPUs")
    elif ucx.modules is None:
        yield not_seen(ucx.why_not_seen)
    elif ucx.has_module("uct_cuda") and not ucx.has_module("uct_cuda_gdrcopy"):
        yield Observed(
            f"{_ucx(machine)} was built without gdrcopy: short messages from GPU memory are copied "
            "by the driver, which was seen to take 25 to 130 us for 1 byte where gdrcopy took 4",
            Quote(ucx.library, f"modules: {', '.join(ucx.modules)}"),
        )


@check(
    "ucx-without-rdma",
    "problem",
    about="MPI library",
    title="UCX was built without support for the RDMA adapter",
    looks_at="UCX's module for InfiniBand and RoCE, where there is such an adapter",
    fix="Load or build UCX `--with-verbs` (and `--with-rdmacm`).",
)
def ucx_without_rdma(view: DoctorView) -> Seen:
    machine = view.machine
    ucx = machine.ucx
    if not machine.devices.mellanox:
        yield NotApplicable("there is no Mellanox adapter")
    elif not ucx.library:
        yield NotApplicable(_NO_UCX)
    elif ucx.modules is None:
        yield not_seen(ucx.why_not_seen)
    elif not any(name.startswith("uct_ib") for name in ucx.modules):
        yield Observed(
            f"{_ucx(machine)} has no module uct_ib, and {machine.devices.mellanox[0]} is here: "
            "messages between nodes go over TCP",
            Quote(ucx.library, f"modules: {', '.join(ucx.modules) or 'none'}"),
        )


@check(
    "ucx-refused",
    "problem",
    about="MPI library",
    title="Open MPI is told to use UCX, and refuses it here",
    looks_at="pml ucx on a host without a Mellanox adapter and without a GPU",
    fix="Set OMPI_MCA_opal_common_ucx_tls=any and OMPI_MCA_opal_common_ucx_devices=any, or do not "
    "ask for pml ucx.",
)
def ucx_refused(view: DoctorView) -> Seen:
    machine = view.machine
    if not is_open_mpi(machine):
        yield NotApplicable(NO_OPEN_MPI)
        return
    pml, quote = parameter(machine, "pml")
    accepted = machine.devices.mellanox or machine.devices.gpus or takes_ucx_anywhere(machine)
    if pml == "ucx" and not accepted:
        yield Observed(
            f"{quote.line}, but Open MPI turns UCX off on a host without a Mellanox adapter: "
            "MPI_Init fails",
            quote,
            setting=Setting(
                {
                    "OMPI_MCA_opal_common_ucx_tls": "any",
                    "OMPI_MCA_opal_common_ucx_devices": "any",
                },
                shown_by=("latency", "--bytes", "1", "--memory", "host", "--transport", "mpi"),
            ),
        )


@check(
    "ucx-info-of-another-ucx",
    "advice",
    about="MPI library",
    title="ucx_info belongs to another UCX than MPI uses",
    looks_at="whether ucx_info on the PATH is that of the UCX that MPI loads",
    fix="Put the bin folder of that UCX first in the PATH, before you believe `ucx_info -d`.",
)
def ucx_info_of_another_ucx(view: DoctorView) -> Seen:
    ucx = view.machine.ucx
    if not ucx.library:
        yield NotApplicable(_NO_UCX)
    elif not ucx.why_not_seen:
        return
    elif "another" in ucx.why_not_seen:
        yield Observed(
            f"MPI loads {ucx.library} (version {ucx.version}), and ucx_info is of another "
            "installation: what it lists is not what MPI has",
            Quote("ldd", ucx.library),
        )
    else:
        yield not_seen(ucx.why_not_seen)
