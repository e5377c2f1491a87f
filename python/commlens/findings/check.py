"""A check is a function that looks at a machine, its libraries and settings; `check` registers it.

It yields what it found, or one NotApplicable, or nothing where all is well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, Union

from commlens.findings.finding import Evidence, Finding, Quote, Setting, Severity
from commlens.findings.machine_view import DoctorView
from commlens.findings.registry import Observation, Registered, Registry

__all__ = ["Check", "NotApplicable", "Observed", "Outcome", "all_checks", "check", "not_seen"]

About = Literal[
    "MPI library", "kernel and driver", "hardware", "limits", "environment", "nodes", "placement",
    "behaviour",
]  # fmt: skip
ABOUTS: Sequence[About] = (
    "MPI library", "kernel and driver", "hardware", "limits", "environment", "nodes", "placement",
    "behaviour",
)  # fmt: skip
# Those that look at all nodes at once; the others look at each by itself.
_OF_ALL_NODES: Sequence[About] = ("nodes", "placement", "behaviour")
Level = Literal["problem", "advice"]
_SEVERITIES: Mapping[Level, Severity] = {"problem": "warning", "advice": "note"}
_MOST_QUOTES = 6


@dataclass(frozen=True)
class NotApplicable:
    reason: str  # `there is no GPU`


def not_seen(reason: str) -> NotApplicable:
    """Of what cannot be told here: `ucx_info is not installed`."""
    return NotApplicable(f"cannot be seen: {reason}")


def Observed(  # noqa: N802, it stands in the place of a class
    what: str,
    *quotes: Quote,
    where: str = "",
    words: Mapping[str, str] | None = None,
    kind: str = "",
    setting: Setting | None = None,
) -> Observation:
    """What a check found: a sentence without its full stop, and the lines that show it."""
    return Observation(what, Evidence(where, quotes=quotes), None, words or {}, kind, setting)


Seen = Iterator[Union[Observation, NotApplicable]]
Look = Callable[[DoctorView], Seen]


@dataclass(frozen=True)
class Outcome:
    """Of one check."""

    check: Check
    findings: Sequence[Finding] = ()
    reason: str = ""  # why it is not applicable

    @property
    def verdict(self) -> str:
        """`ok`, `advice`, `problem` or `not applicable`"""
        if self.findings:
            only_notes = all(one.severity == "note" for one in self.findings)
            return "advice" if only_notes else "problem"
        return "not applicable" if self.reason else "ok"


@dataclass(frozen=True)
class Check(Registered):
    about: About
    look: Look = lambda _: iter(())

    def outcome(self, view: DoctorView) -> Outcome:
        """Of the machines, those that the check says something of are named."""
        views = [view] if self.about in _OF_ALL_NODES else view.of_each_machine
        found: dict[str, list[Observation]] = {}
        reasons: list[str] = []
        for own in views:
            for one in self._seen(own):
                if isinstance(one, NotApplicable):
                    reasons.append(one.reason)
                else:
                    host = one.evidence.where or own.machine.host
                    here = replace(one, evidence=replace(one.evidence, where=host))
                    found.setdefault(one.what, []).append(here)
        names_nodes = len(view.machines) > 1 and self.about not in _OF_ALL_NODES
        merged = [_merged(own, names_nodes) for own in found.values()]
        return Outcome(self, tuple(self.findings_of(merged)), reasons[0] if reasons else "")

    def _seen(self, view: DoctorView) -> Iterator[Observation | NotApplicable]:
        """A check that fails says so: a machine may have what nobody has thought of."""
        try:
            yield from self.look(view)
        except Exception as error:
            yield not_seen(f"the check itself failed ({type(error).__name__}: {error})")


def _merged(own: Sequence[Observation], names_nodes: bool) -> Observation:
    """What several nodes have in common is said once, with their names."""
    first = own[0]
    hosts = list(dict.fromkeys(one.evidence.where for one in own))
    quotes = dict.fromkeys(quote for one in own for quote in one.evidence.quotes)
    evidence = replace(first.evidence, where=", ".join(hosts), quotes=tuple(quotes)[:_MOST_QUOTES])
    what = f"{first.what} ({', '.join(hosts)})" if names_nodes else first.what
    return replace(first, what=what, evidence=evidence)


_CHECKS: Registry[Check] = Registry("check", "commlens.findings.checks")


def check(
    code: str,
    level: Level,
    *,
    about: About,
    title: str,
    looks_at: str,
    fix: str | Mapping[str, str],
) -> Callable[[Look], Look]:
    """Registers the function below it. `code` is stable: it names the finding for ever.

    `title` says what is wrong, `looks_at` what is looked at: the latter stands in the line that is
    printed when the check has run. {names} in `fix` are the observation's words.
    """
    fixes = {"": fix} if isinstance(fix, str) else fix

    def register(look: Look) -> Look:
        _CHECKS.add(
            Check(
                code,
                _SEVERITIES[level],
                title,
                looks_at,
                fixes,
                look.__module__,
                about,
                look,
            )
        )
        return look

    return register


@cache
def all_checks() -> tuple[Check, ...]:
    """In the order in which they run."""
    return tuple(sorted(_CHECKS.all(), key=lambda one: ABOUTS.index(one.about)))
