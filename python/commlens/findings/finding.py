"""A finding: what is wrong, what shows it, what it costs, and what to set or change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from commlens.base.text import format_percent, format_time
from commlens.model.profile import Profile
from commlens.model.record import Record

# error: results cannot be trusted; warning: time is lost, or figures are not what they seem; note:
# what a reader of the figures should know.
Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")  # the worst first


@dataclass(frozen=True)
class Quote:
    """A line that shows it, as it stands there."""

    source: str  # the file, the command as typed, or `environment`
    line: str

    def __str__(self) -> str:
        return f"{self.source}: {self.line}"


@dataclass(frozen=True)
class Evidence:
    """What shows it. A picture of a group that has one of these records is a picture of it."""

    where: str  # `latency, 2 ranks, device, 64 KiB to 4 MiB`
    records: tuple[Record, ...] = ()  # those that say so, the worst first; empty of a profile
    profile: Profile | None = None  # the profile that says so, if it is one
    quotes: tuple[Quote, ...] = ()  # of files and of commands, where a check of the machine says so


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
class Setting:
    """A fix that is a setting, as programs read it; and the smallest run that shows what it
    does."""

    variables: Mapping[str, str | None] = field(default_factory=dict)  # None: not set at all
    launcher_arguments: tuple[str, ...] = ()  # in place of the user's own
    shown_by: tuple[str, ...] = ()  # a benchmark and its options; empty: by none

    def __str__(self) -> str:
        """`UCX_TLS=all`, `unset NCCL_ALGO`, `--bind-to core`"""
        words = [
            f"unset {name}" if value is None else f"{name}={value}"
            for name, value in self.variables.items()
        ]
        return ", ".join(
            [*words, *([" ".join(self.launcher_arguments)] * bool(self.launcher_arguments))]
        )


@dataclass(frozen=True)
class Finding:
    code: str  # stable, such as `mpi-slower-than-staged`: docs/findings.md has a section of it
    severity: Severity
    title: str  # a few words, the same for all findings of this code
    sentence: str  # what was found, with numbers, units, and what it costs; ends with a full stop
    evidence: Evidence
    cost: Cost | None  # None: it costs no time, or nobody knows how much
    fix: str  # what to do, with the exact setting: sentences
    setting: Setting | None = None  # the fix, if it is one that can be tried

    def __str__(self) -> str:
        return f"{self.sentence} {self.fix}"
