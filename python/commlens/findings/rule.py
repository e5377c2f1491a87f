"""A rule is a function that looks at a view of records and profiles; `rule` registers it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from commlens.findings.finding import SEVERITIES, Finding, Severity
from commlens.findings.registry import Observation, Registered, Registry
from commlens.findings.view import View

__all__ = ["Observation", "Rule", "all_rules", "rule", "worst_first"]

Look = Callable[[View], Iterator[Observation]]


@dataclass(frozen=True)
class Rule(Registered):
    look: Look

    def findings(self, view: View) -> Iterator[Finding]:
        return self.findings_of(self.look(view))


_RULES: Registry[Rule] = Registry("rule", "commlens.findings.rules")


def rule(
    code: str, severity: Severity, title: str, *, speaks: str, fix: str | Mapping[str, str]
) -> Callable[[Look], Look]:
    """Registers the function below it. `code` is stable: it names the finding for ever."""
    fixes = {"": fix} if isinstance(fix, str) else fix

    def register(look: Look) -> Look:
        _RULES.add(Rule(code, severity, title, speaks, fixes, look.__module__, look))
        return look

    return register


@cache
def all_rules() -> tuple[Rule, ...]:
    """All, by subject."""
    return tuple(_RULES.all())


def worst_first(finding: Finding) -> tuple[int, float, str]:
    share = finding.cost.share if finding.cost else 0.0
    return SEVERITIES.index(finding.severity), -share, finding.code
