"""What uses this machine's cores now, in the words of a record."""

from __future__ import annotations

import os
import platform
import time

import psutil

from commlens.base.text import printable
from commlens.model.results import Interference, OtherProgram

INTERVAL_S = 0.5
_LEAST_SHARE = 0.05  # of a core, for a program to be named
_MOST_PROGRAMS = 3
_BUSY = ("user", "nice", "system", "irq", "softirq")  # guests are part of user and nice


def measure_load(seconds: float = INTERVAL_S) -> Interference | None:
    """What the programs on the cores that this process may use do for so many seconds from now;
    None where the system does not tell."""
    allowed = sorted(os.sched_getaffinity(0))
    try:
        used_before = _used_s()  # which takes time of a core: not between the readings
        before, began = _core_times(allowed), time.monotonic()
        time.sleep(seconds)
        elapsed = time.monotonic() - began
        after, used = _core_times(allowed), _used_s()
    except (OSError, psutil.Error, IndexError):
        return None
    shares: dict[str, float] = {}  # processes of one name are one program
    for process, (name, core, spent) in used.items():
        if core not in allowed:
            continue
        share = (spent - used_before.get(process, ("", 0, 0.0))[2]) / elapsed
        shares[printable(name)] = shares.get(printable(name), 0) + share
    most = sorted(shares.items(), key=lambda entry: -entry[1])[:_MOST_PROGRAMS]
    busy, stolen = (max(0.0, end - begin) / elapsed for begin, end in zip(before, after))
    host = platform.node()
    return Interference(
        seconds=elapsed,
        cores=len(allowed),
        busy_cores=busy,
        stolen_cores=stolen,
        programs=tuple(
            OtherProgram(name, host, share) for name, share in most if share >= _LEAST_SHARE
        ),
    )


def _core_times(cores: list[int]) -> tuple[float, float]:
    """Seconds in which they were busy, and that the hypervisor gave to others."""
    of_all = psutil.cpu_times(percpu=True)
    times = [of_all[core] for core in cores]
    busy = sum(getattr(core, name) for core in times for name in _BUSY)
    return busy, sum(getattr(core, "steal", 0.0) for core in times)


def _used_s() -> dict[int, tuple[str, int, float]]:
    """Of each process but this one its name, the core on which it ran last, and its time."""
    used = {}
    for process in psutil.process_iter(["name", "cpu_times", "cpu_num"]):
        name, times, core = (process.info[key] for key in ("name", "cpu_times", "cpu_num"))
        if times and core is not None and process.pid != os.getpid():
            used[process.pid] = (name or "?", core, times.user + times.system)
    return used
