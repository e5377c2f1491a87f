"""GPUs, and the processors beside them."""

from __future__ import annotations

from commlens.findings.checks.conditions import gpu_quote, known_gpus, such_gpus
from commlens.findings.finding import Quote
from commlens.findings.rule import Seen, observed
from commlens.findings.rules.clocks import is_lowered
from commlens.findings.view import not_seen
from commlens.machine.machine import Machine

_FREQUENCY = "/sys/devices/system/cpu/cpu0/cpufreq"


def gpu_throttled(machine: Machine, **trouble: str) -> Seen:
    """`trouble`: what lowers clocks because something is wrong with the machine. A power cap in
    software is the power limit at work, and an idle GPU lowers its clock by itself."""
    for gpu in known_gpus(machine, "clock_limits"):
        found = [one for one in gpu.clock_limits or () if one in trouble]
        if found:
            quotes = (gpu_quote(machine, gpu, f"{one}: Active") for one in found)
            clock = f" of {gpu.clock_MHz:.0f} MHz" if gpu.clock_MHz else ""
            yield observed(*quotes, clock=clock, gpu=gpu, why=trouble[found[-1]])


def gpu_power_limit_lowered(machine: Machine) -> Seen:
    gpus = known_gpus(machine, "power_limit_W", "default_power_limit_W")
    bad = [gpu for gpu in gpus if is_lowered(gpu.power_limit_W, gpu.default_power_limit_W)]
    if bad:
        limits = [(gpu, f"{gpu.power_limit_W:.0f} of {gpu.default_power_limit_W:.0f} W")
                  for gpu in bad]  # fmt: skip
        quotes = (gpu_quote(machine, *one) for one in limits)
        first = bad[0]
        yield observed(
            *quotes, such=such_gpus(gpus, bad), now=first.power_limit_W,
            usual=first.default_power_limit_W,
        )  # fmt: skip


def cpu_powersave(machine: Machine) -> Seen:
    cpus = machine.cpus
    # These drivers choose the frequency themselves, and say powersave for all but the fastest.
    adaptive = cpus.frequency_driver in ("intel_pstate", "amd-pstate-epp")
    if cpus.governor is None:
        raise not_seen(cpus.unseen.get("frequency governor", "the frequency governor"))
    if cpus.governor == "powersave" and not adaptive:
        yield observed(Quote(f"{_FREQUENCY}/scaling_governor", "powersave"))
    elif adaptive and cpus.energy_preference == "power":
        quote = Quote(f"{_FREQUENCY}/energy_performance_preference", "power")
        yield observed(quote, which="by preference")
