"""Variables of the environment."""

from __future__ import annotations

from commlens.findings.entry import is_no
from commlens.findings.facts import (
    RUNS,
    gpu_kind,
    names,
    open_mpi,
    parameter,
    uses_ucx,
    variable,
)
from commlens.findings.finding import Quote, Setting
from commlens.findings.rule import Seen, observed
from commlens.findings.view import NotApplicable
from commlens.machine.machine import Machine
from commlens.machine.messaging import known_transports

_SHARED_MEMORY = {"vader", "sm", "smcuda"}


def unknown_settings(machine: Machine, is_near: bool) -> Seen:
    """Of variables that their library does not know those with a likely spelling, or without."""
    info = machine.mpi.open_mpi
    for unknown in (*machine.ucx.unknown, *machine.nccl.unknown, *(info.unknown if info else ())):
        if bool(unknown.near) == is_near:
            yield observed(variable=unknown)


def ucx_tls_without_gpu(machine: Machine) -> Seen:
    value, quote = variable(machine, "UCX_TLS")
    kind, excludes = gpu_kind(machine), value.startswith("^")
    listed = value.lstrip("^").split(",")
    fitting = {"all", *known_transports().for_gpu_memory[kind]}
    plain = {name.strip().lstrip("\\") for name in listed}
    if value and excludes != fitting.isdisjoint(plain):
        rest = [name for name in listed if not name.startswith(kind)]
        better = f"^{','.join(rest)}" if excludes else ",".join([*rest, kind])
        better = "all" if better in ("^", f",{kind}") else better
        yield observed(quote, value=value, better=better, kind=kind)


def ucx_tls_tcp_only(machine: Machine) -> Seen:
    value, quote = variable(machine, "UCX_TLS")
    listed = set(value.split(","))
    if "tcp" in listed and listed <= known_transports().without_shared_memory:
        yield observed(quote, value=value)


def ucx_gpu_direct_off(machine: Machine) -> Seen:
    value, quote = variable(machine, "UCX_IB_GPU_DIRECT_RDMA")
    if is_no(value) and machine.devices.rdma:
        yield observed(quote, which="RDMA", line=quote.line, name="UCX_IB_GPU_DIRECT_RDMA")
    value, quote = variable(machine, "UCX_TLS")
    without = value.startswith("^") and "gdr_copy" in value.lstrip("^").split(",")
    if without and machine.ucx.has_module("uct_cuda_gdrcopy"):
        yield observed(quote, which="gdrcopy", line=quote.line, name="UCX_TLS")


def ucx_settings_without_ucx(machine: Machine) -> Seen:
    variables = [name for name in machine.environment if name.startswith("UCX_")]
    if not variables:
        raise NotApplicable("no variable of UCX is set")
    if not uses_ucx(machine):
        pml, quote = parameter(machine, "pml")
        why = quote if pml else Quote("/sys/class/infiniband", "no Mellanox adapter")
        first = Quote("environment", f"{variables[0]}={machine.environment[variables[0]]}")
        yield observed(first, why, variables=variables, names=variables[:4])


def btl_settings_without_ob1(machine: Machine) -> Seen:
    pml, pml_quote = variable(machine, "OMPI_MCA_pml")
    btl, btl_quote = variable(machine, "OMPI_MCA_btl")
    if names(pml, "ucx") and btl and not btl.startswith("^"):
        yield observed(pml_quote, btl_quote, pml=pml, btl=btl)


def btl_list_incomplete(machine: Machine) -> Seen:
    btl, quote = parameter(machine, "btl")
    pml, _ = parameter(machine, "pml")
    if not btl or btl.startswith("^") or uses_ucx(machine) or names(pml, "cm"):
        return
    listed = set(btl.split(","))
    needs_smcuda = gpu_kind(machine) == "cuda" and open_mpi(machine).has("btl", "smcuda")
    lost = {
        "self": "self" not in listed,
        "shared memory": not listed & _SHARED_MEMORY,
        "smcuda": needs_smcuda and "smcuda" not in listed,
    }
    run = RUNS["shortest message" if needs_smcuda else "shortest host message"]
    in_environment = quote.source == "environment"
    for which in [name for name, is_lost in lost.items() if is_lost][:1]:
        setting = Setting({"OMPI_MCA_btl": None}, shown_by=run) if in_environment else None
        yield observed(quote, which=which, setting=setting, btl=btl)


def more_threads_than_cores(machine: Machine, most_threads: int) -> Seen:
    value, quote = variable(machine, "OMP_NUM_THREADS")
    first = value.partition(",")[0].strip()
    cores = machine.cpus.allowed_count
    if not first:
        raise NotApplicable("OMP_NUM_THREADS is not set")
    if first.isdecimal() and cores and cores < int(first[:6]) <= most_threads:
        yield observed(quote, threads=first, cores=cores)
