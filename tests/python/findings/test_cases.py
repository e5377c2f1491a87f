"""Each rule reports what is wrong in its cases, and nothing in those where all is well."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

import pytest

import cases_records
from commlens.findings import SEVERITIES, Finding, checks, rules
from commlens.findings.rule import Rule, rules_on_machines, rules_on_records
from commlens.findings.view import View
from commlens.model.profile import Profile
from machine_cases import Cases, cases_of, outcome, recorded_machine
from record_helpers import parsed
from rule_records import Given as Records
from rule_records import with_samples

Make = Callable[[], Any]
_FILES = ("libraries", "settings", "nodes", "hardware", "kernel")  # of cases/
_OF_DEVICES = {**cases_of("hardware"), **cases_of("kernel")}
# One trouble may be found in records, and on a machine: by the code and which of them.
CASES: dict[tuple[str, bool], Cases] = {
    **{(code, False): cases for code, cases in cases_records.CASES.items()},
    **{(code, True): cases for file in _FILES for code, cases in cases_of(file).items()},
}
ALL = (*rules_on_records(), *rules_on_machines())
RULES = {(rule.code, rule.is_of_machine): rule for rule in ALL}


def view_of(given: View | Records) -> View:
    if isinstance(given, View):
        return given
    if isinstance(given, Profile):
        return View(profiles=[given])
    return View(parsed(*map(with_samples, given)))


def named(kind: str) -> list[object]:
    return [
        pytest.param(RULES[key], make, id=f"{key[0]}: {name}")
        for key, cases in CASES.items()
        for name, make in getattr(cases, kind).items()
    ]


def test_every_rule_has_cases_in_which_it_speaks_and_is_silent() -> None:
    assert CASES.keys() == RULES.keys() and len(RULES) == len(ALL)
    assert sum(len(cases_of(file)) for file in _FILES) + len(cases_records.CASES) == len(CASES)
    assert [key for key, cases in CASES.items() if not cases.speaks or not cases.silent] == []
    assert [key for key, cases in _OF_DEVICES.items() if not cases.not_applicable] == []


@pytest.mark.parametrize("folder", [rules, checks])
def test_every_function_decides_a_rule(folder: ModuleType) -> None:
    modules = [
        import_module(f"{folder.__name__}.{entry.name}") for entry in iter_modules(folder.__path__)
    ]
    functions = {
        function
        for module in modules
        for name, function in vars(module).items()
        if getattr(function, "__module__", "") == module.__name__
        and getattr(function, "__annotations__", {}).get("return") == "Seen"
        and not name.startswith("_")
    }
    helpers = {"compared", "of_machine"}  # of entries with conditions
    assert {function.__name__ for function in functions - {rule.decide for rule in ALL}} <= helpers


@pytest.mark.parametrize(("rule", "make"), named("speaks"))
def test_where_it_speaks(rule: Rule, make: Make) -> None:
    view = view_of(make())
    result = rule.outcome(view)
    assert result.verdict in ("problem", "advice") and result.findings, result.reason
    assert len(result.findings) == 1 or _is_of_device(rule)
    for finding in result.findings:
        check_finding(finding, rule)
        assert bool(finding.evidence.records or finding.evidence.profile) != rule.is_of_machine
        if not rule.is_of_machine:
            assert re.search(r"\d", finding.sentence), "a sentence has numbers"
            assert [finding.evidence.profile] == [*view.profiles, None][:1]
        elif rule.code != "mpi-fails-on-gpu-memory":  # what the probe has shown is no line
            assert finding.evidence.quotes
            assert all(quote.source and quote.line for quote in finding.evidence.quotes)


def check_finding(finding: Finding, rule: Rule) -> None:
    assert (finding.code, finding.severity) == (rule.code, rule.severity)
    assert finding.severity in SEVERITIES and finding.subject and finding.evidence.where
    if not _is_of_device(rule):  # whose name may come first
        assert not finding.sentence[0].islower() or "/" in finding.sentence.split()[0]
    assert finding.sentence.endswith(".") and not finding.sentence.endswith("..")
    assert "None" not in finding.sentence
    assert finding.fix.endswith(".") and "{" not in finding.fix
    if finding.setting and finding.setting.shown_by:
        assert finding.setting.variables or finding.setting.launcher_arguments
    if finding.cost:
        assert 0 < finding.cost.share <= 1 and finding.cost.seconds > 0


@pytest.mark.parametrize(("rule", "make"), named("silent"))
def test_where_it_is_silent(rule: Rule, make: Make) -> None:
    result = rule.outcome(view_of(make()))
    assert result.findings == []
    assert result.verdict in (("ok",) if _is_strict(rule) else ("ok", "not applicable"))
    assert "itself failed" not in result.reason


def _is_of_device(rule: Rule) -> bool:
    return rule.is_of_machine and rule.code in _OF_DEVICES


def _is_strict(rule: Rule) -> bool:
    """Whether it has cases of its own for what it is not applicable to."""
    return bool(CASES[rule.code, rule.is_of_machine].not_applicable)


@pytest.mark.parametrize(("rule", "make"), named("not_applicable"))
def test_where_it_is_not_applicable(rule: Rule, make: Make) -> None:
    result = rule.outcome(view_of(make()))
    assert result.verdict == "not applicable" and "failed (" not in result.reason


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.code)
def test_codes_and_subjects_are_for_people_to_search_for(rule: Rule) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", rule.code)
    assert not rule.subject.endswith(".") and rule.when.endswith(".") != rule.is_of_machine
    assert rule.subject[0].islower() or re.match(r"[A-Z]{2,}|/|Cray|Open MPI", rule.subject)


def test_rules_stand_by_section() -> None:
    for every in (rules_on_records(), rules_on_machines()):
        sections = [rule.section for rule in every]
        assert len(set(sections)) == sum(a != b for a, b in zip(sections, ["", *sections])) > 5


def test_the_rules_of_a_lowered_power_limit_agree() -> None:
    on_records, on_machine = (RULES["gpu-power-limit-lowered", key] for key in (False, True))
    assert on_records.subject == on_machine.subject and on_records.fixes[""] == on_machine.fixes[""]


def sentences(code: str, view: View) -> list[str]:
    return [finding.sentence for finding in outcome(code, view).findings]


def test_sentences_on_a_machine_that_is_ill() -> None:
    bad = recorded_machine("v100-node")
    assert sentences("gpu-memory-errors", bad) == [
        "The memory of GPU 1 (0000:d9:00.0, Tesla V100-PCIE-16GB) had 2 uncorrected errors since "
        "its driver was loaded: results may be wrong, and programs that used it were ended."
    ]
    assert sentences("gpu-power-limit-lowered", bad) == [
        "The power limit of GPU 1 is 200 W, and the default is 250 W."
    ]
    assert sentences("gpu-persistence-off", bad) == ["Persistence mode is off on all 2 GPUs."]
    assert sentences("pci-link-narrow", bad) == [
        "The PCI Express link of GPU 1 (0000:d9:00.0, Tesla V100-PCIE-16GB) has 8 lanes, and card "
        "and slot have 16.",
        "The PCI Express link of mlx5_0:1 has 8 lanes, and card and slot have 16.",
    ]
    assert sentences("nic-slow", bad) == [
        "mlx5_1:1 runs at 25.00 Gb/s, and others of its kind run at 100.0."
    ]


@pytest.mark.parametrize("name", ["a100-node", "h200-container", "mi250x-node"])
def test_nothing_is_wrong_with_a_sound_node(name: str) -> None:
    """Of what is looked at before any job."""
    view = recorded_machine(name)
    outcomes = [rule.outcome(view) for rule in rules_on_machines() if rule.code in _OF_DEVICES]
    assert [finding.sentence for result in outcomes for finding in result.findings] == []


def test_which_module_the_driver_needs() -> None:
    """CUDA 11.4 brought nvidia_peermem."""
    cases = _OF_DEVICES["nvidia-peermem-missing"].speaks
    new, old = (outcome("nvidia-peermem-missing", make()).findings[0] for make in cases.values())
    assert "modprobe nvidia_peermem" in new.fix and "nv_peer_memory" not in new.fix
    assert "nv_peer_memory of Mellanox" in old.fix
    assert str(new.evidence.quotes[0]) == "/proc/modules: no nvidia_peermem and no nv_peer_mem"
