"""doctor's examination of machines: the order of its rules, and rules as such."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import msgspec
import pytest
import yaml

from cases_records import CASES as OF_RECORDS
from commlens.findings import Finding, rule
from commlens.findings.behaviour import Behaviour
from commlens.findings.checks.conditions import of_machine
from commlens.findings.entry import Entry
from commlens.findings.examination import examine
from commlens.findings.finding import Quote
from commlens.findings.rule import SECTIONS, Look, Rule, RuleOutcome, Seen, observed, rule_of
from commlens.findings.view import NotApplicable, View
from commlens.machine.gpus import DeviceView
from commlens.machine.machine import Machine
from machine_cases import SOUND, cray, limit, machine, outcome, view
from record_helpers import parsed
from rule_records import failed

TOP = Path(__file__).resolve().parents[3]

NO_DEVICES = DeviceView()
SEEN = observed(Quote("file", "line"), it="this")


def made(code: str, look: Look, *needs: str, section: str = "Limits") -> Rule:
    entry = Entry(code=code, severity="note", subject="t", needs=needs, when="s",
                  says="It is so", fix="Do {it}.")  # fmt: skip
    return rule_of(entry, section, look)


def quiet() -> Behaviour:
    return Behaviour(why_none="no job was started")


def test_nothing_is_wrong_with_a_sound_machine() -> None:
    for sound in (SOUND, machine({"devices": NO_DEVICES})):
        assert examine([sound], quiet, lambda _: None).findings == []


def test_with_cray_mpich_only_its_missing_parts_are_reported() -> None:
    """Rules on Open MPI and on UCX's settings have nothing to report of it."""
    whole = examine([cray()], quiet, lambda _: None)
    assert {finding.code for finding in whole.findings} == {
        "launcher-of-another-mpi", "gpu-transport-layer-not-linked", "mpich-gpu-support-off"
    }  # fmt: skip


def test_no_check_fails_on_a_machine_of_which_nothing_is_known() -> None:
    seen = examine([Machine(host="node")], quiet, lambda _: None)
    assert seen.findings == []
    assert not [result.reason for result in seen.outcomes if "itself failed" in result.reason]


def test_a_trouble_of_all_nodes_is_a_single_finding() -> None:
    support = {"mpi.open_mpi.gpu_support": "false"}
    both = [machine(support, host=host) for host in ("node01", "node02")]
    (finding,) = outcome("mpi-without-gpu-support", View(machines=both)).findings
    assert finding.sentence.endswith("(node01, node02).")
    assert finding.evidence.where == "node01, node02"


def test_checks_run_in_the_order_of_their_sections() -> None:
    sections: list[str] = []
    examine([SOUND], quiet, lambda result: sections.append(result.rule.section))
    assert sections == sorted(sections, key=SECTIONS.index)


def test_runs_begin_after_the_checks_that_need_none() -> None:
    sections: list[str] = []

    def observe() -> Behaviour:
        assert set(sections) >= {"MPI library", "Environment"} and "Behaviour" not in sections
        return quiet()

    examine([SOUND], observe, lambda result: sections.append(result.rule.section))
    assert sections[-1] == "Behaviour"


def test_a_finding_of_a_check_is_not_repeated_for_short_runs() -> None:
    """A lowered power limit is seen before the runs, and stands in their records."""
    code = "gpu-power-limit-lowered"
    lines = OF_RECORDS[code].speaks["500 of 700 W"]()
    assert isinstance(lines, list)
    runs = Behaviour(parsed(*lines))
    check = made(code, lambda _: iter([SEEN]), section="Hardware")
    for applied, times in ([], 1), ([check], 1):
        whole = examine([SOUND], lambda: runs, lambda _: None, applied)
        assert [finding.code for finding in whole.findings].count(code) == times


def test_a_rule_on_machines_that_fails_says_so_and_ends_nothing() -> None:
    def look(_: Machine) -> Seen:
        raise KeyError("nobody thought of it")
        yield SEEN

    result = made("x-broken", look).outcome(view())
    assert result.verdict == "not applicable" and "KeyError" in result.reason


def test_observations_before_a_rule_is_not_applicable_are_reported() -> None:
    def look(_: Machine) -> Seen:
        yield SEEN
        raise NotApplicable("there is no more")

    result = made("x-both", look).outcome(view())
    assert result.verdict == "advice" and len(result.findings) == 1


def test_a_rule_needs_known_facts() -> None:
    with pytest.raises(ValueError, match=r"'x-test' needs .*a miracle"):
        made("x-test", lambda _: iter(()), "machine", "a miracle")


def test_an_entry_and_a_function_are_all_that_a_rule_needs() -> None:
    check = made("x-test", lambda _: iter([SEEN]), "GPU")
    (finding,) = check.outcome(view()).findings
    assert isinstance(finding, Finding) and finding.fix == "Do this."
    assert finding.evidence.quotes == (Quote("file", "line"),)
    assert check.outcome(View(machines=[machine({"devices": NO_DEVICES})])) == RuleOutcome(
        check, [], "there is no GPU"
    )


def test_the_examples_of_contributing_are_rules() -> None:
    text = (TOP / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition("## A finding is one rule")[2].partition("\n## ")[0]
    blocks = {
        language: re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)
        for language in ("yaml", "python")
    }
    of_stack, of_results = (
        msgspec.convert(yaml.load(text, yaml.BaseLoader)[0], Entry, strict=False)
        for text in blocks["yaml"]
    )
    names = {**vars(rule), "observation": rule.observation}
    exec("from __future__ import annotations\n" + blocks["python"][0], names)
    bad = rule_of(of_results, "Results", names["bad_results"])
    (wrong,) = bad.outcome(View(parsed(*failed("failed")))).findings
    assert wrong.sentence == "Results are wrong in 1 record (latency, mpi)."
    small = rule_of(of_stack, "Limits", partial(of_machine, of_stack))
    (note,) = small.outcome(View(machines=[machine({"limits.stack": limit(1 << 20)})])).findings
    assert note.sentence.startswith("The stack of a process may have 1 MiB")
