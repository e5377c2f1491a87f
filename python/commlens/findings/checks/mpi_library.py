"""MPI library"""

from __future__ import annotations

from commlens.findings.facts import (
    SHORTEST_MESSAGE,
    allows,
    gpu_kind,
    is_no,
    open_mpi,
    parameter,
    variable,
)
from commlens.findings.finding import Quote, Setting
from commlens.findings.rule import Seen, observed, rule
from commlens.findings.view import NotApplicable, View, not_seen
from commlens.machine.libraries import numbers_in
from commlens.machine.mpi import is_mpi_library

_NO_LIBRARY = "the MPI library of the program"
_LOAD_ONE = (
    "Load or build an MPI library with support for this GPU (Open MPI `--with-cuda` or "
    "`--with-rocm`, and UCX likewise); until then use `--transport staged,ccl`, or copy to host "
    "memory before MPI."
)


@rule(
    "library-not-found",
    "warning",
    "the loader does not find a library of the program",
    needs=("machine", "program"),
    when="the shared libraries that the program needs",
    fix="Load the module with which the program was built, or add the folder of {name} to "
    "LD_LIBRARY_PATH.",
)
def library_not_found(view: View) -> Seen:
    mpi = view.machine.mpi
    if mpi.missing:
        yield observed(
            f"The program {mpi.program_name} needs {', '.join(mpi.missing)}, which the loader does "
            "not find",
            *(Quote(f"ldd {mpi.program}", f"{name} => not found") for name in mpi.missing),
            words={"name": mpi.missing[0]},
        )


@rule(
    "two-mpi-libraries-in-program",
    "warning",
    "the program loads two MPI libraries",
    needs=("machine", "program"),
    when="whether the program and its libraries load one MPI library",
    fix="Build the program and the libraries that it uses (HYPRE, FFTW, HDF5 ...) with one MPI, "
    "and load its module alone: LD_LIBRARY_PATH decides which is found.",
)
def two_mpi_libraries_in_program(view: View) -> Seen:
    mpi = view.machine.mpi
    own = {
        name: path
        for name, path in mpi.libraries.items()
        if path and (is_mpi_library(name) or name.startswith("libmpi_cxx."))
    }
    if len(set(map(_folder, own.values()))) > 1:
        listed = " and ".join(own.values())
        yield observed(
            f"The program {mpi.program_name} loads {listed}: functions of one get "
            "what the other has made, and crash or hang",
            *(Quote(f"ldd {mpi.program}", f"{name} => {path}") for name, path in own.items()),
        )


def _folder(path: str) -> str:
    return path.rpartition("/")[0].removeprefix("/usr")  # which has links to /lib, or from there


@rule(
    "launcher-of-another-mpi",
    "warning",
    "mpirun belongs to another MPI library",
    needs="machine",
    when="whether the first mpirun on the PATH is that of the program's MPI library",
    fix="Put the bin folder of {library} first in the PATH, or start the program with its own "
    "launcher{own}.",
)
def launcher_of_another_mpi(view: View) -> Seen:
    mpi = view.machine.mpi
    if mpi.library is None or mpi.library.family == "other":
        raise not_seen(_NO_LIBRARY)
    elif not mpi.launchers:
        raise NotApplicable("there is no mpirun on the PATH")
    elif not mpi.launchers[0].families:
        raise not_seen(f"{mpi.launchers[0].path} does not say whose it is")
    elif not _launches(mpi.launchers[0].families, mpi.library.family):
        first = mpi.launchers[0]
        own = next(
            (one for one in mpi.launchers if _launches(one.families, mpi.library.family)), None
        )
        yield observed(
            f"{first.path} is {first.name}'s, and the program is linked with {mpi.library.name}: "
            "each rank takes itself for rank 0 of 1",
            Quote(f"{first.path} --version", first.version),
            Quote(f"ldd {mpi.program}", mpi.library.path),
            words={"library": mpi.library.name, "own": f" ({own.path})" if own else ""},
        )


def _launches(families: tuple[str, ...], family: str) -> bool:
    """Cray MPICH and MVAPICH are MPICH to a launcher."""
    return family in families or (family in ("cray", "mvapich") and "mpich" in families)


@rule(
    "launcher-of-another-version",
    "warning",
    "mpirun is of another version than the MPI library",
    needs=("machine", "Open MPI"),
    when="versions of mpirun and of the program's MPI library, of Open MPI",
    fix="Put the bin folder of {library} first in the PATH: load one module of MPI, and no other.",
)
def launcher_of_another_version(view: View) -> Seen:
    mpi = view.machine.mpi
    assert mpi.library is not None
    first = next((one for one in mpi.launchers if _launches(one.families, "openmpi")), None)
    if first is None:
        raise NotApplicable("there is no mpirun of Open MPI on the PATH")
    ours, theirs = numbers_in(mpi.library.version)[:2], numbers_in(first.version)[:2]
    if ours and theirs and ours != theirs:
        yield observed(
            f"{first.path} is of version {_text(theirs)}, and the program is linked with "
            f"{mpi.library.name}: jobs hang or fail when they start",
            Quote(f"{first.path} --version", first.version),
            Quote(f"ldd {mpi.program}", mpi.library.path),
            words={"library": mpi.library.name},
        )


def _text(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers))


@rule(
    "several-mpi-libraries",
    "note",
    "several MPI libraries are in the search paths",
    needs="machine",
    when="launchers on the PATH and MPI libraries in LD_LIBRARY_PATH",
    fix="Load one module of MPI. Which one a program takes depends on the order of PATH and "
    "LD_LIBRARY_PATH, which may differ on other nodes and in batch jobs.",
)
def several_mpi_libraries(view: View) -> Seen:
    mpi = view.machine.mpi
    known = [one for one in mpi.launchers if one.families]
    kinds = {(one.name, numbers_in(one.version)[:2]) for one in known}
    quotes = [Quote(f"{one.path} --version", one.version) for one in known] * (len(kinds) > 1)
    quotes += [Quote("LD_LIBRARY_PATH", path) for path in mpi.others]
    if quotes:
        count = max(len(kinds), len(mpi.others) + 1)
        yield observed(
            f"{count} MPI libraries are in the search paths: programs and launchers of them mix "
            "easily",
            *quotes,
        )


@rule(
    "mpi-without-gpu-support",
    "warning",
    "the MPI library was built without support for GPUs",
    needs=("machine", "GPU", "Open MPI"),
    when="whether Open MPI was built for the GPU of this machine",
    fix=_LOAD_ONE,
)
def mpi_without_gpu_support(view: View) -> Seen:
    info, kind = open_mpi(view.machine), gpu_kind(view.machine)
    if kind == "cuda" and info.gpu_support == "false":
        yield observed(
            f"Open MPI {info.version} was built without CUDA: it takes a pointer to GPU memory for "
            "one to host memory, and dies of SIGSEGV",
            Quote("ompi_info --all --parsable", "mpi_built_with_cuda_support:value:false"),
        )
    elif (
        kind == "rocm" and "accelerator" in info.components and not info.has("accelerator", "rocm")
    ):
        listed = ", ".join(info.components["accelerator"])
        yield observed(
            f"Open MPI {info.version} was built without ROCm: it takes a pointer to GPU memory for "
            "one to host memory",
            Quote("ompi_info", f"accelerator: {listed}"),
        )


@rule(
    "mpi-component-not-loaded",
    "warning",
    "a component of Open MPI for GPUs or UCX cannot be loaded",
    needs=("machine", "GPU", "Open MPI"),
    when="components of Open MPI for GPUs and UCX that cannot be loaded",
    fix="Add the folder of the library that is named to LD_LIBRARY_PATH, or install it; on a node "
    "without a GPU driver this is as it must be.",
)
def mpi_component_not_loaded(view: View) -> Seen:
    info = open_mpi(view.machine)
    for name, why in info.unloadable.items():
        if any(word in name for word in ("cuda", "rocm", "ucx", "gpusm")):
            yield observed(
                f"Open MPI {info.version} cannot load mca_{name}: without it GPU memory is not "
                "recognized, or goes through the host",
                Quote("ompi_info", f"mca_{name}: {why}"),
            )


@rule(
    "open-mpi-gpu-support-off",
    "warning",
    "Open MPI's support for GPUs is turned off",
    needs=("machine", "GPU", "Open MPI"),
    when="OMPI_MCA_accelerator and OMPI_MCA_opal_cuda_support",
    fix="Remove the setting: `unset {name}`, or the line of the file.",
)
def open_mpi_gpu_support_off(view: View) -> Seen:
    kind = gpu_kind(view.machine)
    accelerator, quote = parameter(view.machine, "accelerator")
    found = [("OMPI_MCA_accelerator", quote)] if not allows(accelerator, kind) else []
    for name in ("OMPI_MCA_opal_cuda_support", "OMPI_MCA_mpi_cuda_support"):
        value, line = variable(view.machine, name)
        if is_no(value) and kind == "cuda":
            found.append((name, line))
    for name, line in found:
        yield observed(
            f"Open MPI was told to ignore GPUs ({line.line}): it takes a pointer to GPU memory for "
            "one to host memory, and a rank that sends from there dies of SIGSEGV",
            line,
            words={"name": name},
            setting=Setting({name: None}, shown_by=SHORTEST_MESSAGE),
        )


@rule(
    "btl-uct-beside-ucx",
    "warning",
    "Open MPI's btl uct may be used beside UCX",
    needs=("machine", "Open MPI"),
    when="btl uct in an Open MPI that has pml ucx",
    fix="Turn it off with `OMPI_MCA_btl=^uct`, in the environment or in openmpi-mca-params.conf; "
    "build Open MPI with `--enable-mca-no-build=btl-uct`.",
)
def btl_uct_beside_ucx(view: View) -> Seen:
    info = open_mpi(view.machine)
    if not (info.has("btl", "uct") and info.has("pml", "ucx")):
        raise NotApplicable("it has no btl uct, or no UCX")
    btl, _ = parameter(view.machine, "btl")
    domains, quote = parameter(view.machine, "btl_uct_memory_domains")
    if allows(btl, "uct") and domains not in ("", "none"):
        yield observed(
            f"Open MPI {info.version} may use btl uct for {domains}, beside pml ucx: both watch "
            "the allocations of memory, and messages have been corrupted",
            quote,
            Quote("ompi_info", "btl: uct; pml: ucx"),
        )


@rule(
    "btl-openib-beside-ucx",
    "note",
    "Open MPI's old btl openib is built beside UCX",
    needs=("machine", "RDMA", "Open MPI"),
    when="btl openib in an Open MPI that has pml ucx, where there is an RDMA adapter",
    fix="Set `OMPI_MCA_btl=^openib`; build Open MPI with `--without-verbs`.",
)
def btl_openib_beside_ucx(view: View) -> Seen:
    info = open_mpi(view.machine)
    btl, quote = parameter(view.machine, "btl")
    if info.has("btl", "openib") and info.has("pml", "ucx") and allows(btl, "openib"):
        yield observed(
            f"Open MPI {info.version} has btl openib, which UCX has replaced: it opens "
            f"{view.machine.devices.rdma[0]} in each rank, warns, and is used where UCX is not",
            Quote("ompi_info", "btl: openib; pml: ucx"),
            quote,
        )
