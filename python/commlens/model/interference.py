"""Whether the machine was busy with something else while a case ran, and with what.

Records have what was read (`interference`), and so has a moment without a job (machine/load.py);
this module alone judges it. The limits are above what
a quiet machine shows: services take some percent of a core, and the kernel's accounts of busy cores
and of the job's processes differ by about 2%.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from commlens.base.text import plural
from commlens.model.launches import launches_of
from commlens.model.record import Record
from commlens.model.results import Interference

BUSY_CORES = 0.1  # that others may use,
BUSY_SHARE = 0.02  # and of each core of the job
STOLEN_CORES = 0.05
WAITING = 0.05  # of the time, where each rank has a core
USED_GPU = 0.02  # of its time: a process that only holds memory disturbs nobody
MACHINE_WAS_BUSY = "the machine was busy"


def limit_of_busy_cores(cores: int) -> float:
    """How many of so many cores others may keep busy on a quiet machine."""
    return BUSY_CORES + BUSY_SHARE * cores


def why_busy(record: Record) -> str:
    """`stress used 1.0 of 2 cores of node01`; empty where nothing disturbed it, or none is known.

    Of several launches the first that was disturbed counts.
    """
    return next(filter(None, map(_why_busy, launches_of(record))), "")


def why_disturbed(seen: Interference, is_oversubscribed: bool = False) -> str:
    """The same of what was seen, where ranks may outnumber cores."""
    return (
        _busy_cores(seen)
        or _stolen_cores(seen)
        or _waiting(seen, is_oversubscribed)
        or _shared_gpu(seen)
    )


def programs_of(records: Iterable[Record]) -> Sequence[str]:
    """The names of the programs that disturbed any of them, each once."""
    launches = (launch for record in records for launch in launches_of(record))
    seen = (launch.interference for launch in launches if _why_busy(launch))
    names = (
        name
        for interference in seen
        if interference is not None
        for name in (
            *(program.name for program in interference.programs),
            *(name for gpu in interference.gpus for name in gpu.processes),
        )
    )
    return list(dict.fromkeys(names))


def _why_busy(record: Record) -> str:
    seen = record.interference
    return why_disturbed(seen, record.start.is_oversubscribed) if seen else ""


def _busy_cores(seen: Interference) -> str:
    if (seen.busy_cores or 0) < limit_of_busy_cores(seen.cores):
        return ""
    names = ", ".join(program.name for program in seen.programs) or "other programs"
    hosts = list(dict.fromkeys(program.host for program in seen.programs))
    where = f" of {hosts[0]}" if hosts else ""
    return f"{names} used {seen.busy_cores:.1f} of {plural(seen.cores, 'core')}{where}"


def _stolen_cores(seen: Interference) -> str:
    if (seen.stolen_cores or 0) < STOLEN_CORES:
        return ""
    return f"the hypervisor gave {seen.stolen_cores:.2f} of {plural(seen.cores, 'core')} to others"


def _waiting(seen: Interference, is_oversubscribed: bool) -> str:
    if is_oversubscribed or (seen.waiting_fraction or 0) < WAITING:
        return ""
    return f"a rank waited for a core for {seen.waiting_fraction:.0%} of the time"


def _shared_gpu(seen: Interference) -> str:
    for gpu in seen.gpus:
        # Where nobody says how much they use it, they may only hold memory: that is no evidence.
        if gpu.utilization is not None and gpu.utilization >= USED_GPU:
            names = ", ".join(gpu.processes) or "another process"
            used = f"{gpu.utilization:.0%} of the time"
            return f"{names} used GPU {gpu.ordinal} of {gpu.host} for {used}"
    return ""
