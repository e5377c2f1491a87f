"""What is known when the probe has ended, and what is made of it."""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from commlens.jobs.messages import Death


class GpuSupport(Enum):
    SUPPORTED = "MPI takes GPU memory"
    UNSUPPORTED = "MPI must not be given GPU memory"
    BROKEN = "MPI does not start at all, for any memory"
    UNKNOWN = "the probe itself did not run"


@dataclass(frozen=True)
class Verdict:
    support: GpuSupport
    sentence: str = ""  # for SUPPORTED: advice, often none
    fix: Mapping[str, str] = field(default_factory=dict)  # the variables that it says to set


@dataclass(frozen=True)
class Step:
    """One call of the probe: `MPI_Send` of 1 byte from device memory."""

    rank: int
    call: str
    bytes: int | None = None
    memory: str | None = None

    def __str__(self) -> str:
        if self.bytes is None or self.memory is None:
            return self.call
        receives = "recv" in self.call.lower() and "send" not in self.call.lower()
        return f"{self.call} of {self.bytes} B {'to' if receives else 'from'} {self.memory} memory"


START = Step(-1, "MPI_Init")


@dataclass(frozen=True)
class Evidence:
    ranks: int
    begun: tuple[Step, ...] = ()
    open: tuple[Step, ...] = ()  # begun and not ended
    wrong: tuple[Step, ...] = ()  # ended with wrong data
    done: frozenset[int] = frozenset()  # ranks that came to the end
    mpi: str = ""  # "Open MPI 5.0.7"
    ucx: str | None = None
    says_gpu_aware: str = "unknown"
    how: str = ""
    log: str = ""  # the standard error, and what the launcher said
    death: Death | None = None
    status: int = 0
    said: str = ""  # by the native program, of a call that failed in order
    timed_out: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def pml(self) -> str:
        """Open MPI's messaging layer, empty where another library did not log one."""
        match = re.search(
            r"select: component (\w+) selected|selected (\w+) best priority", self.log
        )
        return next((name for name in match.groups() if name), "") if match else ""

    @property
    def ucx_refused(self) -> bool:
        return "init returned failure for component ucx" in self.log

    @property
    def ucx_passed_over(self) -> bool:
        """Refused, or, where a GPU's own transports would do, given a priority below that of
        ob1."""
        return self.ucx_refused or "component ucx not selected" in self.log

    @property
    def ucx_in_use(self) -> bool:
        return self.pml == "ucx" if self.pml else self.ucx is not None

    @property
    def library(self) -> str:
        """`Open MPI 5.0.7 with UCX 1.22.0`"""
        if self.ucx_in_use:
            return f"{self.mpi} with UCX {self.ucx}" if self.ucx else f"{self.mpi} with UCX"
        return f"{self.mpi} over pml {self.pml}" if self.pml else self.mpi

    @property
    def culprit(self) -> Step | None:
        """The call that did not come back: of the rank that died if that is known, else a send
        before its receive."""
        dead = self.death.rank if self.death else None
        suspects = sorted(self.open, key=lambda step: (step.rank != dead, "Send" not in step.call))
        return suspects[0] if suspects else None

    @property
    def end(self) -> str:
        """`crashed (SIGSEGV)`, or `failed (why)` where no signal ended it."""
        if self.death:
            return f"crashed ({signal.Signals(self.death.signal).name})"
        return f"failed ({self.said or f'exit status {self.status}'})"

    @property
    def crashed(self) -> bool:
        is_whole = self.death is None and self.status == 0 and len(self.done) == self.ranks
        return not self.timed_out and not is_whole

    @property
    def tried_device(self) -> bool:
        return any(step.memory == "device" for step in self.begun)
