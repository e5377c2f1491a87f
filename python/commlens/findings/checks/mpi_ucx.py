"""MPI library: UCX"""

from __future__ import annotations

from commlens.findings.facts import SHORTEST_HOST_MESSAGE, gpu_kind, parameter, takes_ucx_anywhere
from commlens.findings.finding import Quote, Setting
from commlens.findings.rule import Seen, observed, rule
from commlens.findings.view import View, not_seen


@rule(
    "ucx-without-gpu-support",
    "warning",
    "UCX was built without support for GPUs",
    needs=("machine", "GPU", "UCX", "MPI over UCX"),
    when="UCX's modules and transports for the GPU of this machine (cuda_copy, rocm_copy)",
    fix="Load or build UCX `--with-cuda` or `--with-rocm`, and Open MPI with that UCX; or let "
    "Open MPI use another layer: `OMPI_MCA_pml=ob1`.",
)
def ucx_without_gpu_support(view: View) -> Seen:
    machine, kind = view.machine, gpu_kind(view.machine)
    ucx = machine.ucx
    if ucx.modules is None and ucx.transports is None:
        raise not_seen(ucx.why_not_seen)
    if ucx.transports is not None and f"{kind}_copy" in ucx.transports:
        return
    if ucx.modules is not None and not ucx.has_module(f"uct_{kind}"):
        yield observed(
            f"{ucx.name} has no module uct_{kind}: it has no transport for this GPU, and "
            "takes a pointer to GPU memory for one to host memory",
            Quote(ucx.library, f"modules: {', '.join(ucx.modules) or 'none'}"),
            Quote("ucx_info -v", ucx.configured or "configured without"),
        )
    elif ucx.transports is not None:
        yield observed(
            f"{ucx.name} has the module uct_{kind}, but finds no {kind}_copy among its "
            f"{len(ucx.transports)} transports here",
            Quote("ucx_info -d", f"Transport: {', '.join(ucx.transports)}"),
        )


@rule(
    "ucx-module-not-loaded",
    "warning",
    "a module of UCX cannot be loaded",
    needs=("machine", "UCX", "MPI over UCX"),
    when="libraries that UCX's modules for GPUs, gdrcopy and InfiniBand need",
    fix="Add the folder of {name} to LD_LIBRARY_PATH for all ranks (mpirun: `-x "
    "LD_LIBRARY_PATH`), or install it.",
)
def ucx_module_not_loaded(view: View) -> Seen:
    machine = view.machine
    kind = gpu_kind(machine)
    for module, missing in machine.ucx.missing.items():
        is_for_gpu = module.startswith(("uct_cuda", "uct_rocm"))
        if not (module.startswith(f"uct_{kind}") if is_for_gpu and kind else not is_for_gpu):
            continue  # of a GPU that is not here
        yield observed(
            f"The module {module} of {machine.ucx.name} cannot be loaded, as {', '.join(missing)} "
            "is not found: UCX goes on without it, silently",
            *(Quote(f"ldd lib{module}.so", f"{name} => not found") for name in missing),
            words={"name": missing[0]},
        )


@rule(
    "ucx-refused",
    "warning",
    "Open MPI is told to use UCX, and refuses it here",
    needs=("machine", "Open MPI"),
    when="pml ucx on a host without a Mellanox adapter and without a GPU",
    fix="Set OMPI_MCA_opal_common_ucx_tls=any and OMPI_MCA_opal_common_ucx_devices=any, or do not "
    "ask for pml ucx.",
)
def ucx_refused(view: View) -> Seen:
    machine = view.machine
    pml, quote = parameter(machine, "pml")
    accepted = machine.devices.mellanox or machine.devices.gpus or takes_ucx_anywhere(machine)
    if pml == "ucx" and not accepted:
        yield observed(
            f"{quote.line}, but Open MPI turns UCX off on a host without a Mellanox adapter: "
            "MPI_Init fails",
            quote,
            setting=Setting(
                {
                    "OMPI_MCA_opal_common_ucx_tls": "any",
                    "OMPI_MCA_opal_common_ucx_devices": "any",
                },
                shown_by=SHORTEST_HOST_MESSAGE,
            ),
        )


@rule(
    "ucx-info-of-another-ucx",
    "note",
    "ucx_info belongs to another UCX than MPI uses",
    needs=("machine", "UCX"),
    when="whether ucx_info on the PATH is that of the UCX that MPI loads",
    fix="Put the bin folder of that UCX first in the PATH, before you believe `ucx_info -d`.",
)
def ucx_info_of_another_ucx(view: View) -> Seen:
    ucx = view.machine.ucx
    if "another" in ucx.why_not_seen:
        yield observed(
            f"MPI loads {ucx.library} (version {ucx.version}), and ucx_info is of another "
            "installation: what it lists is not what MPI has",
            Quote("ldd", ucx.library),
        )
    elif ucx.why_not_seen:
        raise not_seen(ucx.why_not_seen)
