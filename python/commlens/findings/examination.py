"""Applies the rules on machines in their order, and hands each outcome on as it comes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from commlens.findings import Finding, findings, worst_first
from commlens.findings.behaviour import BENCHMARKS, Behaviour
from commlens.findings.rule import Outcome, Rule, rules_on_machines, rules_on_records
from commlens.findings.view import View
from commlens.machine.machine import Machine

Tell = Callable[[Outcome], None]
# Of the sections on records, those that are of the machine and its settings.
_OF_MACHINE = ("Placement of ranks", "Clocks and power limits", "Results")
# Stands for the rules on records, which have codes of their own.
RECORDS = Rule(
    "records", "warning", "short runs show trouble", ("records",),
    f"records of short runs ({', '.join(BENCHMARKS)})", {}, "Behaviour", lambda _: iter(()),
)  # fmt: skip


@dataclass
class Examination:
    """What doctor has looked at, and found."""

    view: View
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def findings(self) -> list[Finding]:
        """The worst first; else as the rules ran, so that causes come before consequences."""
        found = (finding for outcome in self.outcomes for finding in outcome.findings)
        return sorted(found, key=lambda finding: worst_first(finding)[:2])

    @property
    def has_problem(self) -> bool:
        """Whether there is a finding that is more than a note."""
        return any(outcome.verdict == "problem" for outcome in self.outcomes)


def examine(
    machines: Sequence[Machine],
    observe: Callable[[], Behaviour],
    tell: Tell,
    rules: Iterable[Rule] | None = None,
    nodes: int = 1,
) -> Examination:
    """Applies the rules, by default all on machines, to the machines of `nodes` nodes.

    `observe` starts jobs: only when the outcomes that need none were handed to `tell`.
    """
    every = rules_on_machines() if rules is None else tuple(rules)
    whole = Examination(View(machines=machines, nodes=nodes))

    def add(outcome: Outcome) -> None:
        whole.outcomes.append(outcome)
        tell(outcome)

    for rule in every:
        if not _needs_runs(rule):
            add(rule.outcome(whole.view))
    whole.view = View(machines=machines, nodes=nodes, behaviour=observe())
    for rule in every:
        if _needs_runs(rule):
            add(rule.outcome(whole.view))
    known = {finding.code for finding in whole.findings}
    try:
        found = [finding for finding in _of_runs(whole.view) if finding.code not in known]
        add(Outcome(RECORDS, found, whole.view.why_no_runs))
    except ImportError as error:  # of a package that only some rules need
        add(Outcome(RECORDS, (), f"cannot be seen: {error}"))
    return whole


def _needs_runs(rule: Rule) -> bool:
    return not {"records", "failure"}.isdisjoint(rule.needs)


def _of_runs(view: View) -> Iterator[Finding]:
    """What the rules on records find in the short runs. That one transport is slower than another
    is a note: it may be all that these libraries can do. How the ranks were placed is not."""
    sections = {rule.code: rule.section for rule in rules_on_records()}
    unavoidable = _unavoidable(view)
    for finding in findings(view.records):
        if finding.code in unavoidable:
            continue
        is_of_machine = finding.severity == "error" or sections[finding.code] in _OF_MACHINE
        yield finding if is_of_machine else replace(finding, severity="note")


def _unavoidable(view: View) -> set[str]:
    """Two ranks are as few as there can be, however small the machine is."""
    codes = set()
    if all(machine.devices.gpus < 2 for machine in view.machines):
        codes.add("ranks-share-gpu")
    if all((machine.cpus.allowed_count or 0) < 2 for machine in view.machines):
        codes.add("ranks-share-cores")
    return codes
