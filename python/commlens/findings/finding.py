"""A finding: what is wrong, what shows it, what it costs, and what to set or change."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from commlens.base.text import format_percent, format_time, printable
from commlens.model.profile import Profile
from commlens.model.record import Record

# error: results cannot be trusted; warning: time is lost, or values are not what they seem; note:
# what a reader of the values should know.
Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")  # the worst first
WIDEST = 100  # columns of a finding in a terminal
_NARROWEST = 40
NEAR = 1.5  # times or a fraction of a limit: by so much two runs of a program differ
MOST = 10  # findings that are printed, unless all are asked for


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

    where: str  # `latency, 2 ranks, device, 64 KiB to 4 MiB`; or the hosts
    records: tuple[Record, ...] = ()  # the worst first; empty of a profile or a machine
    profile: Profile | None = None
    quotes: tuple[Quote, ...] = ()  # of files and of commands


@dataclass(frozen=True)
class Cost:
    """What would be won at most; of page faults, at least."""

    seconds: float  # per operation, of the worst record; of a profile: per rank, of the whole run
    share: float  # of the time of that operation or run, 0 to 1
    per: Literal["operation", "rank"]
    limit: float = 0.0  # the share from which it is a finding, in a program that ran once

    @property
    def is_near(self) -> bool:
        """Whether the next run of the same program may be on the other side of the limit."""
        return self.share < NEAR * self.limit

    def __str__(self) -> str:
        """`8.6% of the time (860.0 ms per rank)`"""
        time = format_time(self.seconds)
        near = f", near the limit of {self.limit:.0%}" if self.is_near else ""
        return f"{format_percent(self.share)} of the time ({time} per {self.per}){near}"


@dataclass(frozen=True)
class Setting:
    """A fix that programs read, and the smallest run that shows what it does."""

    variables: Mapping[str, str | None] = field(default_factory=dict)  # None: not set at all
    launcher_arguments: tuple[str, ...] = ()  # in place of the user's own
    shown_by: tuple[str, ...] = ()  # a benchmark and its options; empty: by none

    def __str__(self) -> str:
        """`UCX_TLS=all`, `unset NCCL_ALGO`, `--bind-to core`"""
        words = [
            f"unset {name}" if value is None else f"{name}={value}"
            for name, value in self.variables.items()
        ]
        return ", ".join(filter(None, (*words, " ".join(self.launcher_arguments))))


@dataclass(frozen=True)
class Finding:
    """A diagnosis of one place, made by the rule with this code."""

    code: str  # stable, such as `mpi-slower-than-staged`: the reference has a section of it
    severity: Severity
    subject: str  # what is wrong in a few words, the same for all findings of this code
    sentence: str  # with numbers, units, and what it costs; ends with a full stop
    evidence: Evidence
    cost: Cost | None  # None: it costs no time, or nobody knows how much
    fix: str  # what to do, with the exact setting: sentences
    setting: Setting | None = None  # the fix, if it is one that can be tried

    def __str__(self) -> str:
        return f"{self.sentence} {self.fix}"


def worst_first(finding: Finding) -> tuple[int, float, str]:
    """The key that sorts findings: by severity, then by cost, then by code."""
    share = finding.cost.share if finding.cost else 0.0
    return SEVERITIES.index(finding.severity), -share, finding.code


def finding_lines(finding: Finding, head: str, width: int = WIDEST, more: int = 0) -> list[str]:
    """`warning: Ranks share cores ... . Start no more ... [ranks-share-cores]`, wrapped.

    `more`: how many of the same code are not shown.
    """
    also = f" (and {more} more)" if more else ""
    return textwrap.wrap(
        printable(f"{head}: {finding} [{finding.code}]{also}"),
        max(_NARROWEST, min(width, WIDEST)),
        subsequent_indent="  ",
        break_on_hyphens=False,
    )


def shortened(findings: Iterable[Finding]) -> Iterator[tuple[Finding, int]]:
    """The worst finding of each code with how many more there are of it, as few as one reads."""
    by_code: dict[str, list[Finding]] = {}
    for finding in findings:
        by_code.setdefault(finding.code, []).append(finding)
    for alike in list(by_code.values())[:MOST]:
        yield alike[0], len(alike) - 1


def hint(hidden: int, command: str) -> str:
    """How to see those that a list leaves out; empty where it has all."""
    return f"{hidden} more: commlens {command} --findings all" if hidden else ""
