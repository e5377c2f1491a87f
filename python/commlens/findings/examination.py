"""Doctor's examination: applies the rules on machines, and hands each outcome on as it comes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from commlens.base.errors import CommlensError
from commlens.base.inputs import read_start
from commlens.findings import Finding, behaviour, findings, nodes, worst_first
from commlens.findings.behaviour import BENCHMARKS, Behaviour, Plan
from commlens.findings.rule import Rule, RuleOutcome, rules_on_machines, rules_on_records
from commlens.findings.view import View
from commlens.jobs import launchers
from commlens.jobs.native import Native, find_native
from commlens.machine import machine
from commlens.machine.machine import Machine
from commlens.machine.mpi import MpiView, is_mpi_library
from commlens.machine.system import System

Tell = Callable[[RuleOutcome], None]
_ELF = b"\x7fELF"
_MOST_BYTES = 1 << 40  # of a program: only its beginning is read
# Of the sections on records, those that are of the machine and its settings.
_OF_MACHINE = ("Placement of ranks", "Clocks and power limits", "Results")
# Stands for the rules on records, which have codes of their own.
RECORDS = Rule(
    code="records",
    severity="warning",
    subject="short runs show trouble",
    needs=("records",),
    when=f"records of short runs ({', '.join(BENCHMARKS)})",
    fix="",
    section="Behaviour",
    decide=lambda _: iter(()),
)


@dataclass
class Examination:
    """What doctor has looked at, and found."""

    view: View
    outcomes: list[RuleOutcome] = field(default_factory=list)
    native: Native | None = None  # the program of the short runs

    @property
    def interrupted(self) -> int:
        """The status with which a signal has ended the short runs, or 0."""
        return self.view.behaviour.interrupted if self.view.behaviour else 0

    @property
    def findings(self) -> list[Finding]:
        """The worst first; else as the rules ran, so that causes come before consequences."""
        unsorted = (finding for outcome in self.outcomes for finding in outcome.findings)
        return sorted(unsorted, key=lambda finding: worst_first(finding)[:2])

    @property
    def has_problem(self) -> bool:
        """Whether there is a finding that is more than a note."""
        return any(outcome.verdict == "problem" for outcome in self.outcomes)


def examine_program(
    program: Path | None,
    plan: Plan,
    *,
    with_runs: bool,
    begin: Callable[[Sequence[Machine]], None],
    tell: Tell,
) -> Examination:
    """Examines the nodes of the plan, and the MPI library of a program, by default the native one.

    `begin` gets the machines before the first outcome. Raises CommlensError where no node answers.
    """
    native, why_none = None, ""
    try:
        native = find_native(os.environ)
    except CommlensError as error:
        why_none = str(error)
    looked_at = str(program.resolve()) if program else str(native.path) if native else ""
    machines = _machines(looked_at, native, plan)
    if program:
        _check(program, machines[0].mpi)
    begin(machines)

    def observe() -> Behaviour:
        if with_runs and native:
            return behaviour.observe(native, plan)
        return Behaviour(why_none=why_none if with_runs else "no job was started (--no-runs)")

    return examine(machines, observe, tell, nodes=plan.spec.nodes or 1, native=native)


def _check(program: Path, mpi: MpiView) -> None:
    """Raises CommlensError for what cannot be read, is no program, or does not use MPI. What a
    script starts is not known."""
    beginning = read_start(program, len(_ELF), kind="a program", most_bytes=_MOST_BYTES)
    if beginning.startswith(b"#!"):
        return
    if beginning != _ELF or not any(map(is_mpi_library, mpi.libraries)):
        why = "is linked to no MPI library" if beginning == _ELF else "is no program"
        raise CommlensError(f"{program} {why}: name an MPI program, or the script that starts it")


def _machines(program: str, native: Native | None, plan: Plan) -> list[Machine]:
    """One per node: this one, or those that the launcher reaches."""
    arguments = plan.spec.launcher_arguments
    if plan.spec.nodes:
        return nodes.look(plan.spec.nodes, plan.launcher, arguments, native, program)
    environment = dict(os.environ)
    if arguments and native:
        launcher = launchers.choose(plan.launcher, native).launcher
        environment.update(launchers.variables_set_by(arguments, launcher))
    return [machine.look(System(environment), program)]


def examine(
    machines: Sequence[Machine],
    observe: Callable[[], Behaviour],
    tell: Tell,
    rules: Iterable[Rule] | None = None,
    nodes: int = 1,
    native: Native | None = None,
) -> Examination:
    """Applies the rules, by default all on machines, to the machines of `nodes` nodes.

    `observe` starts jobs: only when the outcomes that need none were handed to `tell`.
    """
    every = rules_on_machines() if rules is None else tuple(rules)
    whole = Examination(View(machines=machines, nodes=nodes), native=native)

    def add(outcome: RuleOutcome) -> None:
        whole.outcomes.append(outcome)
        tell(outcome)

    def apply(*, after_runs: bool) -> None:
        for rule in every:
            if after_runs != {"records", "failure"}.isdisjoint(rule.needs):
                add(rule.outcome(whole.view))

    apply(after_runs=False)
    whole.view = View(machines=machines, nodes=nodes, behaviour=observe())
    apply(after_runs=True)
    known = {finding.code for finding in whole.findings}
    try:
        remaining = [finding for finding in _of_runs(whole.view) if finding.code not in known]
        add(RuleOutcome(RECORDS, remaining, whole.view.why_no_runs))
    except ImportError as error:  # of a package that only some rules need
        add(RuleOutcome(RECORDS, (), f"cannot be seen: {error}"))
    return whole


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
