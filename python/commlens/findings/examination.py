"""Runs the checks in their order, and hands each outcome on as it comes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from commlens.findings import Finding, findings
from commlens.findings.behaviour import BENCHMARKS, Behaviour
from commlens.findings.check import Check, Outcome, all_checks
from commlens.findings.machine_view import DoctorView
from commlens.findings.rule import all_rules, worst_first
from commlens.machine.machine import Machine

Tell = Callable[[Outcome], None]
_OF_RUNS = ("placement", "behaviour")
_OF_MACHINE = ("placement", "clocks", "results")  # rules by their files
# The rules over records have codes of their own: docs/findings.md.
RECORDS = Check(
    "records",
    "warning",
    "short runs show trouble",
    f"records of short runs ({', '.join(BENCHMARKS)})",
    {},
    "",
    "behaviour",
)


@dataclass
class Examination:
    view: DoctorView
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def findings(self) -> list[Finding]:
        """The worst first; else as the checks ran, so that causes come before consequences."""
        found = (one for own in self.outcomes for one in own.findings)
        return sorted(found, key=lambda one: worst_first(one)[:2])

    @property
    def has_problem(self) -> bool:
        return any(own.verdict == "problem" for own in self.outcomes)


def examine(
    machines: Sequence[Machine],
    observe: Callable[[], Behaviour],
    tell: Tell,
    checks: Iterable[Check] | None = None,
    nodes: int = 1,
) -> Examination:
    """`observe` starts jobs: only when what needs none has been told. `nodes` were asked for."""
    every = all_checks() if checks is None else tuple(checks)
    whole = Examination(DoctorView(machines, nodes=nodes))
    for check in every:
        if check.about not in _OF_RUNS:
            _look(check, whole, tell)
    whole.view = replace(whole.view, behaviour=observe())
    for check in every:
        if check.about in _OF_RUNS:
            _look(check, whole, tell)
    try:
        told = {one.code for one in whole.findings}
        found = tuple(one for one in _of_runs(whole.view) if one.code not in told)
        outcome = Outcome(RECORDS, found, whole.view.behaviour.why_none)
    except ImportError as error:  # of a package that only some rules need
        outcome = Outcome(RECORDS, (), f"cannot be seen: {error}")
    whole.outcomes.append(outcome)
    tell(outcome)
    return whole


def _of_runs(view: DoctorView) -> Iterator[Finding]:
    """What the rules find in the short runs. That one transport is slower than another is advice:
    it may be all that these libraries can do. How the ranks were placed is not."""
    subjects = {rule.code: rule.subject for rule in all_rules()}
    for one in findings(view.records):
        if one.code in _not_asked_for(view):
            continue
        is_of_machine = one.severity == "error" or subjects[one.code] in _OF_MACHINE
        yield one if is_of_machine else replace(one, severity="note")


def _not_asked_for(view: DoctorView) -> set[str]:
    """Two ranks are as few as there can be, however small the machine is."""
    found = set()
    if all(machine.devices.gpus < 2 for machine in view.machines):
        found.add("ranks-share-gpu")
    if all(machine.limits.core_count < 2 for machine in view.machines):
        found.add("ranks-share-cores")
    return found


def _look(check: Check, whole: Examination, tell: Tell) -> None:
    outcome = check.outcome(whole.view)
    whole.outcomes.append(outcome)
    tell(outcome)
