"""The main table of a group: metrics, ceiling, ratio to the best, check; machines and reasons."""

from __future__ import annotations

from typing import Any

import pytest

from sample_applications import (
    make_exchange_record,
    make_overlap_record,
    make_transform_record,
    modes,
)
from sample_records import make_record
from show_helpers import output, shown

DEVICE = {
    "ordinal": 0,
    "name": "A GPU",
    "uuid": "GPU-1",
    "pci": "0000:01:00.0",
    "numa_node": 1,
    "memory_bytes": 1,
}


def placed(ranks: int, **changes: Any) -> list[dict[str, Any]]:
    return [
        {"rank": rank, "host": f"node{rank // 4}", "cores": "0-3", "numa_nodes": "0", **changes}
        for rank in range(ranks)
    ]


def test_show_has_all_that_matters() -> None:
    placement = [{**one, "host": "node", "device": DEVICE} for one in placed(2)]
    common = {"placement": placement, "warnings": ["rank 0 sits on the far NUMA node"]}
    failed = {"status": "failed", "reason": "wrong data in [rank 1]"}
    lines = shown(
        make_record(median_us=2, **common),
        make_record(median_us=50, transport="staged", **common),
        make_record(
            transport="ccl", status="skipped", reason="NCCL wants a GPU per rank", **common
        ),
        make_record(median_us=2, benchmark="bandwidth", **common, **failed),
    )
    assert lines.count("rank 0 node cores 0-3 NUMA 0 GPU 0 A GPU at 0000:01:00.0, NUMA 1") == 1
    assert lines.count("warning: rank 0 sits on the far NUMA node") == 1
    assert "latency pairs 1 · 2 ranks · timing batch · one launch" in lines
    assert "1 KiB mpi host 2.000 1.960 to 2.040 10 25% memory copy best passed" in lines
    assert "staged host 50.00 49.00 to 51.00 10 1% memory copy 25x passed" in lines
    assert "skipped: ccl, host: NCCL wants a GPU per rank" in lines
    assert "failed: mpi, host: wrong data in [rank 1]" in lines


def test_the_check_says_what_became_of_the_validation() -> None:
    def check(**changes: Any) -> str:
        return next(line for line in shown(make_record(**changes)) if "1 KiB" in line).split()[-1]

    off = {"status": "off", "checks": 0, "elements": 0, "message": ""}
    wrong = {**off, "status": "failed", "message": "rank 1: element 3 is 4 instead of 5"}
    statistics = make_record()["statistics"]
    assert check() == "passed"
    assert check(validation=off) == "off"
    assert check(status="failed", statistics=statistics, validation=wrong) == "failed"
    lines = shown(make_record(status="failed", reason="wrong result", validation=wrong))
    assert "failed: mpi, host: wrong result; rank 1: element 3 is 4 instead of 5" in lines


def test_a_table_is_as_wide_as_the_terminal_and_wide_shows_all() -> None:
    records = [make_transform_record(name) for name in ("per-transpose", "cached")]

    def heads(**changes: Any) -> str:
        return next(line for line in shown(*records, **changes) if "95% CI" in line)

    assert heads() == (
        "transport memory communicators time (ms) 95% CI n cp2k (Mflop/s) fft (GFLOP/s) of ceiling "
        "to best check"
    )
    assert heads(width=115).endswith("time (ms) 95% CI n cp2k (Mflop/s) of ceiling to best check")
    assert "--wide has more columns: fft (GFLOP/s)" in shown(*records, width=115)
    assert heads(width=80).endswith("(ms) 95% CI n of ceiling to best check"), "units below names"
    wide = heads(width=80, wide=True)
    assert wide.endswith("fft (GFLOP/s) time (us) of ceiling to best check compared")
    assert not any("--wide" in line for line in shown(*records, wide=True))


def test_a_main_table_keeps_to_the_width() -> None:
    records = [make_record(metric="bandwidth_GBps", metrics=["bandwidth_GBps", "time_ms"])]
    lines = output(*records, width=100).split("\n")
    assert max(map(len, lines)) <= 100


def test_wide_has_the_exact_size_the_ceiling_and_how_results_were_compared() -> None:
    rounded = {"status": "passed", "checks": 1, "elements": 1, "message": "", "exact": False}
    lines = shown(make_record(bytes=1025, validation=rounded), wide=True)
    head = next(number for number, line in enumerate(lines) if "95% CI" in line)
    assert lines[head] == (
        "size bytes transport memory latency (us) 95% CI n time (us) of ceiling ceiling (us) "
        "ceiling to best check compared"
    )
    assert lines[head + 2] == (
        "1 KiB 1,025 mpi host 2.000 1.960 to 2.040 10 2.000 25% 0.5000 memory copy - passed "
        "to rounding"
    )


def test_units_and_labels_are_those_of_the_start() -> None:
    text = make_record()
    text["start"]["benchmark"]["metrics"][0].update(label="half the trip", unit="fortnights")
    assert any("half the trip (fortnights)" in line for line in shown(text))


def test_all_rates_of_a_column_have_one_notation() -> None:
    records = [
        make_record(bytes=size, metric="throughput_DOF_iter_per_s", benchmark="bp5", start="a")
        for size in (1024, 2048)
    ]
    for record, value in zip(records, (9.3e8, 2.8e9)):
        statistic = record["statistics"]["throughput_DOF_iter_per_s"]
        statistic.update(dict.fromkeys(("min", "median", "ci_low", "ci_high", "max"), value))
    lines = shown(*records)
    assert any("9.300e8 9.300e8 to 9.300e8" in line for line in lines)
    assert any("2.800e9 2.800e9 to 2.800e9" in line for line in lines)


# Machines


def test_starts_that_agree_share_a_block() -> None:
    records = [make_record(start=name, bytes=8) for name in "ab"]
    records.append(make_record(start="c", nodes=2, ranks=4, environment={"UCX_TLS": "all"}))
    lines = shown(*records)
    ours = "node · 2 ranks · Open MPI 4.1.4 · backend host · commlens 0.1.0"
    assert lines[0] == f"{ours} (2 launches)"
    assert "2 nodes from node · 4 ranks · Open MPI 4.1.4 · backend host · commlens 0.1.0" in lines
    assert "UCX_TLS=all" in lines


def test_network_adapters_are_named_where_there_are_several_nodes() -> None:
    near = {"name": "mlx5_0", "link_layer": "InfiniBand", "rate_Gbps": 400, "numa_node": 0}
    near["distance"] = "same PCIe switch"
    unknown = {"name": "eth0", "link_layer": "Ethernet", "numa_node": -1}
    placement = placed(8, nics=[near, unknown])
    lines = shown(make_record(ranks=8, nodes=2, placement=placement))
    adapters = "NIC mlx5_0 400 Gbit/s InfiniBand, same PCIe switch NIC eth0 Ethernet"
    assert f"rank 7 node1 cores 0-3 NUMA 0 {adapters}" in lines
    assert "rank 7 node1 cores 0-3 NUMA 0" in shown(make_record(ranks=8, placement=placement))


def test_why_there_is_no_ceiling_is_said_once() -> None:
    reason = "no TCP connection from n1 to n2: n2 has no address to connect to"
    records = [make_record(bytes=size, ceilings=[], no_ceiling=reason) for size in (8, 64)]
    assert shown(*records).count(f"no ceiling: {reason}") == 1


def test_the_placement_of_many_ranks_is_summed_up() -> None:
    lines = shown(make_record(ranks=64, placement=placed(64, device=DEVICE)))
    assert "rank 15 node3 cores 0-3 NUMA 0 GPU 0 A GPU at 0000:01:00.0, NUMA 1" in lines
    in_all = "in all on 16 hosts, node0 ... node15, with 16 GPUs: A GPU"
    assert f"... and 48 more ranks; {in_all}" in lines
    assert not any(line.startswith("rank 16") for line in lines)


def test_libraries_that_were_found_are_part_of_the_machine() -> None:
    first = shown(make_record(libraries={"blas": "OpenBLAS 0.3.21"}))[0]
    assert first.endswith("commlens 0.1.0 · blas OpenBLAS 0.3.21")


def test_show_has_the_notes_of_a_start_once() -> None:
    note = "dofs were scaled to 400000"
    noted = [make_overlap_record(block=block, notes=[note]) for block in (366, 732)]
    lines = shown(*noted, make_record())
    assert [line for line in lines if line.startswith("note:")] == [f"note: {note}"]


# Reasons, reports, facts


def test_show_says_where_in_a_sweep_something_failed() -> None:
    sweep = [make_overlap_record(block=block, memory="device") for block in (366, 1464, 2928)]
    failed = [
        make_overlap_record(
            block=block, transport="late", memory="device", status="failed", reason="no memory"
        )
        for block in (1464, 2928)
    ]
    assert "failed: late, device, block 1464 to 2928: no memory" in shown(*sweep, *failed)
    assert "failed: late, device, block 1464: no memory" in shown(*sweep, failed[0])
    late = [make_record(bytes=size, status="failed", reason="late") for size in (1024, 4096)]
    assert "failed: mpi, host, 1 KiB to 4 KiB: late" in shown(*late)


def test_show_names_what_is_used_and_what_was_found() -> None:
    skipped = make_exchange_record("pairwise", "ccl", status="skipped", reason="no GPU")
    skipped.update(statistics={})
    del skipped["candidate"]
    lines = shown(*modes(), skipped)
    assert "used config: neighbor+device (MPI min/max/avg: 4.40e-05s)" in lines
    assert sum(line.endswith("44.00 used") for line in lines) == 1
    assert sum(line.endswith("used") for line in lines) == 1
    assert "skipped: ccl, device: no GPU" in lines
    common = "labels shared 236,041"
    assert any(line.startswith(common) for line in lines), "what all have in common, once"
    assert not any("speed-up" in line for line in lines)
    assert not any("used config" in line for line in shown(skipped))


def test_what_records_report_stands_before_the_table_once_per_start() -> None:
    report = ["gs_setup: 7 labels", "   used: pairwise", "", "second block"]
    lines = shown(*modes(report=report))
    assert lines.count("gs_setup: 7 labels") == lines.count("second block") == 1
    assert lines.index("used: pairwise") < lines.index("second block")
    assert lines.index("second block") < next(n for n, one in enumerate(lines) if "95% CI" in one)
    both = [*modes(report=report, start="one"), *modes(report=report, start="two")]
    assert shown(*both).count("gs_setup: 7 labels") == 1  # of the first
    assert shown(*both, wide=True).count("gs_setup: 7 labels") == 2


def test_facts_in_which_records_differ_have_a_column() -> None:
    facts: list[dict[str, Any]] = [
        {"labels_shared": 7, "converged": True},
        {"labels_shared": 8, "converged": True, "way": "pairwise"},
    ]
    records = [make_record(facts=fact, transport=name) for fact, name in zip(facts, ("mpi", "ccl"))]
    lines = shown(*records)
    assert "converged yes" in lines
    assert "1 KiB mpi host 7 -" in lines
    assert "ccl host 8 pairwise" in lines


def test_facts_have_the_units_of_the_start() -> None:
    lines = shown(make_record(facts={"bytes_per_iteration": 1 << 20, "bidirectional_GBps": 1.5}))
    assert "bytes per iteration 1 MiB · bidirectional GBps 1.500 GB/s" in lines
    rates = {"mpi": 1.5, "ccl": 2.5}
    lines = shown(
        *(
            make_record(facts={"bidirectional_GBps": rate}, transport=name)
            for name, rate in rates.items()
        )
    )
    assert any(line.endswith("bidirectional GBps (GB/s)") for line in lines)
    assert "ccl host 2.500" in lines


@pytest.mark.parametrize("text", ["\x1b[2J", "\x07", "a\u202eb"])
def test_what_could_steer_a_terminal_is_not_printed(text: str) -> None:
    printed = output(
        make_record(status="failed", reason=text),
        make_record(facts={"found": text}, report=[text], warnings=[text], notes=[text]),
        make_record(environment={"UCX_TLS": text}),
    )
    assert text not in printed and "?" in printed
