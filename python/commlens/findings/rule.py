"""A rule finds one kind of trouble: a function, or an entry of knowledge/checks.

It declares what it needs, when it reports something, and how that is fixed. It looks at a View, and
yields an Observation for each place where something is wrong.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from typing import Literal, get_args

from commlens.findings.facts import FACTS
from commlens.findings.finding import Cost, Evidence, Finding, Quote, Setting, Severity
from commlens.findings.view import NotApplicable, View

# What a rule looks at: records and profiles of any run; a machine by itself, or all machines at
# once; how short runs of doctor ended.
Need = Literal["records", "profile", "machine", "machines", "failure"]
# The subjects of rules on machines, in the order in which doctor looks at them.
SECTIONS = (
    "MPI library", "Kernel and driver", "Hardware", "Limits", "Environment", "Nodes", "Placement",
    "Behaviour",
)  # fmt: skip
_MOST_QUOTES = 6


@dataclass(frozen=True)
class Observation:
    """What a rule has seen at one place; the rest of a finding is the rule's."""

    what: str  # the sentence without its full stop, as the cost follows it
    evidence: Evidence
    cost: Cost | None = None
    words: Mapping[str, str] = field(default_factory=dict)  # for the {names} in the fix
    kind: str = ""  # which of the fixes, if there are several
    setting: Setting | None = None  # the fix, if it is one that can be tried

    @property
    def sentence(self) -> str:
        """With its cost, and its full stop."""
        return f"{self.what}." if self.cost is None else f"{self.what}: {self.cost}."


def observed(
    what: str,
    *quotes: Quote,
    where: str = "",
    words: Mapping[str, str] | None = None,
    kind: str = "",
    setting: Setting | None = None,
) -> Observation:
    """An observation of a machine, and the lines that show it. `where` is its host by default."""
    return Observation(what, Evidence(where, quotes=quotes), None, words or {}, kind, setting)


Seen = Iterator[Observation]
Look = Callable[[View], Seen]


@dataclass(frozen=True)
class Rule:
    """Finds one kind of trouble."""

    code: str  # stable, as people search for it
    severity: Severity
    subject: str  # what is wrong in a few words
    needs: tuple[str, ...]  # of Need, and facts without which it is not applicable
    when: str  # when it reports something; of a machine, what it looks at
    fixes: Mapping[str, str]  # by kind, mostly one; with {names} that an observation fills in
    section: str  # a heading of the reference, and of doctor's output
    look: Look

    @property
    def is_of_machine(self) -> bool:
        """Whether only doctor can apply it, as it needs more than records and profiles."""
        return not {"records", "profile"}.issuperset(self.needs)

    def outcome(self, view: View) -> RuleOutcome:
        """Applies the rule. A rule on a machine that fails is not applicable, with the error."""
        by_sentence: dict[str, list[Observation]] = {}
        reasons: list[str] = []
        for part in view.of_each_machine if "machine" in self.needs else [view]:
            host = part.machines[0].host if part.machines else ""
            try:
                for name in self.needs:
                    if name in FACTS:
                        FACTS[name].require(part.machine)
                if "failure" in self.needs:
                    _ = part.runs
                for seen in self.look(part):
                    where = seen.evidence.where or host
                    seen = replace(seen, evidence=replace(seen.evidence, where=where))
                    by_sentence.setdefault(seen.sentence, []).append(seen)
            except NotApplicable as why:
                reasons.append(str(why))
            except Exception as error:
                if not self.is_of_machine:
                    raise
                kind = type(error).__name__
                reasons.append(f"cannot be seen: the check itself failed ({kind}: {error})")
        findings = [self._finding(alike, view) for alike in by_sentence.values()]
        return RuleOutcome(self, findings, reasons[0] if reasons else "")

    def _finding(self, alike: Sequence[Observation], view: View) -> Finding:
        """What several launches or nodes have in common is one finding, with all its evidence."""
        first = alike[0]
        sentence, where = first.sentence, first.evidence.where
        if self.is_of_machine:
            where = ", ".join(dict.fromkeys(seen.evidence.where for seen in alike))
            if "machine" in self.needs and len(view.machines) > 1:
                sentence = f"{first.what} ({where})."
        records = tuple(record for seen in alike for record in seen.evidence.records)
        quotes = tuple(dict.fromkeys(quote for seen in alike for quote in seen.evidence.quotes))
        evidence = replace(
            first.evidence, where=where, records=records, quotes=quotes[:_MOST_QUOTES]
        )
        fix = self.fixes[first.kind].format_map(first.words)
        return Finding(
            self.code, self.severity, self.subject, sentence, evidence, first.cost, fix,
            first.setting,
        )  # fmt: skip


@dataclass(frozen=True)
class RuleOutcome:
    """What a rule has found, or why it is not applicable."""

    rule: Rule
    findings: Sequence[Finding] = ()
    reason: str = ""

    @property
    def verdict(self) -> str:
        """`ok`, `advice` (notes alone), `problem` or `not applicable`"""
        if self.findings:
            only_notes = all(finding.severity == "note" for finding in self.findings)
            return "advice" if only_notes else "problem"
        return "not applicable" if self.reason else "ok"


_RULES: dict[tuple[str, bool], Rule] = {}


def register(new: Rule) -> None:
    """Adds a rule. Raises ValueError where its code is taken, or it needs what nobody knows."""
    unknown = set(new.needs) - {*get_args(Need), *FACTS}
    if unknown or not new.needs:
        raise ValueError(f"the rule '{new.code}' needs {unknown or 'nothing'}")
    # One trouble may be seen in records, and on the machine before anything is run.
    key = new.code, new.is_of_machine
    if key in _RULES:
        raise ValueError(f"two rules have the code '{new.code}'")
    _RULES[key] = new


def rule(
    code: str,
    severity: Severity,
    subject: str,
    *,
    needs: str | Sequence[str],
    when: str,
    fix: str | Mapping[str, str],
) -> Callable[[Look], Look]:
    """Registers the function below it as a rule; its section is the docstring of its module.

    `code` names the finding for ever. {names} in `fix` are the observation's words.
    """
    needed = (needs,) if isinstance(needs, str) else tuple(needs)
    fixes = {"": fix} if isinstance(fix, str) else fix

    def wrap(look: Look) -> Look:
        heading = (import_module(look.__module__).__doc__ or "").partition(":")[0].strip()
        register(Rule(code, severity, subject, needed, when, fixes, heading, look))
        return look

    return wrap


@cache
def rules_on_records() -> tuple[Rule, ...]:
    """Those on records and profiles, by section."""
    _import_all("commlens.findings.rules")
    rules = [one for one in _RULES.values() if not one.is_of_machine]
    return tuple(sorted(rules, key=lambda one: one.look.__module__))


@cache
def rules_on_machines() -> tuple[Rule, ...]:
    """Those that doctor applies, in their order."""
    _import_all("commlens.findings.checks")
    rules = [one for one in _RULES.values() if one.is_of_machine]
    return tuple(sorted(rules, key=lambda one: SECTIONS.index(one.section)))


def all_rules() -> tuple[Rule, ...]:
    """Those on records and profiles, then those on machines."""
    return rules_on_records() + rules_on_machines()


def _import_all(folder: str) -> None:
    """A rule is found by being there."""
    for module in pkgutil.iter_modules(import_module(folder).__path__):
        import_module(f"{folder}.{module.name}")
