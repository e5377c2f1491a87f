"""A finding: what is wrong, what shows it, what it costs, and what to set or change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from commlens.profile.record import Profile
from commlens.records.record import Record
from commlens.text import format_percent, format_time

# error: results cannot be trusted; warning: time is lost, or figures are not what they seem; note:
# what a reader of the figures should know.
Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")  # the worst first


@dataclass(frozen=True)
class Evidence:
    """What shows it. A picture of a group that has one of these records is a picture of it."""

    where: str  # `latency, 2 ranks, device, 64 KiB to 4 MiB`
    records: tuple[Record, ...] = ()  # those that say so, the worst first; empty of a profile
    profile: Profile | None = None  # the profile that says so, if it is one


@dataclass(frozen=True)
class Cost:
    """What would be won at most."""

    seconds: float  # per operation, of the worst record; of a profile: per rank, of the whole run
    share: float  # of the time of that operation or run, 0 to 1
    per: Literal["operation", "rank"]

    def __str__(self) -> str:
        """`8.6% of the time (860.0 ms per rank)`"""
        time = format_time(self.seconds)
        return f"{format_percent(self.share)} of the time ({time} per {self.per})"


@dataclass(frozen=True)
class Finding:
    code: str  # stable, such as `mpi-slower-than-staged`: docs/findings.md has a section of it
    severity: Severity
    title: str  # a few words, the same for all findings of this code
    sentence: str  # what was found, with numbers, units, and what it costs; ends with a full stop
    evidence: Evidence
    cost: Cost | None  # None: it costs no time, or nobody knows how much
    cure: str  # what to do, with the exact setting: sentences

    def __str__(self) -> str:
        return f"{self.sentence} {self.cure}"
