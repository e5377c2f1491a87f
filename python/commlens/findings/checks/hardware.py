"""Hardware: GPUs, and the processors beside them"""

from __future__ import annotations

from collections.abc import Sequence

from commlens.base.text import plural
from commlens.findings import Quote
from commlens.findings.check import NotApplicable, Observed, Seen, check, not_seen
from commlens.findings.machine_view import DoctorView
from commlens.findings.rules.clocks import POWER_CODE, POWER_FIX, POWER_TITLE, is_lowered
from commlens.machine.gpus import Gpu

# What lowers clocks because something is wrong with the machine; a power cap in software is the
# power limit at work, and an idle GPU lowers its clock by itself.
_TROUBLE = {
    "hw slowdown": "the hardware slows it down",
    "hw thermal slowdown": "it is too hot",
    "hw power brake slowdown": "the power supply asks for less",
    "sw thermal slowdown": "the driver keeps it from getting too hot",
}


def known(view: DoctorView, *fields: str) -> tuple[list[Gpu], list[NotApplicable]]:
    """The GPUs of which all of `fields` are known; else why there are none."""
    own = view.machine.gpus
    if not own.gpus:
        return [], [NotApplicable(own.why_none)]
    found = [gpu for gpu in own.gpus if all(getattr(gpu, name) is not None for name in fields)]
    return found, [] if found else [not_seen(f"{own.source} does not say it of these GPUs")]


def quote(view: DoctorView, gpu: Gpu, line: str) -> Quote:
    return Quote(view.machine.gpus.source, f"{gpu.pci or gpu.index}: {line}")


def _such(gpus: Sequence[Gpu], bad: Sequence[Gpu]) -> str:
    """`GPU 0`, `GPUs 0, 1 and 2`, `all 8 GPUs`"""
    if len(bad) == len(gpus) > 1:
        return f"all {len(gpus)} GPUs"
    *most, last = [str(gpu.index) for gpu in bad]
    return f"GPUs {', '.join(most)} and {last}" if most else f"GPU {last}"


@check(
    "gpu-memory-errors",
    "problem",
    about="hardware",
    title="a GPU's memory has errors that were not corrected",
    looks_at="uncorrected errors of GPU memory (ECC)",
    fix="Use other nodes until the GPU was reset or replaced: ask the administrator for "
    "`nvidia-smi -q -d ECC,ROW_REMAPPER` (`amd-smi metric --ecc`) and the kernel's log.",
)
def gpu_memory_errors(view: DoctorView) -> Seen:
    gpus, none = known(view, "uncorrected_errors")
    yield from none
    for gpu in gpus:
        if gpu.uncorrected_errors:
            count = plural(gpu.uncorrected_errors, "uncorrected error")
            yield Observed(
                f"The memory of {gpu} had {count} since its driver was loaded: results may be "
                "wrong, and programs that used it were ended",
                quote(view, gpu, f"uncorrected errors: {gpu.uncorrected_errors}"),
            )


@check(
    "gpu-repair-pending",
    "problem",
    about="hardware",
    title="a GPU's memory waits for a repair",
    looks_at="rows or pages of GPU memory that are replaced by the next reset",
    fix="Ask the administrator to drain the node and to reset the GPU (`nvidia-smi "
    "--gpu-reset`); where remapping has failed, to replace it.",
)
def gpu_repair_pending(view: DoctorView) -> Seen:
    gpus, none = known(view, "repair_pending")
    yield from none
    for gpu in gpus:
        if gpu.repair_failed:
            yield Observed(
                f"Remapping rows of the memory of {gpu} has failed",
                quote(view, gpu, "remapped_row_failure: Yes"),
            )
        elif gpu.repair_pending:
            yield Observed(
                f"Rows or pages of the memory of {gpu} are to be replaced by the next reset",
                quote(view, gpu, "repair pending: Yes"),
            )


@check(
    "gpu-needs-reset",
    "problem",
    about="hardware",
    title="a GPU must be reset before it works again",
    looks_at="what the driver recommends for GPUs that have failed",
    fix="Use other nodes, and ask the administrator to do it: {action}.",
)
def gpu_needs_reset(view: DoctorView) -> Seen:
    gpus, none = known(view, "recovery")
    yield from none
    for gpu in gpus:
        if gpu.recovery and gpu.recovery != "None":
            yield Observed(
                f"{gpu} has failed, and its driver recommends: {gpu.recovery}",
                quote(view, gpu, f"recovery action: {gpu.recovery}"),
                words={"action": gpu.recovery},
            )


@check(
    "gpu-throttled",
    "problem",
    about="hardware",
    title="a GPU's clock is lowered by heat or power supply",
    looks_at="why GPUs lower their clocks",
    fix="Ask the administrator to look at cooling and power supply of the node: `nvidia-smi -q -d "
    "PERFORMANCE,TEMPERATURE,POWER`. Figures of this GPU are below those of its kind.",
)
def gpu_throttled(view: DoctorView) -> Seen:
    gpus, none = known(view, "clock_limits")
    yield from none
    for gpu in gpus:
        found = [one for one in gpu.clock_limits or () if one in _TROUBLE]
        if found:
            clock = f" of {gpu.clock_MHz:.0f} MHz" if gpu.clock_MHz else ""
            yield Observed(
                f"The clock{clock} of {gpu} is lowered: {_TROUBLE[found[-1]]}",
                *(quote(view, gpu, f"{one}: Active") for one in found),
            )


@check(
    POWER_CODE,
    "problem",
    about="hardware",
    title=POWER_TITLE,
    looks_at="power limits of GPUs, against their defaults",
    fix=POWER_FIX,
)
def gpu_power_limit_lowered(view: DoctorView) -> Seen:
    gpus, none = known(view, "power_limit_W", "default_power_limit_W")
    yield from none
    bad = [gpu for gpu in gpus if is_lowered(gpu.power_limit_W, gpu.default_power_limit_W)]
    if bad:
        now, usual = bad[0].power_limit_W or 0, bad[0].default_power_limit_W or 0
        yield Observed(
            f"The power limit of {_such(gpus, bad)} is {now:.0f} W, and the default is "
            f"{usual:.0f} W",
            *(
                quote(view, gpu, f"{gpu.power_limit_W:.0f} of {gpu.default_power_limit_W:.0f} W")
                for gpu in bad
            ),
            words={"default": f"{usual:.0f}"},
        )


@check(
    "gpu-compute-prohibited",
    "problem",
    about="hardware",
    title="programs may not use a GPU",
    looks_at="compute modes of GPUs: whether any program may use them",
    fix="Ask the administrator for `nvidia-smi --compute-mode=DEFAULT`.",
)
def gpu_compute_prohibited(view: DoctorView) -> Seen:
    gpus, none = known(view, "compute_mode")
    yield from none
    bad = [gpu for gpu in gpus if gpu.compute_mode == "Prohibited"]
    if bad:
        yield Observed(
            f"No program may use {_such(gpus, bad)}",
            *(quote(view, gpu, "compute_mode: Prohibited") for gpu in bad),
        )


@check(
    "gpu-exclusive",
    "advice",
    about="hardware",
    title="one process at a time may use a GPU",
    looks_at="compute modes of GPUs: whether several processes may use one",
    fix="Start no more ranks than there are GPUs, or the multi-process service "
    "(`nvidia-cuda-mps-control -d`); or ask the administrator for `nvidia-smi "
    "--compute-mode=DEFAULT`.",
)
def gpu_exclusive(view: DoctorView) -> Seen:
    gpus, none = known(view, "compute_mode")
    yield from none
    bad = [gpu for gpu in gpus if is_exclusive(gpu)]
    if bad:
        yield Observed(
            f"One process at a time may use {_such(gpus, bad)}: a second rank there fails",
            *(quote(view, gpu, f"compute_mode: {gpu.compute_mode}") for gpu in bad),
        )


def is_exclusive(gpu: Gpu) -> bool:
    return (gpu.compute_mode or "").startswith("Exclusive")


@check(
    "gpu-partitioned",
    "problem",
    about="hardware",
    title="a GPU is divided into instances (MIG)",
    looks_at="multi-instance mode (MIG) of GPUs",
    fix="Ask the administrator for `nvidia-smi -mig 0`, or for nodes without MIG: the instances "
    "of a GPU have no peer access, over NVLink neither, and NCCL uses one of them per job.",
)
def gpu_partitioned(view: DoctorView) -> Seen:
    gpus, none = known(view, "mig")
    yield from none
    bad = [gpu for gpu in gpus if gpu.mig]
    if bad:
        yield Observed(
            f"MIG is enabled on {_such(gpus, bad)}: GPUs there cannot reach each other's memory",
            *(quote(view, gpu, "current_mig: Enabled") for gpu in bad),
        )


@check(
    "gpu-persistence-off",
    "advice",
    about="hardware",
    title="persistence mode is off",
    looks_at="persistence mode of GPUs",
    fix="Ask the administrator for nvidia-persistenced (or `nvidia-smi -pm 1`): without it the "
    "driver initializes the GPU for each first program, which takes seconds, and forgets clocks "
    "and limits.",
)
def gpu_persistence_off(view: DoctorView) -> Seen:
    gpus, none = known(view, "persistence")
    yield from none
    bad = [gpu for gpu in gpus if gpu.persistence is False]
    if bad:
        yield Observed(
            f"Persistence mode is off on {_such(gpus, bad)}",
            *(quote(view, gpu, "persistence_mode: Disabled") for gpu in bad),
        )


@check(
    "gpus-hidden",
    "advice",
    about="hardware",
    title="a job may not use all GPUs",
    looks_at="GPUs that are installed, and those that this process may use",
    fix="Ask for all of them (`--gpus-per-node={installed}` of Slurm, `--gpus all` of a "
    "container), if the others are not another job's.",
)
def gpus_hidden(view: DoctorView) -> Seen:
    own = view.machine.gpus
    if not own.gpus:
        yield NotApplicable(own.why_none)
    elif len(own.installed) > len(own.gpus):
        yield Observed(
            f"The driver shows {plural(len(own.gpus), 'GPU')}, and {len(own.installed)} are "
            "installed",
            Quote("/sys/bus/pci/devices", ", ".join(own.installed)),
            words={"installed": str(len(own.installed))},
        )


@check(
    "cpu-powersave",
    "advice",
    about="hardware",
    title="processors save power",
    looks_at="the frequency governor of the processors",
    fix="Ask the administrator for `cpupower frequency-set --governor performance`: short "
    "messages take longer where a processor must first become faster.",
)
def cpu_powersave(view: DoctorView) -> Seen:
    cpus = view.machine.cpus
    folder = "/sys/devices/system/cpu/cpu0/cpufreq"
    # These drivers choose the frequency themselves, and say powersave for all but the fastest.
    adaptive = cpus.frequency_driver in ("intel_pstate", "amd-pstate-epp")
    if cpus.governor is None:
        yield not_seen(cpus.unseen.get("frequency governor", "the frequency governor"))
    elif cpus.governor == "powersave" and not adaptive:
        yield Observed(
            "The frequency governor powersave keeps processors at their lowest frequency",
            Quote(f"{folder}/scaling_governor", cpus.governor),
        )
    elif adaptive and cpus.energy_preference == "power":
        yield Observed(
            "Processors prefer to save power",
            Quote(f"{folder}/energy_performance_preference", "power"),
        )
