"""Environment"""

from __future__ import annotations

from collections.abc import Iterator

from commlens.base.text import plural
from commlens.findings import Quote, Setting
from commlens.findings.check import NotApplicable, Observed, Seen, check
from commlens.findings.machine_view import DoctorView
from commlens.findings.selection import (
    NO_GPU,
    NO_OPEN_MPI,
    SHORTEST_MESSAGE,
    gpu_kind,
    is_no,
    is_open_mpi,
    is_yes,
    names,
    parameter,
    uses_ucx,
    variable,
)
from commlens.machine.machine import Machine
from commlens.machine.settings import Unknown

_MOST_THREADS = 4096


def _unknown(machine: Machine) -> Iterator[Unknown]:
    yield from machine.ucx.unknown
    yield from machine.nccl.unknown
    if machine.mpi.open_mpi:
        yield from machine.mpi.open_mpi.unknown


@check(
    "misspelt-setting",
    "problem",
    about="environment",
    title="a variable is misspelt",
    looks_at="names of variables that are nearly those of a setting of UCX, Open MPI or NCCL",
    fix="Set {near} instead of {name}.",
)
def misspelt_setting(view: DoctorView) -> Seen:
    for one in _unknown(view.machine):
        if one.near:
            yield Observed(
                f"{one.library} knows no {one.name}, so it has no effect; {one.near} is meant, "
                "probably",
                Quote("environment", f"{one.name}={one.value}"),
                words={"near": one.near, "name": one.name},
                setting=Setting({one.name: None, one.near: one.value}),
            )


@check(
    "setting-of-no-library",
    "advice",
    about="environment",
    title="a variable has no effect",
    looks_at="names of variables that UCX, Open MPI and NCCL of this machine do not know",
    fix="Remove {name}, or load the version of the library that it was written for.",
)
def setting_of_no_library(view: DoctorView) -> Seen:
    for one in _unknown(view.machine):
        if not one.near:
            yield Observed(
                f"{one.library} knows no {one.name}: it has no effect",
                Quote("environment", f"{one.name}={one.value}"),
                words={"name": one.name},
                setting=Setting({one.name: None}),
            )


_GPU_TRANSPORTS = {
    "cuda": ("cuda", "cuda_copy"),
    "rocm": ("rocm", "rocm_copy"),
}


@check(
    "ucx-tls-without-gpu",
    "problem",
    about="environment",
    title="UCX_TLS leaves out what GPU memory needs",
    looks_at="UCX_TLS, for cuda_copy or rocm_copy",
    fix="`unset UCX_TLS`, or set UCX_TLS={better}: {kind} stands for all transports of this GPU.",
)
def ucx_tls_without_gpu(view: DoctorView) -> Seen:
    value, quote = variable(view.machine, "UCX_TLS")
    kind = gpu_kind(view.machine)
    if not kind:
        yield NotApplicable(NO_GPU)
    elif not view.machine.ucx.library:
        yield NotApplicable("the MPI library has no UCX")
    elif value and _leaves_out_gpu(value, kind):
        listed = [one for one in value.lstrip("^").split(",") if not one.startswith(kind)]
        better = ("^" if value.startswith("^") else "") + ",".join(listed)
        better = better if value.startswith("^") else f"{better},{kind}"
        better = "all" if better in ("^", f",{kind}") else better
        yield Observed(
            f"UCX_TLS={value} leaves out {kind}_copy, without which UCX cannot take GPU memory: "
            "messages from there fail, crash or never arrive",
            quote,
            words={"better": better, "kind": kind},
            setting=Setting({"UCX_TLS": better}, shown_by=SHORTEST_MESSAGE),
        )


def _leaves_out_gpu(value: str, kind: str) -> bool:
    listed = {one.strip().lstrip("\\") for one in value.lstrip("^").split(",")}
    has = bool(listed & {"all", *_GPU_TRANSPORTS[kind]})
    return has if value.startswith("^") else not has


_TCP_ALONE = {"tcp", "self", "cuda_copy", "rocm_copy"}


@check(
    "ucx-tls-tcp-only",
    "problem",
    about="environment",
    title="UCX_TLS allows TCP alone",
    looks_at="UCX_TLS, for shared memory and RDMA",
    fix="`unset UCX_TLS`.",
)
def ucx_tls_tcp_only(view: DoctorView) -> Seen:
    value, quote = variable(view.machine, "UCX_TLS")
    if not uses_ucx(view.machine):
        yield NotApplicable("MPI does not use UCX here")
    elif "tcp" in value.split(",") and set(value.split(",")) <= _TCP_ALONE:
        yield Observed(
            f"UCX_TLS={value} leaves TCP alone, also between ranks of one node, which have "
            "shared memory",
            quote,
            setting=Setting(
                {"UCX_TLS": "all"},
                shown_by=("latency", "--bytes", "1", "--memory", "host", "--transport", "mpi"),
            ),
        )


@check(
    "ucx-memtype-cache-on",
    "problem",
    about="environment",
    title="UCX's memory-type cache is forced on",
    looks_at="UCX_MEMTYPE_CACHE=y, where there is a GPU",
    fix="Set UCX_MEMTYPE_CACHE=n: UCX then asks the driver whose memory a pointer is.",
)
def ucx_memtype_cache_on(view: DoctorView) -> Seen:
    value, quote = variable(view.machine, "UCX_MEMTYPE_CACHE")
    if not gpu_kind(view.machine):
        yield NotApplicable(NO_GPU)
    elif is_yes(value):
        yield Observed(
            f"UCX_MEMTYPE_CACHE={value} makes UCX trust its own record of allocations: if it has "
            "missed one, it reads GPU memory with the CPU, and MPI_Send of 1 byte dies of SIGSEGV",
            quote,
            setting=Setting({"UCX_MEMTYPE_CACHE": "n"}, shown_by=SHORTEST_MESSAGE),
        )


@check(
    "ucx-gpu-direct-off",
    "problem",
    about="environment",
    title="UCX may not use GPUDirect RDMA or gdrcopy",
    looks_at="UCX_IB_GPU_DIRECT_RDMA=n, and UCX_TLS without gdr_copy",
    fix="Remove the setting: `unset {name}`.",
)
def ucx_gpu_direct_off(view: DoctorView) -> Seen:
    machine = view.machine
    if gpu_kind(machine) != "cuda":
        yield NotApplicable("there is no NVIDIA GPU")
        return
    value, quote = variable(machine, "UCX_IB_GPU_DIRECT_RDMA")
    if is_no(value) and machine.devices.rdma:
        yield Observed(
            f"{quote.line} keeps the adapter away from GPU memory: between two nodes messages from "
            "32 KiB to 256 KiB were seen to take up to 60 times as long",
            quote,
            words={"name": "UCX_IB_GPU_DIRECT_RDMA"},
            setting=Setting({"UCX_IB_GPU_DIRECT_RDMA": None}, shown_by=SHORTEST_MESSAGE),
        )
    value, quote = variable(machine, "UCX_TLS")
    without = value.startswith("^") and "gdr_copy" in value.lstrip("^").split(",")
    if without and machine.ucx.has_module("uct_cuda_gdrcopy"):
        yield Observed(
            f"{quote.line} leaves out gdrcopy, which this UCX has: 1 byte between two nodes was "
            "seen to take 25 to 95 us without it, and 4 with it",
            quote,
            words={"name": "UCX_TLS"},
            setting=Setting({"UCX_TLS": None}, shown_by=SHORTEST_MESSAGE),
        )


@check(
    "cuda-launch-blocking",
    "problem",
    about="environment",
    title="every kernel and copy of the GPU is waited for",
    looks_at="CUDA_LAUNCH_BLOCKING, HIP_LAUNCH_BLOCKING",
    fix="`unset {name}`: it is for debugging.",
)
def cuda_launch_blocking(view: DoctorView) -> Seen:
    if not gpu_kind(view.machine):
        yield NotApplicable(NO_GPU)
        return
    for name in ("CUDA_LAUNCH_BLOCKING", "HIP_LAUNCH_BLOCKING"):
        value, quote = variable(view.machine, name)
        if value and not is_no(value):
            yield Observed(
                f"{quote.line} makes the host wait for each kernel and copy: nothing overlaps, and "
                "each short operation takes longer",
                quote,
                words={"name": name},
                setting=Setting({name: "0"}, shown_by=SHORTEST_MESSAGE),
            )


@check(
    "mpich-gpu-support-off",
    "problem",
    about="environment",
    title="Cray MPICH's support for GPUs is off",
    looks_at="MPICH_GPU_SUPPORT_ENABLED, for Cray MPICH",
    fix="Set MPICH_GPU_SUPPORT_ENABLED=1, with the module of the GPU loaded.",
)
def mpich_gpu_support_off(view: DoctorView) -> Seen:
    if view.machine.mpi.family != "cray":
        yield NotApplicable("the MPI library is not Cray MPICH")
    elif not gpu_kind(view.machine):
        yield NotApplicable(NO_GPU)
    else:
        value, quote = variable(view.machine, "MPICH_GPU_SUPPORT_ENABLED")
        if not value or is_no(value):
            said = quote if value else Quote("environment", "MPICH_GPU_SUPPORT_ENABLED is not set")
            yield Observed(
                "Cray MPICH takes GPU memory only with MPICH_GPU_SUPPORT_ENABLED=1: without it a "
                "rank that sends from there dies",
                said,
                setting=Setting({"MPICH_GPU_SUPPORT_ENABLED": "1"}, shown_by=SHORTEST_MESSAGE),
            )


@check(
    "ucx-settings-without-ucx",
    "advice",
    about="environment",
    title="UCX is configured, and MPI does not use it",
    looks_at="variables of UCX, where MPI does not use UCX",
    fix="Let MPI use UCX (`OMPI_MCA_pml=ucx`; on a host without a Mellanox adapter also "
    "OMPI_MCA_opal_common_ucx_tls=any and OMPI_MCA_opal_common_ucx_devices=any), or remove the "
    "variables.",
)
def ucx_settings_without_ucx(view: DoctorView) -> Seen:
    machine = view.machine
    own = [name for name in machine.environment if name.startswith("UCX_")]
    if not own:
        yield NotApplicable("no variable of UCX is set")
    elif not uses_ucx(machine):
        pml, quote = parameter(machine, "pml")
        why = quote if pml else Quote("/sys/class/infiniband", "no Mellanox adapter")
        yield Observed(
            f"{plural(len(own), 'variable')} of UCX ({', '.join(own[:4])}) and MPI does not use "
            "UCX here: they have no effect on it",
            Quote("environment", f"{own[0]}={machine.environment[own[0]]}"),
            why,
        )


@check(
    "btl-settings-without-ob1",
    "advice",
    about="environment",
    title="Open MPI's btl are configured, and pml ucx does not use them",
    looks_at="OMPI_MCA_btl beside OMPI_MCA_pml=ucx",
    fix="Choose one: `OMPI_MCA_pml=ob1` with these btl, or pml ucx without OMPI_MCA_btl (UCX_TLS "
    "chooses its transports).",
)
def btl_settings_without_ob1(view: DoctorView) -> Seen:
    if not is_open_mpi(view.machine):
        yield NotApplicable(NO_OPEN_MPI)
        return
    pml, pml_quote = variable(view.machine, "OMPI_MCA_pml")
    btl, btl_quote = variable(view.machine, "OMPI_MCA_btl")
    if names(pml, "ucx") and btl and not btl.startswith("^"):
        yield Observed(
            f"OMPI_MCA_btl={btl} has no effect on messages beside OMPI_MCA_pml={pml}, as UCX has "
            "transports of its own",
            pml_quote,
            btl_quote,
        )


_SHARED_MEMORY = ("vader", "sm", "smcuda")


@check(
    "btl-list-incomplete",
    "problem",
    about="environment",
    title="OMPI_MCA_btl leaves out what ranks of a node need",
    looks_at="OMPI_MCA_btl, for self, shared memory and smcuda",
    fix="Remove the setting (`unset OMPI_MCA_btl`, or the line of the file), or say what is not "
    "wanted: `OMPI_MCA_btl=^openib`.",
)
def btl_list_incomplete(view: DoctorView) -> Seen:
    machine, own = view.machine, view.machine.mpi.open_mpi
    if not is_open_mpi(machine) or own is None:
        yield NotApplicable(NO_OPEN_MPI)
        return
    btl, quote = parameter(machine, "btl")
    pml, _ = parameter(machine, "pml")
    if not btl or btl.startswith("^") or uses_ucx(machine) or names(pml, "cm"):
        return
    listed = btl.split(",")
    needs_smcuda = gpu_kind(machine) == "cuda" and own.has("btl", "smcuda")
    if "self" not in listed:
        lost = "without self no rank can send to itself, and MPI_Init fails"
    elif not set(listed) & set(_SHARED_MEMORY):
        lost = "ranks of one node have no shared memory and use the network, or do not start"
    elif needs_smcuda and "smcuda" not in listed:
        lost = "without smcuda messages between GPUs of a node go through host memory"
    else:
        return
    on = "device" if needs_smcuda else "host"
    yield Observed(
        f"Open MPI may use the btl {btl} alone: {lost}",
        quote,
        setting=Setting(
            {"OMPI_MCA_btl": None},
            shown_by=("latency", "--bytes", "1", "--memory", on, "--transport", "mpi"),
        )
        if quote.source == "environment"
        else None,
    )


@check(
    "more-threads-than-cores",
    "problem",
    about="environment",
    title="OMP_NUM_THREADS is larger than the number of cores",
    looks_at="OMP_NUM_THREADS, and the cores that this process may use",
    fix="Set OMP_NUM_THREADS to at most {cores}, less where a node has several ranks; or give the "
    "process more cores (`--cpus-per-task` of Slurm, `--map-by slot:PE=N` of mpirun).",
)
def more_threads_than_cores(view: DoctorView) -> Seen:
    value, quote = variable(view.machine, "OMP_NUM_THREADS")
    first = value.partition(",")[0].strip()
    cores = view.machine.limits.core_count
    if not first:
        yield NotApplicable("OMP_NUM_THREADS is not set")
    elif first.isdecimal() and cores and cores < int(first[:6]) <= _MOST_THREADS:
        yield Observed(
            f"OMP_NUM_THREADS is {first}, and this process may use {plural(cores, 'core')}: "
            "threads wait for each other in every barrier, and so does MPI",
            quote,
            Quote("/proc/self/status", f"Cpus_allowed_list: {view.machine.limits.cores}"),
            words={"cores": str(cores)},
            setting=Setting(
                {"OMP_NUM_THREADS": str(cores)},
                shown_by=("allreduce", "--bytes", "1M", "--memory", "host", "--transport", "mpi"),
            ),
        )
