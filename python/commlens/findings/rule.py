"""A rule finds one kind of trouble: an entry of knowledge/rules (on records and profiles) or of
knowledge/checks (on machines).

What needs more than conditions on values is decided by a function of a module in rules/ or checks/,
which has the name of the code. It looks at a View, or at the Machine, and yields an Observation for
each place where something is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Literal, get_args

from msgspec import structs

from commlens import knowledge
from commlens.findings.entry import Entry, RuleFile, filled, text_of_kind
from commlens.findings.facts import FACTS, RUNS
from commlens.findings.finding import Cost, Evidence, Finding, Quote, Setting
from commlens.findings.view import LEAST_SHARE, STEADY, NotApplicable, View
from commlens.machine.mpi import family_of

# What a rule looks at: records and profiles of any run; a machine by itself, or all machines at
# once; how short runs of doctor ended.
Need = Literal["records", "profile", "machine", "machines", "failure"]
# The subjects of rules on machines, in the order in which doctor looks at them.
SECTIONS = (
    "MPI library", "Kernel and driver", "Hardware", "Limits", "Environment", "Nodes", "Placement",
    "Behaviour",
)  # fmt: skip
_MOST_QUOTES = 6
_UNSET = "unset"
_COMMON = {"least_share": LEAST_SHARE, "steady": STEADY}  # limits of several rules


@dataclass(frozen=True)
class Observation:
    """What a rule has seen at one place; the rest of a finding is declared."""

    evidence: Evidence
    cost: Cost | None = None
    which: str = ""  # of the texts, if there are several
    setting: Setting | None = None  # the fix, if it can be tried and is not declared
    facts: Mapping[str, Any] = field(default_factory=dict)  # for the {names} in texts


def observation(
    evidence: Evidence,
    cost: Cost | None = None,
    which: str = "",
    setting: Setting | None = None,
    **facts: Any,
) -> Observation:
    """An observation of records or a profile."""
    return Observation(evidence, cost, which, setting, facts)


def observed(
    *quotes: Quote, where: str = "", which: str = "", setting: Setting | None = None, **facts: Any
) -> Observation:
    """An observation of a machine, and the lines that show it. `where` is its host by default."""
    return Observation(Evidence(where, quotes=quotes), None, which, setting, facts)


Seen = Iterator[Observation]
Look = Callable[..., Seen]


class Rule(Entry, kw_only=True):
    """An entry with what decides it."""

    section: str
    decide: Look

    @property
    def is_of_machine(self) -> bool:
        """Whether only doctor can apply it, as it needs more than records and profiles."""
        return not {"records", "profile"}.issuperset(self.needs)

    def outcome(self, view: View) -> RuleOutcome:
        """Applies the rule. A rule on a machine that fails is not applicable, with the error."""
        by_sentence: dict[str, list[Finding]] = {}
        reasons: list[str] = []
        each = [View(machines=[machine]) for machine in view.machines]
        for part in each if "machine" in self.needs else [view]:
            try:
                for finding in self._findings(part):
                    by_sentence.setdefault(finding.sentence, []).append(finding)
            except NotApplicable as why:
                reasons.append(str(why))
            except Exception as error:
                if not self.is_of_machine:
                    raise
                kind = type(error).__name__
                reasons.append(f"cannot be seen: the check itself failed ({kind}: {error})")
        findings = [self._together(alike, view) for alike in by_sentence.values()]
        return RuleOutcome(self, findings, reasons[0] if reasons else "")

    def _findings(self, view: View) -> Iterator[Finding]:
        for name in self.needs:
            if name in FACTS:
                FACTS[name].require(view.machines[0])
        if "failure" in self.needs:
            _ = view.runs
        looked_at = view.machines[0] if "machine" in self.needs else view
        for seen in self.decide(looked_at, **self.limits, **self.texts):
            yield self._finding(view, seen)

    def _finding(self, view: View, seen: Observation) -> Finding:
        facts = structs.asdict(view.machines[0]) if "machine" in self.needs else {}
        facts.update(seen.facts)
        family = _family(view, seen.evidence)
        words = {name: text_of_kind(text, family) for name, text in self.words.items()}
        facts.update({name: filled(text, facts) for name, text in words.items()})
        sentence = filled(text_of_kind(self.says, seen.which), facts)
        shown = [Quote(filled(a, facts), filled(b, facts)) for a, b in self.shown]
        evidence = replace(
            seen.evidence,
            where=seen.evidence.where or next((machine.host for machine in view.machines), ""),
            quotes=(*seen.evidence.quotes, *shown),
        )
        sets = {filled(a, facts): filled(b, facts) for a, b in self.sets.items()}
        setting = Setting(
            {name: None if value == _UNSET else value for name, value in sets.items()},
            shown_by=RUNS.get(self.shown_by, ()),
        )
        return Finding(
            self.code,
            "note" if seen.cost is not None and seen.cost.is_near else self.severity,
            self.subject,
            f"{sentence}." if seen.cost is None else f"{sentence}: {seen.cost}.",
            evidence,
            seen.cost,
            " ".join(filled(text_of_kind(self.fix, seen.which), facts).split()),
            setting if sets else seen.setting,
        )

    def _together(self, alike: Sequence[Finding], view: View) -> Finding:
        """What several launches or nodes have in common is one finding, with all its evidence."""
        first, parts = alike[0], [finding.evidence for finding in alike]
        sentence, where = first.sentence, first.evidence.where
        if self.is_of_machine:
            where = ", ".join(dict.fromkeys(part.where for part in parts))
            if "machine" in self.needs and len(view.machines) > 1:
                sentence = f"{sentence[:-1]} ({where})."
        records = tuple(record for part in parts for record in part.records)
        quotes = tuple(dict.fromkeys(quote for part in parts for quote in part.quotes))
        evidence = replace(
            first.evidence, where=where, records=records, quotes=quotes[:_MOST_QUOTES]
        )
        return replace(first, sentence=sentence, evidence=evidence)


def _family(view: View, evidence: Evidence) -> str:
    """Of the MPI library that ran: settings of others would do nothing."""
    if evidence.profile is not None:
        return family_of(evidence.profile.mpi)
    if evidence.records:
        return family_of(evidence.records[0].start.mpi)
    return next((machine.mpi.family for machine in view.machines), "")


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


def rule_of(entry: Entry, section: str, decide: Look) -> Rule:
    """The rule of an entry. Raises ValueError where it needs what nobody knows."""
    kinds = set(get_args(Need))
    needs = (*entry.needs, *["GPU of the driver"] * bool(entry.gpus))
    if not kinds & set(needs):
        needs = ("machines" if entry.differ else "machine", *needs)
    if unknown := set(needs) - {*kinds, *FACTS}:
        raise ValueError(f"the rule '{entry.code}' needs {unknown}")
    below = next((test.below for test in entry.where.values() if test.below is not None), None)
    when = filled(entry.when, {**_COMMON, **entry.limits, "below": below})
    declared = {**structs.asdict(entry), "needs": needs, "when": when}
    return Rule(**declared, section=section, decide=decide)


def _rules_of(folder: str) -> Iterator[Rule]:
    """Those of a folder of knowledge/, whose functions are in the folder of this name here."""
    package = import_module(f"{__package__}.{folder}")
    functions: dict[str, Look] = {}
    for module in iter_modules(package.__path__, f"{package.__name__}."):
        functions.update(vars(import_module(module.name)))
    for name in knowledge.names(folder):
        file = knowledge.load(f"{folder}/{name}", RuleFile)
        for entry in file.rules:
            if entry.where or entry.variables or entry.gpus or entry.differ:
                decide: Look = partial(functions["of_machine"], entry)
            else:
                decide = functions[entry.look or entry.code.replace("-", "_")]
            yield rule_of(entry, file.section, decide)


@cache
def rules_on_records() -> tuple[Rule, ...]:
    """Those on records and profiles, by section."""
    return tuple(_rules_of("rules"))


@cache
def rules_on_machines() -> tuple[Rule, ...]:
    """Those that doctor applies, in their order."""
    return tuple(sorted(_rules_of("checks"), key=lambda rule: SECTIONS.index(rule.section)))
