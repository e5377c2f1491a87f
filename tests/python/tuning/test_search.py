"""Searches on a machine of which it is known what settings do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from commlens.base.errors import CommlensError
from commlens.compare import Verdict
from commlens.tuning.launches import JOURNAL, _repeat_of
from commlens.tuning.output import verdict_text
from record_helpers import record
from tuning_helpers import CASES, Machine, here, search_of, settings, tuned

A = '{name: A, values: ["good", "bad"]}'
B = '{name: B, values: ["good"]}'
C = '{name: C, values: ["1", "2"]}'
NEEDING = '{name: N, values: ["1"], needs: {P: y}}'
FAILING = "{name: X, values: [crashed, hung, wrong, refused]}"


def two_good_ones(environment: Mapping[str, str], transport: str, size: int) -> float | str:
    if "X" in environment:
        return environment["X"]
    factor = {"good": 0.5, "bad": 4.0}.get(environment.get("A", ""), 1.0)
    return factor * (0.8 if environment.get("B") == "good" else 1.0)


def nothing_matters(*_: object) -> float:
    return 1.0


def test_finds_the_known_winner_and_survives_failures(tmp_path: Path) -> None:
    search = search_of(Machine(two_good_ones, noise=0.01), settings(FAILING, A, B, C), tmp_path)
    (final,) = tuned(search)
    assert dict(final.choice) == {"A": "good", "B": "good"}
    assert final.is_recommended and final.ratio == pytest.approx(0.4, rel=0.1)
    endings = {start.ending for start in search.bench.launches.done}
    assert endings == {"ok", "crashed", "hung", "wrong", "refused"}
    assert verdict_text(search.bench, final).startswith("mpi: use A=good, B=good: 0.4")


def test_the_importance_of_each_setting(tmp_path: Path) -> None:
    search = search_of(Machine(two_good_ones), settings(A, B, C), tmp_path)
    (final,) = tuned(search)
    gains = search.gains(final.target)
    assert [(gain.setting, gain.value) for gain in gains] == [("A", "good"), ("B", "good")]
    assert [gain.ratio for gain in gains] == pytest.approx([0.5, 0.8])
    left_out = [search.left_out(final.target, final.choice, gain.setting) for gain in gains]
    assert left_out == pytest.approx([2.0, 1.25])


def test_launches_amid_the_work_of_others_are_made_again(tmp_path: Path) -> None:
    machine = Machine(two_good_ones, noise=0.01, is_busy=lambda number: number % 4 == 0)
    search = search_of(machine, settings(A, B, C), tmp_path)
    (final,) = tuned(search)
    assert final.is_recommended and min(final.launches) >= 5, "quiet ones"
    assert "stress used 1.0" in final.why_busy
    stages = [launch for launch in search.bench.launches.done if launch.stage.startswith("final")]
    assert sum(not launch.why_busy for launch in stages) == sum(final.launches) < len(stages)


def test_a_busy_machine_names_no_winner(tmp_path: Path) -> None:
    machine = Machine(two_good_ones, noise=0.01, is_busy=lambda number: True)
    search = search_of(machine, settings(A, B), tmp_path)
    (final,) = tuned(search)
    assert not final.is_recommended and not final.is_compared
    text = verdict_text(search.bench, final)
    assert text.startswith(
        "mpi: the machine was busy (stress used 1.0 of 2 cores of node01) before"
    )


def test_of_a_final_that_the_budget_ends_the_machine_is_not_accused(tmp_path: Path) -> None:
    machine = Machine(two_good_ones, noise=0.01, is_busy=lambda number: True)
    search = search_of(machine, settings(A, B), tmp_path, budget=8)
    (final,) = tuned(search)
    assert any(launch.stage.startswith("final") for launch in search.bench.launches.done)
    assert "mpi: the budget has ended before" in verdict_text(search.bench, final)


def test_a_busy_machine_does_not_show_that_nothing_is_better(tmp_path: Path) -> None:
    search = search_of(Machine(nothing_matters, is_busy=lambda number: True), settings(A), tmp_path)
    (final,) = tuned(search)
    assert "the machine was busy (stress used 1.0" in verdict_text(search.bench, final)
    assert not final.is_compared


def test_luck_does_not_win(tmp_path: Path) -> None:
    names = [f'{{name: N{number}, values: ["1", "2"]}}' for number in range(15)]
    search = search_of(Machine(nothing_matters, noise=0.1), settings(*names), tmp_path)
    (final,) = tuned(search)
    assert final.choice, "some start was faster by luck"
    assert final.verdict in (Verdict.SAME, Verdict.INCONCLUSIVE)
    assert not final.is_recommended
    assert "nothing is recommended" in verdict_text(search.bench, final)


def test_without_any_gain_there_is_no_final(tmp_path: Path) -> None:
    machine = Machine(nothing_matters)
    search = search_of(machine, settings(A, C), tmp_path)
    (final,) = tuned(search)
    assert not final.choice
    assert len(machine.started) == 2 + 4  # the default twice, each value once
    assert "nothing was better than the default" in verdict_text(search.bench, final)


@pytest.mark.parametrize("case", CASES["searches"].values(), ids=CASES["searches"])
def test_winners_on_a_machine_that_is_known(case: dict[str, Any], tmp_path: Path) -> None:
    def factor(environment: Mapping[str, str], transport: str, size: int) -> float | str:
        known = {**environment, "transport": transport, "size": size}.items()
        return next((ratio for given, ratio in case["factors"] if given.items() <= known), 1.0)

    situation, by_size = (
        here(transports=case.get("transports", ["mpi"])),
        case.get("by_size", False),
    )
    space = settings(*case["settings"])
    search = search_of(Machine(factor), space, tmp_path, situation=situation, by_size=by_size)
    finals = tuned(search)
    assert {final.target.name: dict(final.choice) for final in finals} == case["winners"]
    assert (search.bench.reference is None) == (not finals)


def test_settings_are_screened_on_top_of_their_needs(tmp_path: Path) -> None:
    layers = (
        "{name: layer, kind: group, values: ["
        "{name: broken, set: {PML: ucx, CACHE: 'y'}}, {name: ucx, set: {PML: ucx, CACHE: 'n'}}]}"
    )

    def factor(environment: Mapping[str, str], *_: object) -> float | str:
        if environment.get("PML") == "ucx" and environment["CACHE"] == "y":
            return "crashed"
        if environment.get("PML") == "ucx":
            return 0.3 if environment.get("U") == "1" else 2.0
        return 1.0

    space = settings(layers, '{name: U, needs: {PML: ucx}, values: ["1", "2"]}', A)
    machine = Machine(factor)
    (final,) = tuned(search_of(machine, space, tmp_path))
    assert dict(final.choice) == {"layer": "ucx", "U": "1"}
    assert final.ratio == pytest.approx(0.3)
    with_u = [started for started in machine.started if "U" in started]
    assert all(started["PML"] == "ucx" and started["CACHE"] == "n" for started in with_u)


def test_a_default_that_fails_is_replaced_by_a_choice_that_works(tmp_path: Path) -> None:
    def factor(environment: Mapping[str, str], *_: object) -> float | str:
        if environment.get("A") != "good":
            return "crashed"
        return 0.5 if environment.get("B") == "good" else 1.0

    search = search_of(Machine(factor), settings(C, A, B), tmp_path)
    (final,) = tuned(search)
    assert dict(final.choice) == {"A": "good", "B": "good"}
    assert final.is_recommended
    assert verdict_text(search.bench, final) == (
        "mpi: the default fails (crashed: it crashed); use A=good, B=good"
    )
    search.bench.launches.close()
    again = Machine(factor)
    tuned(search_of(again, settings(C, A, B), tmp_path))
    assert again.started == []


def test_the_budget_is_kept(tmp_path: Path) -> None:
    names = [f'{{name: N{number}, values: ["1", "2"]}}' for number in range(100)]
    machine = Machine(two_good_ones, noise=0.01)
    tuned(search_of(machine, settings(A, B, *names), tmp_path, budget=60))
    assert 40 <= machine.now <= 60


def test_an_interrupted_search_goes_on_where_it_was(tmp_path: Path) -> None:
    space = settings(FAILING, A, B, C)
    whole = Machine(two_good_ones)
    (expected,) = tuned(search_of(whole, space, tmp_path / "whole"))
    started: list[dict[str, str]] = []
    for fails_at in (3, 5, 8, 0):
        machine = Machine(two_good_ones, fails_at=fails_at)
        search = search_of(machine, space, tmp_path / "parts")
        if fails_at:
            with pytest.raises(KeyboardInterrupt):
                tuned(search)
            machine.started.pop()  # which did not count
        else:
            (final,) = tuned(search)
        search.bench.launches.close()
        started += machine.started
    assert started == whole.started
    assert dict(final.choice) == dict(expected.choice)
    assert final.launches == (5, 5)


def test_a_search_that_is_done_starts_nothing(tmp_path: Path) -> None:
    space = settings(A, B)
    search = search_of(Machine(two_good_ones), space, tmp_path)
    first = tuned(search)
    with pytest.raises(CommlensError, match="this search is running"):
        search_of(Machine(two_good_ones), space, tmp_path)
    search.bench.launches.close()
    machine = Machine(two_good_ones)
    second = tuned(search_of(machine, space, tmp_path))
    assert machine.started == []
    assert [dict(final.choice) for final in first] == [dict(final.choice) for final in second]


def test_a_journal_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / JOURNAL).write_text('{"op_code": 4, "worker_id": "x"}\n', encoding="utf-8")
    with pytest.raises(CommlensError, match="no search of this version of commlens"):
        search_of(Machine(two_good_ones), settings(A), tmp_path)


def test_half_a_line_of_a_crash_is_dropped(tmp_path: Path) -> None:
    search = search_of(Machine(two_good_ones), settings(A), tmp_path)
    search.begin()
    search.bench.launches.close()
    with (tmp_path / JOURNAL).open("a") as journal:
        journal.write('{"op_code": 4, "wor')
    again = search_of(Machine(two_good_ones), settings(A), tmp_path)
    assert len(again.bench.launches.done) == 2
    tuned(again)


def test_where_the_time_ends_each_setting_has_been_seen(tmp_path: Path) -> None:
    """And what others need comes before all else, with all of its values."""
    names = ["{name: " + name + ', values: ["1", "2", "3"]}' for name in "ABC"]
    provider = '{name: P, values: ["x", "y"]}'
    machine = Machine(nothing_matters)
    tuned(search_of(machine, settings(*names, NEEDING, provider), tmp_path, budget=25))
    screened = [next(iter(start)) for start in machine.started if start]
    assert screened[:2] == ["P", "P"]
    assert {"A", "B", "C", "N"} <= {name for start in machine.started for name in start}
    assert len(screened) < 12


@pytest.mark.parametrize(("medians_us", "repeat"), CASES["repeats"])
def test_a_batch_of_the_slowest_case_is_short(medians_us: list[float], repeat: int | None) -> None:
    """Where nothing was measured, the benchmark decides."""
    records = [record(median_us=us) for us in medians_us]
    assert _repeat_of(records) == _repeat_of([*records, record(status="skipped")]) == repeat
