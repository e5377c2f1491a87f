"""Environment"""

from __future__ import annotations

from collections.abc import Iterator

from commlens.base.text import plural
from commlens.findings.facts import (
    SHORTEST_HOST_MESSAGE,
    SHORTEST_MESSAGE,
    gpu_kind,
    is_no,
    names,
    open_mpi,
    parameter,
    uses_ucx,
    variable,
)
from commlens.findings.finding import Quote, Setting
from commlens.findings.rule import Seen, observed, rule
from commlens.findings.view import NotApplicable, View
from commlens.machine.machine import Machine
from commlens.machine.settings import Unknown
from commlens.machine.ucx import known_transports

_MOST_THREADS = 4096


def _unknown(machine: Machine, *, misspelt: bool) -> Iterator[tuple[Unknown, Quote]]:
    """Variables that their library does not know, with a likely spelling or without."""
    info = machine.mpi.open_mpi
    for one in (*machine.ucx.unknown, *machine.nccl.unknown, *(info.unknown if info else ())):
        if bool(one.near) == misspelt:
            yield one, Quote("environment", f"{one.name}={one.value}")


@rule(
    "misspelt-setting",
    "warning",
    "a variable is misspelt",
    needs="machine",
    when="names of variables that are nearly those of a setting of UCX, Open MPI or NCCL",
    fix="Set {near} instead of {name}.",
)
def misspelt_setting(view: View) -> Seen:
    for one, quote in _unknown(view.machine, misspelt=True):
        yield observed(
            f"{one.library} knows no {one.name}, so it has no effect; {one.near} is meant, "
            "probably",
            quote,
            words={"near": one.near, "name": one.name},
            setting=Setting({one.name: None, one.near: one.value}),
        )


@rule(
    "setting-of-no-library",
    "note",
    "a variable has no effect",
    needs="machine",
    when="names of variables that UCX, Open MPI and NCCL of this machine do not know",
    fix="Remove {name}, or load the version of the library that it was written for.",
)
def setting_of_no_library(view: View) -> Seen:
    for one, quote in _unknown(view.machine, misspelt=False):
        yield observed(
            f"{one.library} knows no {one.name}: it has no effect",
            quote,
            words={"name": one.name},
            setting=Setting({one.name: None}),
        )


@rule(
    "ucx-tls-without-gpu",
    "warning",
    "UCX_TLS leaves out what GPU memory needs",
    needs=("machine", "GPU", "UCX"),
    when="UCX_TLS, for cuda_copy or rocm_copy",
    fix="`unset UCX_TLS`, or set UCX_TLS={better}: {kind} stands for all transports of this GPU.",
)
def ucx_tls_without_gpu(view: View) -> Seen:
    value, quote = variable(view.machine, "UCX_TLS")
    kind = gpu_kind(view.machine)
    if value and _leaves_out_gpu(value, kind):
        listed = [one for one in value.lstrip("^").split(",") if not one.startswith(kind)]
        better = ("^" if value.startswith("^") else "") + ",".join(listed)
        better = better if value.startswith("^") else f"{better},{kind}"
        better = "all" if better in ("^", f",{kind}") else better
        yield observed(
            f"UCX_TLS={value} leaves out {kind}_copy, without which UCX cannot take GPU memory: "
            "messages from there fail, crash or never arrive",
            quote,
            words={"better": better, "kind": kind},
            setting=Setting({"UCX_TLS": better}, shown_by=SHORTEST_MESSAGE),
        )


def _leaves_out_gpu(value: str, kind: str) -> bool:
    listed = {one.strip().lstrip("\\") for one in value.lstrip("^").split(",")}
    has = bool(listed & {"all", *known_transports().for_gpu_memory[kind]})
    return has if value.startswith("^") else not has


@rule(
    "ucx-tls-tcp-only",
    "warning",
    "UCX_TLS allows TCP alone",
    needs=("machine", "MPI over UCX"),
    when="UCX_TLS, for shared memory and RDMA",
    fix="`unset UCX_TLS`.",
)
def ucx_tls_tcp_only(view: View) -> Seen:
    value, quote = variable(view.machine, "UCX_TLS")
    listed = set(value.split(","))
    if "tcp" in listed and listed <= known_transports().without_shared_memory:
        yield observed(
            f"UCX_TLS={value} leaves TCP alone, also between ranks of one node, which have "
            "shared memory",
            quote,
            setting=Setting(
                {"UCX_TLS": "all"},
                shown_by=SHORTEST_HOST_MESSAGE,
            ),
        )


@rule(
    "ucx-gpu-direct-off",
    "warning",
    "UCX may not use GPUDirect RDMA or gdrcopy",
    needs=("machine", "CUDA"),
    when="UCX_IB_GPU_DIRECT_RDMA=n, and UCX_TLS without gdr_copy",
    fix="Remove the setting: `unset {name}`.",
)
def ucx_gpu_direct_off(view: View) -> Seen:
    machine = view.machine
    value, quote = variable(machine, "UCX_IB_GPU_DIRECT_RDMA")
    if is_no(value) and machine.devices.rdma:
        yield observed(
            f"{quote.line} keeps the adapter away from GPU memory: between two nodes messages from "
            "32 KiB to 256 KiB were seen to take up to 60 times as long",
            quote,
            words={"name": "UCX_IB_GPU_DIRECT_RDMA"},
            setting=Setting({"UCX_IB_GPU_DIRECT_RDMA": None}, shown_by=SHORTEST_MESSAGE),
        )
    value, quote = variable(machine, "UCX_TLS")
    without = value.startswith("^") and "gdr_copy" in value.lstrip("^").split(",")
    if without and machine.ucx.has_module("uct_cuda_gdrcopy"):
        yield observed(
            f"{quote.line} leaves out gdrcopy, which this UCX has: 1 byte between two nodes was "
            "seen to take 25 to 95 us without it, and 4 with it",
            quote,
            words={"name": "UCX_TLS"},
            setting=Setting({"UCX_TLS": None}, shown_by=SHORTEST_MESSAGE),
        )


@rule(
    "ucx-settings-without-ucx",
    "note",
    "UCX is configured, and MPI does not use it",
    needs="machine",
    when="variables of UCX, where MPI does not use UCX",
    fix="Let MPI use UCX (`OMPI_MCA_pml=ucx`; on a host without a Mellanox adapter also "
    "OMPI_MCA_opal_common_ucx_tls=any and OMPI_MCA_opal_common_ucx_devices=any), or remove the "
    "variables.",
)
def ucx_settings_without_ucx(view: View) -> Seen:
    machine = view.machine
    own = [name for name in machine.environment if name.startswith("UCX_")]
    if not own:
        raise NotApplicable("no variable of UCX is set")
    if not uses_ucx(machine):
        pml, quote = parameter(machine, "pml")
        why = quote if pml else Quote("/sys/class/infiniband", "no Mellanox adapter")
        yield observed(
            f"{plural(len(own), 'variable')} of UCX ({', '.join(own[:4])}) and MPI does not use "
            "UCX here: they have no effect on it",
            Quote("environment", f"{own[0]}={machine.environment[own[0]]}"),
            why,
        )


@rule(
    "btl-settings-without-ob1",
    "note",
    "Open MPI's btl are configured, and pml ucx does not use them",
    needs=("machine", "Open MPI"),
    when="OMPI_MCA_btl beside OMPI_MCA_pml=ucx",
    fix="Choose one: `OMPI_MCA_pml=ob1` with these btl, or pml ucx without OMPI_MCA_btl (UCX_TLS "
    "chooses its transports).",
)
def btl_settings_without_ob1(view: View) -> Seen:
    pml, pml_quote = variable(view.machine, "OMPI_MCA_pml")
    btl, btl_quote = variable(view.machine, "OMPI_MCA_btl")
    if names(pml, "ucx") and btl and not btl.startswith("^"):
        yield observed(
            f"OMPI_MCA_btl={btl} has no effect on messages beside OMPI_MCA_pml={pml}, as UCX has "
            "transports of its own",
            pml_quote,
            btl_quote,
        )


_SHARED_MEMORY = ("vader", "sm", "smcuda")


@rule(
    "btl-list-incomplete",
    "warning",
    "OMPI_MCA_btl leaves out what ranks of a node need",
    needs=("machine", "Open MPI"),
    when="OMPI_MCA_btl, for self, shared memory and smcuda",
    fix="Remove the setting (`unset OMPI_MCA_btl`, or the line of the file), or say what is not "
    "wanted: `OMPI_MCA_btl=^openib`.",
)
def btl_list_incomplete(view: View) -> Seen:
    machine, info = view.machine, open_mpi(view.machine)
    btl, quote = parameter(machine, "btl")
    pml, _ = parameter(machine, "pml")
    if not btl or btl.startswith("^") or uses_ucx(machine) or names(pml, "cm"):
        return
    listed = btl.split(",")
    needs_smcuda = gpu_kind(machine) == "cuda" and info.has("btl", "smcuda")
    if "self" not in listed:
        lost = "without self no rank can send to itself, and MPI_Init fails"
    elif not set(listed) & set(_SHARED_MEMORY):
        lost = "ranks of one node have no shared memory and use the network, or do not start"
    elif needs_smcuda and "smcuda" not in listed:
        lost = "without smcuda messages between GPUs of a node go through host memory"
    else:
        return
    yield observed(
        f"Open MPI may use the btl {btl} alone: {lost}",
        quote,
        setting=Setting(
            {"OMPI_MCA_btl": None},
            shown_by=SHORTEST_MESSAGE if needs_smcuda else SHORTEST_HOST_MESSAGE,
        )
        if quote.source == "environment"
        else None,
    )


@rule(
    "more-threads-than-cores",
    "warning",
    "OMP_NUM_THREADS is larger than the number of cores",
    needs="machine",
    when="OMP_NUM_THREADS, and the cores that this process may use",
    fix="Set OMP_NUM_THREADS to at most {cores}, less where a node has several ranks; or give the "
    "process more cores (`--cpus-per-task` of Slurm, `--map-by slot:PE=N` of mpirun).",
)
def more_threads_than_cores(view: View) -> Seen:
    value, quote = variable(view.machine, "OMP_NUM_THREADS")
    first = value.partition(",")[0].strip()
    cores = view.machine.cpus.allowed_count
    if not first:
        raise NotApplicable("OMP_NUM_THREADS is not set")
    if first.isdecimal() and cores and cores < int(first[:6]) <= _MOST_THREADS:
        yield observed(
            f"OMP_NUM_THREADS is {first}, and this process may use {plural(cores, 'core')}: "
            "threads wait for each other in every barrier, and so does MPI",
            quote,
            Quote("/proc/self/status", f"Cpus_allowed_list: {view.machine.cpus.allowed}"),
            words={"cores": str(cores)},
            setting=Setting(
                {"OMP_NUM_THREADS": str(cores)},
                shown_by=("allreduce", "--bytes", "1M", "--memory", "host", "--transport", "mpi"),
            ),
        )
