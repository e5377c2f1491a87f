"""Each check speaks where it should and is silent where it should; a check without both is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from commlens.findings import Quote
from commlens.findings.behaviour import Behaviour
from commlens.findings.check import ABOUTS, Check, NotApplicable, Observed, all_checks, check
from commlens.findings.examination import examine
from commlens.findings.machine_view import DoctorView
from commlens.machine.machine import Machine
from diagnose_cases import CASES as OF_RULES
from doctor_cases import CASES, SOUND, changed, machine, two, view
from record_helpers import parsed

SEEN = Observed("It is so", Quote("file", "line"))
CHECKS = {one.code: one for one in all_checks()}
# These files have cases of their own.
_ELSEWHERE = ("hardware", "kernel", "links", "nics", "placement")
OWN = [code for code, one in CHECKS.items() if one.subject not in _ELSEWHERE]


def named(kind: str) -> list[object]:
    return [
        pytest.param(code, make, id=f"{code}: {name}")
        for code, cases in CASES.items()
        for name, make in getattr(cases, kind).items()
    ]


@pytest.mark.parametrize("code", OWN)
def test_a_check_has_cases_in_which_it_speaks_and_in_which_it_is_silent(code: str) -> None:
    assert CASES[code].speaks and CASES[code].silent


def test_there_are_no_cases_of_checks_that_are_none() -> None:
    assert set(CASES) == set(OWN)


@pytest.mark.parametrize(("code", "make"), named("speaks"))
def test_it_speaks(code: str, make: Callable[[], DoctorView]) -> None:
    outcome = CHECKS[code].outcome(make())
    assert outcome.verdict in ("problem", "advice") and len(outcome.findings) == 1
    (finding,) = outcome.findings
    assert finding.code == code and finding.title and finding.evidence.where
    assert not finding.sentence[0].islower() or "/" in finding.sentence.split()[0]
    assert finding.sentence.endswith(".") and ".." not in finding.sentence
    assert finding.fix.endswith(".") and "{" not in finding.fix
    if finding.setting and finding.setting.shown_by:
        assert finding.setting.variables or finding.setting.launcher_arguments


@pytest.mark.parametrize(("code", "make"), named("silent"))
def test_it_is_silent(code: str, make: Callable[[], DoctorView]) -> None:
    outcome = CHECKS[code].outcome(make())
    assert outcome.findings == () and outcome.verdict in ("ok", "not applicable")
    assert "itself failed" not in outcome.reason


def quiet() -> Behaviour:
    return Behaviour(why_none="no job was started")


def test_nothing_is_wrong_with_a_sound_machine() -> None:
    for sound in (SOUND, machine(devices=type(SOUND.devices)())):
        own = [CHECKS[code] for code in OWN]
        assert examine([sound], quiet, lambda _: None, own).findings == []


def test_no_check_fails_on_a_machine_of_which_nothing_is_known() -> None:
    seen = examine([Machine(host="node")], quiet, lambda _: None)
    assert seen.findings == []
    assert not [own.reason for own in seen.outcomes if "itself failed" in own.reason]


def test_what_all_nodes_have_in_common_is_said_once() -> None:
    both = two(machine(mpi__open_mpi__gpu_support="false"))
    both = DoctorView([changed(both.machines[1], "host", "node01"), both.machines[1]])
    (finding,) = CHECKS["mpi-without-gpu-support"].outcome(both).findings
    assert finding.sentence.endswith("(node01, node02).")
    assert finding.evidence.where == "node01, node02"


def test_checks_run_in_the_order_of_what_they_are_about() -> None:
    told: list[str] = []
    examine([SOUND], quiet, lambda own: told.append(own.check.about))
    assert told == sorted(told, key=[*map(str, ABOUTS)].index)


def test_runs_begin_when_what_needs_none_has_been_told() -> None:
    told: list[str] = []

    def observe() -> Behaviour:
        assert set(told) >= {"MPI library", "environment"} and "behaviour" not in told
        return quiet()

    examine([SOUND], observe, lambda own: told.append(own.check.about))
    assert told[-1] == "behaviour"


def test_what_a_check_has_found_is_not_found_again_in_short_runs() -> None:
    """A lowered power limit is seen before the runs, and stands in their records."""
    code = "gpu-power-limit-lowered"
    lines = OF_RULES[code].speaks["500 of 700 W"]()
    assert isinstance(lines, list)
    runs = Behaviour(parsed(*lines))
    own = Check(code, "warning", "t", "s", {"": "c"}, "m", "hardware", lambda _: iter([SEEN]))
    for checks, times in ([], 1), ([own], 1):
        whole = examine([SOUND], lambda: runs, lambda _: None, checks)
        assert [one.code for one in whole.findings].count(code) == times


def test_a_check_that_fails_says_so_and_ends_nothing() -> None:
    def look(_: DoctorView) -> Iterator[NotApplicable]:
        raise KeyError("nobody thought of it")
        yield NotApplicable("")

    own = Check("broken", "warning", "t", "s", {}, "m", "limits", look)
    outcome = own.outcome(view())
    assert outcome.verdict == "not applicable" and "KeyError" in outcome.reason


def test_two_checks_cannot_have_one_code() -> None:
    with pytest.raises(ValueError, match="two checks have the code 'stack-small'"):

        @check("stack-small", "problem", about="limits", title="t", looks_at="s", fix="c")
        def again(_: DoctorView) -> Iterator[NotApplicable]:
            yield NotApplicable("")


def test_a_file_of_checks_is_all_that_a_check_needs() -> None:
    registered = check("x-test", "advice", about="limits", title="t", looks_at="s", fix="Do {it}.")
    observed = Observed("It is so", Quote("file", "line"), words={"it": "this"})
    from commlens.findings import check as module

    try:
        registered(lambda _: iter([observed]))
        own = module._CHECKS._own["x-test"]
        outcome = own.outcome(view())
    finally:
        module._CHECKS._own.pop("x-test", None)
    (finding,) = outcome.findings
    assert outcome.verdict == "advice" and finding.fix == "Do this."
    assert finding.evidence.quotes == (Quote("file", "line"),)
