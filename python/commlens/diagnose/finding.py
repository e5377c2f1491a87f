"""A finding: what is wrong, what shows it, what it costs, and what to set or change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from commlens.profile.record import Profile
from commlens.records.record import Record
from commlens.text import format_percent, format_time

# error: results or times cannot be trusted; warning: time is lost, and there is a cure; note: what
# a reader of the figures should know.
Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")  # the worst first


@dataclass(frozen=True)
class Evidence:
    """What shows it: a picture of the groups that have one of these records is a picture of it."""

    where: str  # `latency of 2 ranks on node01, device memory, 64 KiB to 4 MiB`
    records: tuple[Record, ...] = ()  # those that say so, the worst first; empty: see profile
    profile: Profile | None = None  # the profile that says so, if it is one


@dataclass(frozen=True)
class Cost:
    """What would be won at most."""

    seconds: float  # per operation, of the worst record; of a profile: per rank of the whole run
    share: float  # of the time of that operation or run, 0 to 1
    per: Literal["operation", "rank"]

    def __str__(self) -> str:
        """`8.6% of the time (860.0 ms per rank)`"""
        return (
            f"{format_percent(self.share)} of the time ({format_time(self.seconds)} per {self.per})"
        )


@dataclass(frozen=True)
class Finding:
    code: str  # stable, such as `mpi-slower-than-staged`: docs/findings.md has a section of it
    severity: Severity
    title: str  # a few words, the same for all findings of this code
    sentence: str  # what was found, with its numbers and units and what it costs; ends with a stop
    evidence: Evidence
    cost: Cost | None  # None: it does not cost time, or how much is not known
    cure: str  # what to do, with the exact setting; sentences

    def __str__(self) -> str:
        return f"{self.sentence} {self.cure}"
