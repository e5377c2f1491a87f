"""The MPI library of the program, its launchers, and UCX below it."""

from __future__ import annotations

from commlens.findings.entry import is_no, is_yes
from commlens.findings.facts import (
    allows,
    gpu_kind,
    open_mpi,
    parameter,
    takes_ucx_anywhere,
    variable,
)
from commlens.findings.finding import Quote
from commlens.findings.rule import Seen, observed
from commlens.findings.view import NotApplicable, not_seen
from commlens.machine.libraries import numbers_in
from commlens.machine.machine import Machine
from commlens.machine.mpi import is_mpi_library


def library_not_found(machine: Machine) -> Seen:
    mpi = machine.mpi
    if mpi.missing:
        quotes = (Quote(f"ldd {mpi.program}", f"{name} => not found") for name in mpi.missing)
        yield observed(*quotes)


def two_mpi_libraries_in_program(machine: Machine) -> Seen:
    paths = {
        name: path
        for name, path in machine.mpi.libraries.items()
        if path and (is_mpi_library(name) or name.startswith("libmpi_cxx."))
    }
    # /usr has links to /lib, or from there.
    folders = {path.rpartition("/")[0].removeprefix("/usr") for path in paths.values()}
    if len(folders) > 1:
        lines = [f"{name} => {path}" for name, path in paths.items()]
        quotes = (Quote(f"ldd {machine.mpi.program}", line) for line in lines)
        yield observed(*quotes, listed=" and ".join(paths.values()))


def launcher_of_another_mpi(machine: Machine) -> Seen:
    mpi = machine.mpi
    if mpi.library is None or mpi.library.family == "other":
        raise not_seen("the MPI library of the program")
    if not mpi.launchers:
        raise NotApplicable("there is no mpirun on the PATH")
    first = mpi.launchers[0]
    if not first.families:
        raise not_seen(f"{first.path} does not say whose it is")
    fitting = [
        launcher for launcher in mpi.launchers if _launches(launcher.families, mpi.library.family)
    ]
    if first not in fitting:
        yield observed(first=first, own=f" ({fitting[0].path})" if fitting else "")


def _launches(families: tuple[str, ...], family: str) -> bool:
    """Cray MPICH and MVAPICH are MPICH to a launcher."""
    return family in families or (family in ("cray", "mvapich") and "mpich" in families)


def launcher_of_another_version(machine: Machine) -> Seen:
    mpi = machine.mpi
    first = next(
        (launcher for launcher in mpi.launchers if _launches(launcher.families, "openmpi")), None
    )
    if first is None or mpi.library is None:
        raise NotApplicable("there is no mpirun of Open MPI on the PATH")
    ours, theirs = numbers_in(mpi.library.version)[:2], numbers_in(first.version)[:2]
    if ours and theirs and ours != theirs:
        yield observed(first=first, theirs=".".join(map(str, theirs)))


def several_mpi_libraries(machine: Machine) -> Seen:
    mpi = machine.mpi
    known = [launcher for launcher in mpi.launchers if launcher.families]
    kinds = {(launcher.name, numbers_in(launcher.version)[:2]) for launcher in known}
    quotes = [Quote("LD_LIBRARY_PATH", path) for path in mpi.others]
    if len(kinds) > 1:
        quotes[:0] = (Quote(f"{launcher.path} --version", launcher.version) for launcher in known)
    if quotes:
        yield observed(*quotes, count=max(len(kinds), len(mpi.others) + 1))


def mpi_without_gpu_support(machine: Machine) -> Seen:
    info, kind = open_mpi(machine), gpu_kind(machine)
    if kind == "cuda" and info.gpu_support == "false":
        why = Quote("ompi_info --all --parsable", "mpi_built_with_cuda_support:value:false")
        yield observed(why, which=kind)
    accelerators = info.components.get("accelerator")
    if kind == "rocm" and accelerators and "rocm" not in accelerators:
        listed = ", ".join(accelerators)
        yield observed(Quote("ompi_info", f"accelerator: {listed}"), which=kind)


def mpi_component_not_loaded(machine: Machine) -> Seen:
    for name, why in open_mpi(machine).unloadable.items():
        if any(word in name for word in ("cuda", "rocm", "ucx", "gpusm")):
            yield observed(name=name, why=why)


def open_mpi_gpu_support_off(machine: Machine) -> Seen:
    kind = gpu_kind(machine)
    accelerator, quote = parameter(machine, "accelerator")
    settings = [("OMPI_MCA_accelerator", quote)] if not allows(accelerator, kind) else []
    for name in ("OMPI_MCA_opal_cuda_support", "OMPI_MCA_mpi_cuda_support"):
        value, line = variable(machine, name)
        if is_no(value) and kind == "cuda":
            settings.append((name, line))
    for name, line in settings:
        yield observed(line, line=line.line, name=name)


def open_mpi_looks_for_gpu_memory(machine: Machine) -> Seen:
    info, kind = open_mpi(machine), gpu_kind(machine)
    if "accelerator" not in info.components:
        raise NotApplicable("this Open MPI has no accelerator components")
    selection, _ = parameter(machine, "accelerator")
    if info.has("accelerator", kind) and allows(selection, kind):
        yield observed(kind=kind)


def btl_uct_beside_ucx(machine: Machine) -> Seen:
    info = open_mpi(machine)
    if not (info.has("btl", "uct") and info.has("pml", "ucx")):
        raise NotApplicable("it has no btl uct, or no UCX")
    domains, quote = parameter(machine, "btl_uct_memory_domains")
    if allows(parameter(machine, "btl")[0], "uct") and domains not in ("", "none"):
        yield observed(quote, domains=domains)


def btl_openib_beside_ucx(machine: Machine) -> Seen:
    info = open_mpi(machine)
    btl, quote = parameter(machine, "btl")
    if info.has("btl", "openib") and info.has("pml", "ucx") and allows(btl, "openib"):
        yield observed(Quote("ompi_info", "btl: openib; pml: ucx"), quote)


def ucx_without_gpu_support(machine: Machine) -> Seen:
    ucx, kind = machine.ucx, gpu_kind(machine)
    if ucx.modules is None and ucx.transports is None:
        raise not_seen(ucx.why_not_seen)
    if ucx.transports is not None and f"{kind}_copy" in ucx.transports:
        return
    if ucx.modules is not None and not ucx.has_module(f"uct_{kind}"):
        modules = Quote(ucx.library, f"modules: {', '.join(ucx.modules) or 'none'}")
        configured = Quote("ucx_info -v", ucx.configured or "configured without")
        yield observed(modules, configured, which="no module", kind=kind)
    elif ucx.transports is not None:
        listed = Quote("ucx_info -d", f"Transport: {', '.join(ucx.transports)}")
        yield observed(listed, which="no transport", kind=kind)


def ucx_module_not_loaded(machine: Machine) -> Seen:
    kind = gpu_kind(machine)
    for module, missing in machine.ucx.missing.items():
        is_for_gpu = module.startswith(("uct_cuda", "uct_rocm"))
        if module.startswith(f"uct_{kind}") if is_for_gpu and kind else not is_for_gpu:
            quotes = (Quote(f"ldd lib{module}.so", f"{name} => not found") for name in missing)
            yield observed(*quotes, module=module, missing=missing)


def ucx_refused(machine: Machine) -> Seen:
    pml, quote = parameter(machine, "pml")
    accepted = machine.devices.mellanox or machine.devices.gpus or takes_ucx_anywhere(machine)
    if pml == "ucx" and not accepted:
        yield observed(quote, line=quote.line)


def ucx_info_of_another_ucx(machine: Machine) -> Seen:
    why = machine.ucx.why_not_seen
    if "another" in why:
        yield observed()
    elif why:
        raise not_seen(why)


def device_collectives_without_nccl(machine: Machine) -> Seen:
    ucc, quote = parameter(machine, "coll_ucc_enable")
    if not is_yes(ucc):
        yield observed(quote)
