"""A rule is a function that looks at a view of records and profiles; `rule` registers it."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module

from commlens.diagnose.finding import SEVERITIES, Cost, Evidence, Finding, Severity
from commlens.diagnose.view import View


@dataclass(frozen=True)
class Observation:
    """What a rule found, in the words of this place; the rest of a finding is the rule's."""

    what: str  # the sentence without its full stop, as the cost follows it
    evidence: Evidence
    cost: Cost | None = None
    words: Mapping[str, str] = field(default_factory=dict)  # for the {names} in the rule's cure
    kind: str = ""  # which of the rule's cures, if it has several

    @property
    def sentence(self) -> str:
        return f"{self.what}." if self.cost is None else f"{self.what}: {self.cost}."


Look = Callable[[View], Iterator[Observation]]


@dataclass(frozen=True)
class Rule:
    code: str
    severity: Severity
    title: str
    speaks: str  # when, with its thresholds: a sentence of docs/findings.md
    cures: Mapping[str, str]  # by kind, mostly one; with {names} that an observation fills in
    look: Look

    @property
    def subject(self) -> str:
        """The module that it stands in: a heading of docs/findings.md."""
        return self.look.__module__.rpartition(".")[2]

    def findings(self, view: View) -> Iterator[Finding]:
        """What is the same in several starts is one finding with the records of all."""
        found: dict[str, list[Observation]] = {}
        for one in self.look(view):
            found.setdefault(one.sentence, []).append(one)
        for sentence, own in found.items():
            first = own[0]
            records = tuple(record for one in own for record in one.evidence.records)
            evidence = replace(first.evidence, records=records)
            cure = self.cures[first.kind].format_map(first.words)
            yield Finding(
                self.code, self.severity, self.title, sentence, evidence, first.cost, cure
            )


_RULES: dict[str, Rule] = {}


def rule(
    code: str, severity: Severity, title: str, *, speaks: str, cure: str | Mapping[str, str]
) -> Callable[[Look], Look]:
    """Registers the function below it. `code` is stable: it names the finding for ever."""
    cures = {"": cure} if isinstance(cure, str) else cure

    def register(look: Look) -> Look:
        if code in _RULES:
            raise ValueError(f"two rules have the code '{code}'")
        _RULES[code] = Rule(code, severity, title, speaks, cures, look)
        return look

    return register


@cache
def all_rules() -> tuple[Rule, ...]:
    """All, by subject: those in the files of the folder `rules`, which are found by being there."""
    from commlens.diagnose import rules as folder

    for found in pkgutil.iter_modules(folder.__path__):
        import_module(f"{folder.__name__}.{found.name}")
    return tuple(sorted(_RULES.values(), key=lambda one: one.subject))


def worst_first(finding: Finding) -> tuple[int, float, str]:
    share = finding.cost.share if finding.cost else 0.0
    return SEVERITIES.index(finding.severity), -share, finding.code
