"""Which published results stand beside a record: the rule of docs/reference.md."""

from __future__ import annotations

from typing import Any

import pytest

from commlens.compare.references import Beside, beside, nearest
from commlens.model import load
from record_helpers import allreduce, device_latency, parsed
from run_helpers import cases
from sample_multigrid import make_multigrid_record
from sample_records import statistic
from test_documentation import TOP


def nearby(*records: dict[str, Any]) -> list[Beside]:
    return beside(parsed(*records))


def test_a_latency_has_the_four_columns_of_its_size() -> None:
    pairs = nearby(device_latency(1024, median_us=9.78))
    assert {pair.source.name for pair in pairs} == {"eessi-olivia", "juliet"}
    pairs = [pair for pair in pairs if pair.source.name == "juliet"]
    assert [(pair.published.setup, pair.published.as_printed) for pair in pairs] == [
        ("GPUDirect RDMA and gdrcopy", "4.89"),
        ("GPUDirect RDMA only", "41.72"),
        ("gdrcopy only", "10.48"),
        ("no GDR optimization", "252.01"),
    ]
    assert pairs[0].ratio == pytest.approx(2)


@pytest.mark.parametrize("other", cases("cases without published figures"))
def test_other_cases_have_nothing_beside_them(other: dict[str, Any]) -> None:
    assert nearby(device_latency()) and not nearby(device_latency(**other))


def test_a_metric_in_another_unit_is_another_metric() -> None:
    """A file can declare what it wants."""
    record = device_latency()
    record["start"]["benchmark"]["metrics"][0]["unit"] = "ms"
    assert not nearby(record)


def test_the_nearest_size_is_within_a_factor_of_two() -> None:
    (near, *_) = nearby(device_latency(1100))
    assert near.published.size == 1024
    assert near.ratio is None and not near.same_size, "of another size there is no ratio"
    assert nearby(device_latency(8 << 20)) and not nearby(device_latency(9 << 20))
    assert not nearby(device_latency(0))


def test_a_figure_stands_beside_the_closest_size_alone() -> None:
    pairs = nearby(*(device_latency(size) for size in (900, 1024, 1400)))
    assert {(pair.record.size, pair.published.size) for pair in pairs} == {(1024, 1024)}


def test_all_starts_of_a_size_have_it_beside_them() -> None:
    pairs = nearby(device_latency(), device_latency(time="2025-01-02T05:00:00Z", start="another"))
    assert len(pairs) == 12


def test_the_nearest_nodes_and_then_ranks_are_taken() -> None:
    for nodes, gpus in ((1, 6), (2, 12)):
        pairs = nearby(allreduce(ranks=4, nodes=nodes))
        assert [pair.published.gpus for pair in pairs if pair.source.name == "dftfe-summit"] == [
            gpus
        ]


def test_transports_have_separate_figures_of_each_set_up() -> None:
    pairs = nearby(allreduce(), allreduce(transport="ccl"), allreduce(transport="staged"))
    transports = [pair.record.transport for pair in pairs]
    assert transports == ["mpi"] * 5 + ["ccl"] * 5
    assert all(pair.record.transport == pair.published.transport for pair in pairs)
    assert not nearby(allreduce(options={"dtype": "f32"}))
    assert not nearby(allreduce(options={"in_place": False}))


def test_a_figure_is_compared_with_the_same_statistic() -> None:
    record = device_latency()
    record["statistics"]["latency_us"] = {**statistic(4.0), "mean": 4.04}
    assert nearby(record)[0].ours == 4.04, "OSU prints the mean"
    pairs = nearby(make_multigrid_record(throughput=2e8))
    (crusher,) = [pair for pair in pairs if pair.source.name == "nekrs-crusher"]
    assert crusher.ours == 2.6e8, "nekRS the best"


def test_another_metric_is_asked_for_by_name() -> None:
    records = parsed(make_multigrid_record())
    pairs = beside(records, "time_ms")
    summaries = [pair.published.summary for pair in pairs if pair.source.name == "nekrs-crusher"]
    assert summaries == ["best", "mean", "worst"]
    assert not beside(records, "nothing")


def test_times_and_rates_that_are_facts_stand_beside_the_main_metric() -> None:
    loaded = load([TOP / "docs/measured/h200-x2/gather-scatter.jsonl"])
    pairs = beside(loaded.records)
    assert {pair.metric.name for pair in pairs} == {
        *("exchange_min_us", "exchange_max_us", "exchange_avg_us", "bidirectional_GBps")
    }
    assert {pair.record.parameters["mode"] for pair in pairs} == {"pairwise"}
    counts = beside(loaded.records, "message_size_max")
    assert counts and all(pair.ratio == 1 for pair in counts)


def test_the_nearest_of_any_size_and_memory_are_there_for_dftfe() -> None:
    (record,) = parsed(allreduce(8, memory="host"))
    assert not beside([record])
    pairs = nearest(record)
    assert len(pairs) == 5
    assert all(pair.ratio is None for pair in pairs)


@pytest.mark.parametrize("size", [1, 2**62])
@pytest.mark.parametrize("median_us", [1e-300, 1e29])
def test_absurd_numbers_do_no_harm(size: int, median_us: float) -> None:
    record = device_latency(size, median_us=median_us, ceilings=[])
    for pair in [*nearby(record), *nearest(*parsed(record))]:
        assert pair.ratio is None or pair.ratio >= 0
