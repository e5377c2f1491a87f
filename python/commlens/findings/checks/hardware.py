"""Hardware: GPUs, and the processors beside them"""

from __future__ import annotations

from commlens.findings.checks.entries import gpu_quote, known_gpus, such_gpus
from commlens.findings.finding import Quote
from commlens.findings.rule import Seen, observed, rule
from commlens.findings.rules.clocks import POWER_CODE, POWER_FIX, POWER_TITLE, is_lowered
from commlens.findings.view import View, not_seen
from commlens.machine.gpus import Gpu

# What lowers clocks because something is wrong with the machine; a power cap in software is the
# power limit at work, and an idle GPU lowers its clock by itself.
_TROUBLE = {
    "hw slowdown": "the hardware slows it down",
    "hw thermal slowdown": "it is too hot",
    "hw power brake slowdown": "the power supply asks for less",
    "sw thermal slowdown": "the driver keeps it from getting too hot",
}


@rule(
    "gpu-throttled",
    "warning",
    "a GPU's clock is lowered by heat or power supply",
    needs=("machine", "GPU of the driver"),
    when="why GPUs lower their clocks",
    fix="Ask the administrator to look at cooling and power supply of the node: `nvidia-smi -q -d "
    "PERFORMANCE,TEMPERATURE,POWER`. Its results are below those of its kind.",
)
def gpu_throttled(view: View) -> Seen:
    for gpu in known_gpus(view.machine, "clock_limits"):
        found = [one for one in gpu.clock_limits or () if one in _TROUBLE]
        if found:
            clock = f" of {gpu.clock_MHz:.0f} MHz" if gpu.clock_MHz else ""
            yield observed(
                f"The clock{clock} of {gpu} is lowered: {_TROUBLE[found[-1]]}",
                *(gpu_quote(view.machine, gpu, f"{one}: Active") for one in found),
            )


@rule(
    POWER_CODE,
    "warning",
    POWER_TITLE,
    needs=("machine", "GPU of the driver"),
    when="power limits of GPUs, against their defaults",
    fix=POWER_FIX,
)
def gpu_power_limit_lowered(view: View) -> Seen:
    machine = view.machine
    gpus = known_gpus(machine, "power_limit_W", "default_power_limit_W")
    bad = [gpu for gpu in gpus if is_lowered(gpu.power_limit_W, gpu.default_power_limit_W)]
    if bad:
        now, usual = bad[0].power_limit_W or 0, bad[0].default_power_limit_W or 0
        yield observed(
            f"The power limit of {such_gpus(gpus, bad)} is {now:.0f} W, and the default is "
            f"{usual:.0f} W",
            *(gpu_quote(machine, gpu, _limits(gpu)) for gpu in bad),
            words={"default": f"{usual:.0f}"},
        )


def _limits(gpu: Gpu) -> str:
    return f"{gpu.power_limit_W:.0f} of {gpu.default_power_limit_W:.0f} W"


@rule(
    "cpu-powersave",
    "note",
    "processors save power",
    needs="machine",
    when="the frequency governor of the processors",
    fix="Ask the administrator for `cpupower frequency-set --governor performance`: short "
    "messages take longer where a processor must first become faster.",
)
def cpu_powersave(view: View) -> Seen:
    cpus = view.machine.cpus
    folder = "/sys/devices/system/cpu/cpu0/cpufreq"
    # These drivers choose the frequency themselves, and say powersave for all but the fastest.
    adaptive = cpus.frequency_driver in ("intel_pstate", "amd-pstate-epp")
    if cpus.governor is None:
        raise not_seen(cpus.unseen.get("frequency governor", "the frequency governor"))
    if cpus.governor == "powersave" and not adaptive:
        yield observed(
            "The frequency governor powersave keeps processors at their lowest frequency",
            Quote(f"{folder}/scaling_governor", cpus.governor),
        )
    elif adaptive and cpus.energy_preference == "power":
        yield observed(
            "Processors prefer to save power",
            Quote(f"{folder}/energy_performance_preference", "power"),
        )
