"""doctor's examination of machines: the order of its rules, and rules as such."""

from __future__ import annotations

import pytest

from cases_records import CASES as OF_RECORDS
from commlens.findings import Finding, Quote
from commlens.findings import rule as rules
from commlens.findings.behaviour import Behaviour
from commlens.findings.examination import examine
from commlens.findings.rule import (
    SECTIONS,
    Look,
    Rule,
    RuleOutcome,
    Seen,
    observed,
    rule,
)
from commlens.findings.view import NotApplicable, View
from commlens.machine.machine import Machine
from machine_checks import outcome
from record_helpers import parsed
from sound_machine import SOUND, changed, cray, machine, two, view

SEEN = observed("It is so", Quote("file", "line"))


def rule_of(code: str, look: Look, section: str = "Limits", fix: str = "C.") -> Rule:
    return Rule(code, "warning", "t", ("machine",), "s", {"": fix}, section, look)


def quiet() -> Behaviour:
    return Behaviour(why_none="no job was started")


def test_nothing_is_wrong_with_a_sound_machine() -> None:
    for sound in (SOUND, machine(devices=type(SOUND.devices)())):
        assert examine([sound], quiet, lambda _: None).findings == []


def test_with_cray_mpich_only_what_it_lacks_is_found() -> None:
    """Rules on Open MPI and on UCX's settings have nothing to report of it."""
    whole = examine(cray()().machines, quiet, lambda _: None)
    assert {finding.code for finding in whole.findings} == {
        "launcher-of-another-mpi", "gpu-transport-layer-not-linked", "mpich-gpu-support-off"
    }  # fmt: skip


def test_no_check_fails_on_a_machine_of_which_nothing_is_known() -> None:
    seen = examine([Machine(host="node")], quiet, lambda _: None)
    assert seen.findings == []
    assert not [own.reason for own in seen.outcomes if "itself failed" in own.reason]


def test_what_all_nodes_have_in_common_is_said_once() -> None:
    both = two(machine(mpi__open_mpi__gpu_support="false"))
    both = View(machines=[changed(both.machines[1], "host", "node01"), both.machines[1]])
    (finding,) = outcome("mpi-without-gpu-support", both).findings
    assert finding.sentence.endswith("(node01, node02).")
    assert finding.evidence.where == "node01, node02"


def test_checks_run_in_the_order_of_what_they_are_about() -> None:
    told: list[str] = []
    examine([SOUND], quiet, lambda own: told.append(own.rule.section))
    assert told == sorted(told, key=SECTIONS.index)


def test_runs_begin_when_what_needs_none_has_been_told() -> None:
    told: list[str] = []

    def observe() -> Behaviour:
        assert set(told) >= {"MPI library", "Environment"} and "Behaviour" not in told
        return quiet()

    examine([SOUND], observe, lambda own: told.append(own.rule.section))
    assert told[-1] == "Behaviour"


def test_what_a_check_has_found_is_not_found_again_in_short_runs() -> None:
    """A lowered power limit is seen before the runs, and stands in their records."""
    code = "gpu-power-limit-lowered"
    lines = OF_RECORDS[code].speaks["500 of 700 W"]()
    assert isinstance(lines, list)
    runs = Behaviour(parsed(*lines))
    own = rule_of(code, lambda _: iter([SEEN]), "Hardware")
    for applied, times in ([], 1), ([own], 1):
        whole = examine([SOUND], lambda: runs, lambda _: None, applied)
        assert [one.code for one in whole.findings].count(code) == times


def test_a_rule_on_machines_that_fails_says_so_and_ends_nothing() -> None:
    def look(_: View) -> Seen:
        raise KeyError("nobody thought of it")
        yield SEEN

    own = rule_of("x-broken", look).outcome(view())
    assert own.verdict == "not applicable" and "KeyError" in own.reason


def test_what_a_rule_has_seen_before_it_is_not_applicable_is_reported() -> None:
    def look(_: View) -> Seen:
        yield SEEN
        raise NotApplicable("there is no more")

    own = rule_of("x-both", look).outcome(view())
    assert own.verdict == "problem" and len(own.findings) == 1


@pytest.mark.parametrize("needs", ["machine", "records"])
def test_a_code_names_one_rule(needs: str) -> None:
    code = "stack-small" if needs == "machine" else "wrong-results"
    assert rules.all_rules()
    with pytest.raises(ValueError, match=f"two rules have the code '{code}'"):
        rule(code, "error", "", needs=needs, when="", fix="")(lambda _: iter(()))


@pytest.mark.parametrize("needs", [(), ("machine", "a miracle")])
def test_a_rule_needs_what_there_is(needs: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="'x-test' needs"):
        rule("x-test", "error", "", needs=needs, when="", fix="")(lambda _: iter(()))


def test_a_function_is_all_that_a_rule_needs() -> None:
    declare = rule("x-test", "note", "t", needs=("machine", "GPU"), when="s", fix="Do {it}.")
    key = "x-test", True
    try:
        declare(lambda _: iter([observed("It is so", Quote("f", "line"), words={"it": "this"})]))
        own = rules._RULES[key]
    finally:
        rules._RULES.pop(key, None)
    (finding,) = own.outcome(view()).findings
    assert isinstance(finding, Finding) and finding.fix == "Do this."
    assert finding.evidence.quotes == (Quote("f", "line"),)
    assert own.outcome(view(devices=type(SOUND.devices)())) == RuleOutcome(
        own, [], "there is no GPU"
    )
