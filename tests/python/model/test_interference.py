"""A busy machine: one judgement, which tables, comparisons and findings respect."""

from __future__ import annotations

from typing import Any

import pytest

from commlens.findings import findings
from commlens.model import over_launches
from commlens.model.comparison import Difference, Verdict
from commlens.model.interference import limit_of_busy_cores, why_busy
from record_helpers import launches, parsed
from rule_records import placement
from sample_records import BUSY, QUIET, make_record
from show_helpers import shown


@pytest.mark.parametrize(
    ("interference", "why"),
    [
        (None, ""),
        (QUIET, ""),
        (BUSY, "stress used 1.0 of 2 cores of node01"),
        ({**BUSY, "programs": []}, "other programs used 1.0 of 2 cores"),
        ({**QUIET, "stolen_cores": 0.2}, "the hypervisor gave 0.20 of 2 cores to others"),
        ({**QUIET, "waiting_fraction": 0.4}, "a rank waited for a core for 40% of the time"),
        ({**QUIET, "switches_per_sample": 5000.0}, ""),
        (
            {**QUIET, "gpus": [{"host": "n1", "ordinal": 3, "processes": ["python"]}]},
            "",
        ),
        (
            {**QUIET, "gpus": [{"host": "n1", "ordinal": 0, "processes": [], "utilization": 0.5}]},
            "another process used GPU 0 of n1 for 50% of the time",
        ),
        (
            {
                **QUIET,
                "gpus": [{"host": "n1", "ordinal": 0, "processes": ["X"], "utilization": 0.0}],
            },
            "",
        ),
    ],
)
def test_one_phrase_says_why_the_machine_was_busy(
    interference: dict[str, Any] | None, why: str
) -> None:
    record = {} if interference is None else {"interference": interference}
    assert why_busy(parsed(make_record(**record))[0]) == why


def test_ranks_that_share_cores_wait_for_each_other() -> None:
    places = [{"rank": rank, "host": "n", "cores": "0", "numa_nodes": "0"} for rank in (0, 1)]
    crowded = make_record(placement=places, interference={**QUIET, "waiting_fraction": 0.5})
    assert not why_busy(parsed(crowded)[0])


def test_many_cores_may_have_more_services() -> None:
    assert limit_of_busy_cores(1) < 0.15 < limit_of_busy_cores(100) < 3


def sides(
    busy_before: int = 0, busy_after: int = 0, count: int = 6
) -> tuple[Difference, list[dict[str, Any]]]:
    """Launches of twice the time after as before, of which the first of each side were busy."""
    before = launches(*[2.0 + 0.01 * number for number in range(count)], name="before")
    after = launches(*[4.0 + 0.01 * number for number in range(count)], name="after")
    for side, busy in ((before, busy_before), (after, busy_after)):
        for number, record in enumerate(side):
            record["interference"] = BUSY if number < busy else QUIET
    lists = parsed(*before), parsed(*after)
    return Difference(*lists, lists[0][0].start.metrics["latency_us"]), before


def test_quiet_launches_decide() -> None:
    assert sides()[0].verdict is Verdict.SLOWER
    difference, _ = sides(busy_before=1, busy_after=1)
    assert difference.verdict is Verdict.SLOWER
    assert difference.launches == (5, 5), "the busy ones are left out"


@pytest.mark.parametrize("busy", [(6, 6), (6, 0), (0, 4)])
def test_busy_launches_decide_nothing(busy: tuple[int, int]) -> None:
    difference, _ = sides(*busy)
    assert difference.verdict is Verdict.INCONCLUSIVE
    assert difference.decide(0.0) is Verdict.INCONCLUSIVE, "whatever the p value"
    assert "the machine was busy: stress used 1.0 of 2 cores" in difference.why_tie


def test_of_launches_that_both_sides_share_a_pair_is_left_out() -> None:
    first, second = launches(*[2.0] * 4), launches(*[3.0] * 4, transport="staged")
    for record in (*first, *second):
        record["interference"] = QUIET
    first[0]["interference"] = BUSY
    lists = parsed(*first), parsed(*second)
    difference = Difference(*lists, lists[0][0].start.metrics["latency_us"])
    assert (difference.launches, difference.basis) == ((3, 3), "samples")
    assert difference.verdict is Verdict.SLOWER and difference.medians == (2.0, 3.0)


def test_nothing_is_left_out_beside_a_program_that_does_not_watch() -> None:
    """Of whose launches as many may have been disturbed: a comparison would favor the other one."""
    ours = launches(*[2.0 + 0.01 * number for number in range(6)])
    for number, record in enumerate(ours):
        record["interference"] = BUSY if number < 2 else QUIET
    lists = parsed(*launches(*[1.0] * 6, name="another program")), parsed(*ours)
    difference = Difference(*lists, lists[0][0].start.metrics["latency_us"])
    assert difference.launches == (6, 6) and not difference.why_busy


def test_a_tie_amid_the_work_of_others_is_none() -> None:
    same = launches(*[2.0] * 6, name="one"), launches(*[2.0] * 6, name="other")
    for record in same[1]:
        record["interference"] = BUSY
    lists = [parsed(*side) for side in same]
    metric = lists[0][0].start.metrics["latency_us"]
    assert Difference(*lists, metric).verdict is Verdict.INCONCLUSIVE


def test_tables_mark_the_case_and_a_line_says_why() -> None:
    lines = shown(
        make_record(interference=BUSY), make_record(transport="staged", interference=QUIET)
    )
    assert "the machine was busy: stress used 1.0 of 2 cores of node01" in "\n".join(lines)
    rows = [line for line in lines if "passed" in line]
    assert [" busy" in row for row in rows] == [True, False]
    quiet = shown(make_record(interference=QUIET), make_record(transport="staged"))
    assert "busy" not in "\n".join(quiet)


def test_the_finding_names_the_program_and_no_other_looks_at_the_record() -> None:
    shared = placement(cores=("0", "0"))
    quiet, busy = (
        parsed(make_record(placement=shared, interference=seen)) for seen in (QUIET, BUSY)
    )
    assert [finding.code for finding in findings(quiet)] == ["ranks-share-cores"]
    (finding,) = findings(busy)
    assert finding.code == "busy-machine"
    assert "stress used 1.0 of 2 cores of node01" in finding.sentence
    assert "stress" in finding.fix and "--wait-for-quiet 5m" in finding.fix


def test_of_all_launches_on_the_same_hosts_it_is_said_once() -> None:
    suite = [
        make_record(start=f"launch-{cores}", interference={**BUSY, "busy_cores": cores})
        for cores in (1.0, 1.5)
    ]
    (finding,) = findings(parsed(*suite))
    assert "stress used 1.0 of 2 cores of node01" in finding.sentence
    assert "; so in 2 records" in finding.sentence


def test_a_wrong_result_is_found_on_a_busy_machine_too() -> None:
    failed = make_record(status="failed", reason="wrong result: x", interference=BUSY)
    failed["validation"] |= {"status": "failed", "checks": 1, "message": "x"}
    assert [finding.code for finding in findings(parsed(failed))] == ["wrong-results"]


def test_launches_that_are_shown_as_one_are_busy_if_any_was() -> None:
    records = launches(2.0, 2.1, 2.2)
    records[1]["interference"] = BUSY
    (merged,) = over_launches(parsed(*records))
    assert why_busy(merged).startswith("stress used 1.0")
