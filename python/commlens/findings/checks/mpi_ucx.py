"""UCX below the MPI library."""

from __future__ import annotations

from commlens.findings.facts import gpu_kind, parameter, takes_ucx_anywhere
from commlens.findings.finding import Quote
from commlens.findings.rule import Seen, observed
from commlens.findings.view import not_seen
from commlens.machine.machine import Machine


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
