"""Each rule speaks where it should and is silent where it should; a rule without both is none."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from commlens.findings import SEVERITIES, Finding, findings
from commlens.findings.rule import all_rules, rule
from commlens.model.profile import Profile
from diagnose_cases import CASES
from diagnose_records import Given, with_samples
from record_helpers import parsed

CODES = [one.code for one in all_rules()]


def diagnosed(given: Given) -> list[Finding]:
    if isinstance(given, Profile):
        return findings(profiles=[given])
    return findings(parsed(*map(with_samples, given)))


def named(kind: str) -> list[object]:
    return [
        pytest.param(code, make, id=f"{code}: {name}")
        for code, cases in CASES.items()
        for name, make in getattr(cases, kind).items()
    ]


@pytest.mark.parametrize("code", CODES)
def test_a_rule_has_records_in_which_it_speaks_and_in_which_it_is_silent(code: str) -> None:
    assert CASES[code].speaks and CASES[code].silent


def test_there_are_no_records_of_rules_that_are_none() -> None:
    assert set(CASES) == set(CODES)


@pytest.mark.parametrize(("code", "make"), named("speaks"))
def test_it_speaks(code: str, make: Callable[[], Given]) -> None:
    given = make()
    own = [one for one in diagnosed(given) if one.code == code]
    assert len(own) == 1
    finding = own[0]
    assert finding.severity in SEVERITIES and finding.title and finding.evidence.where
    assert not finding.sentence[0].islower() and finding.sentence.endswith(".")
    assert re.search(r"\d", finding.sentence), "a sentence has numbers"
    assert finding.fix.endswith(".") and "{" not in finding.fix
    assert (finding.evidence.profile is given) == isinstance(given, Profile)
    assert bool(finding.evidence.records) != isinstance(given, Profile)
    if finding.cost:
        assert 0 < finding.cost.share <= 1 and finding.cost.seconds > 0


@pytest.mark.parametrize(("code", "make"), named("silent"))
def test_it_is_silent(code: str, make: Callable[[], Given]) -> None:
    assert code not in {one.code for one in diagnosed(make())}


def test_codes_and_titles_are_for_people_to_search_for() -> None:
    for one in all_rules():
        assert re.fullmatch(r"[a-z]+(-[a-z]+)+", one.code)
        assert one.title[0].islower() or one.title.startswith(("MPI", "NCCL"))
        assert not one.title.endswith(".") and one.speaks.endswith(".")


def test_a_code_names_one_rule() -> None:
    with pytest.raises(ValueError, match="'wrong-results'"):
        rule("wrong-results", "error", "", speaks="", fix="")(lambda view: iter(()))
