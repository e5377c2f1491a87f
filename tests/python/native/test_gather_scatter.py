"""gather-scatter with the real programs: what a start prints and keeps, and the counts that nekRS
has published."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from native_helpers import measured, needs_native, on_host_build, shown

pytestmark = needs_native

SMALL = "--elements 4,3,2 --order 3 --repeat 3 --warmup 1"


@on_host_build
def test_modes_that_cannot_be_had_are_skipped_and_the_fastest_is_named(tmp_path: Path) -> None:
    records = measured(tmp_path, 2, "gather-scatter --transport mpi", SMALL)
    statuses = {record.parameters["mode"]: record.status for record in records}
    assert statuses == {
        "pairwise": "ok",
        "neighbor": "ok",
        "crystal-router": "ok",
        "all-reduce": "ok",
        "host": "skipped",
    }
    output = shown(records)
    assert output.count("used config: ") == 1
    assert output.count("unique labels shared") == 1, "what is the same for all is said once"


@on_host_build
@pytest.mark.parametrize(
    ("case", "samples"),
    [
        ("--elements 4,3,2 --order 3", 100),
        ("--ids random --nodes 1000000 --multiplicity 2 --fields 3", 27),
    ],
)
def test_a_host_takes_fewer_samples_of_more_nodes(case: str, samples: int, tmp_path: Path) -> None:
    words = "gather-scatter --mode pairwise --transport mpi"
    (record,) = measured(tmp_path, 1, words, case)
    assert len(record.samples.values_s) == samples


def test_a_record_has_parts_facts_and_a_candidate(tmp_path: Path) -> None:
    words = "gather-scatter --transport staged --mode pairwise"
    (record,) = measured(tmp_path, 4, words, SMALL)
    assert [part.name for part in record.parts] == ["pack", "exchange", "local", "unpack"]
    facts: dict[str, Any] = dict(record.facts)
    # 4 ranks have 1 x 3 x 2 elements each, one beside the other: planes of 10 x 7 nodes are shared.
    plane = 10 * 7
    assert facts["shared_ids"] == 3 * plane
    assert (facts["messages"], facts["message_size_sum"]) == (2, 2 * plane)
    sizes = {facts[f"message_size_{which}"] for which in ("max", "min", "avg")}
    assert sizes == {plane}
    assert facts["buffer_bytes"] == 2 * 2 * plane * 8
    assert facts["exchange_min_us"] <= facts["exchange_avg_us"] <= facts["exchange_max_us"]
    candidate = record.candidate
    assert candidate is not None
    assert candidate.seconds == pytest.approx(facts["selection_us"] * 1e-6)
    assert candidate.text.startswith(candidate.name + " (MPI min/max/avg: ")


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("words", ["--fields 1", "--fields 3 --dtype f32", "--exchange-dtype f32"])
def test_work_beside_it_has_an_efficiency_and_disturbs_nothing(
    tmp_path: Path, ranks: int, words: str
) -> None:
    """All modes; with 4 ranks every element touches another rank's, and no work is left."""
    records = measured(tmp_path, ranks, "gather-scatter --overlap", words, SMALL)
    done = [record for record in records if record.status == "ok"]
    assert len(done) > 1
    for record in done:
        assert {part.name for part in record.parts} == {"gather-scatter", "operator"}
        assert "overlap_efficiency" in record.statistics
        assert (record.validation.status, record.validation.exact) == ("passed", True)


def test_the_counts_that_nekrs_has_published(tmp_path: Path) -> None:
    """Of its kershaw case on Crusher: 8 ranks, no option that says how large it is."""
    words = "gather-scatter --mode pairwise --transport mpi --batches 1 --repeat 1 --warmup 0"
    (record,) = measured(tmp_path, 8, words, limit_s=300)
    report = list(record.report)
    printed = [line.strip() for line in shown([record]).splitlines()]
    for line in (
        "gs_setup: 236041 unique labels shared",
        "   buffer bytes (avg, min, max): 961072 961072 961072",
        " nElements   max/min/bal: 8000 8000 1.00",
        " nMessages   max/min/avg: 7 7 7.00",
        " msgSize     max/min/avg: 19881 1 8581.00",
        " msgSizeSum  max/min/avg: 60067 60067 60067.00",
    ):
        assert line in report, report
        assert line.strip() in printed
    assert any(f"grid points      unique/total: {281**3} {64000 * 512}" in line for line in report)
    assert any(f"degrees of freedom           : {279**3}" in line for line in report)
    assert record.facts["buffer_bytes"] == 961072
