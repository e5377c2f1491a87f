"""How busy this machine's cores are now, and with what."""

from __future__ import annotations

import os
import time

import psutil
from msgspec import Struct

from commlens.base.text import plural, printable
from commlens.model.interference import limit_of_busy_cores

INTERVAL_S = 0.5
_LEAST_SHARE = 0.05  # of a core, for a program to be named
_MOST_PROGRAMS = 3
_IDLE = ("idle", "iowait", "guest", "guest_nice", "steal")  # guests are part of user


class Load(Struct, frozen=True):
    """What the programs on the cores that this process may use did during some time."""

    cores: int
    busy_cores: float
    programs: tuple[tuple[str, float], ...]  # those that used most, with their cores

    @property
    def why_busy(self) -> str:
        """`stress used 1.0 of 2 cores`; empty where the cores are quiet."""
        if self.busy_cores < limit_of_busy_cores(self.cores):
            return ""
        names = ", ".join(name for name, _ in self.programs) or "other programs"
        return f"{names} used {self.busy_cores:.1f} of {plural(self.cores, 'core')}"


def measure_load(seconds: float = INTERVAL_S) -> Load | None:
    """The load of so many seconds from now; None where the system does not tell."""
    allowed = sorted(os.sched_getaffinity(0))
    try:
        used_before = _used_s()  # which takes time of a core: not between the readings
        before, began = _busy_s(allowed), time.monotonic()
        time.sleep(seconds)
        elapsed = time.monotonic() - began
        busy, used = _busy_s(allowed) - before, _used_s()
    except (OSError, psutil.Error, IndexError):
        return None
    shares: dict[str, float] = {}  # processes of one name are one program
    for process, (name, core, spent) in used.items():
        if core not in allowed:
            continue
        share = (spent - used_before.get(process, ("", 0, 0.0))[2]) / elapsed
        shares[printable(name)] = shares.get(printable(name), 0) + share
    most = sorted(shares.items(), key=lambda entry: -entry[1])[:_MOST_PROGRAMS]
    programs = [entry for entry in most if entry[1] >= _LEAST_SHARE]
    return Load(len(allowed), busy / elapsed, tuple(programs))


def _busy_s(cores: list[int]) -> float:
    times = psutil.cpu_times(percpu=True)
    return sum(
        sum(times[core]) - sum(getattr(times[core], name, 0.0) for name in _IDLE) for core in cores
    )


def _used_s() -> dict[int, tuple[str, int, float]]:
    """Of each process but this one its name, the core on which it ran last, and its time."""
    used = {}
    for process in psutil.process_iter(["name", "cpu_times", "cpu_num"]):
        name, times, core = (process.info[key] for key in ("name", "cpu_times", "cpu_num"))
        if times and core is not None and process.pid != os.getpid():
            used[process.pid] = (name or "?", core, times.user + times.system)
    return used
