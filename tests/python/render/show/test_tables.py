"""The tables of records whose widths, orders or makers are no matter of cases.yaml."""

from __future__ import annotations

from typing import Any

import pytest

from report_helpers import placement
from sample_applications import (
    COPIES,
    MULTIPLICATIONS,
    REDUCTIONS,
    make_exchange_record,
    make_overlap_record,
    make_transform_record,
    modes,
)
from sample_multigrid import make_multigrid_record
from sample_records import make_record
from show_helpers import output, shown


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


def test_units_and_labels_are_those_of_the_start() -> None:
    text = make_record()
    text["start"]["benchmark"]["metrics"][0].update(label="half the trip", unit="fortnights")
    assert any("half the trip (fortnights)" in line for line in shown(text))


def test_all_rates_of_a_column_have_the_same_notation() -> None:
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


def test_the_placement_of_many_ranks_is_summed_up() -> None:
    lines = shown(
        make_record(ranks=64, placement=placement([f"node{node}" for node in range(16)], gpus=4))
    )
    assert "rank 15 node3 cores 60-63 NUMA 0 GPU 3 NVIDIA H200 at 0000:03:00.0, NUMA 0" in lines
    in_all = "in all on 16 hosts, node0 ... node15, with 64 GPUs: NVIDIA H200"
    assert f"... and 48 more ranks; {in_all}" in lines
    assert not any(line.startswith("rank 16") for line in lines)


def test_show_names_the_used_candidate_and_the_findings() -> None:
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


def test_reports_of_records_stand_before_the_table_once_per_start() -> None:
    report = ["gs_setup: 7 labels", "   used: pairwise", "", "second block"]
    lines = shown(*modes(report=report))
    assert lines.count("gs_setup: 7 labels") == lines.count("second block") == 1
    assert lines.index("used: pairwise") < lines.index("second block")
    assert lines.index("second block") < next(n for n, line in enumerate(lines) if "95% CI" in line)
    both = [*modes(report=report, start="one"), *modes(report=report, start="two")]
    assert shown(*both).count("gs_setup: 7 labels") == 1  # of the first
    assert shown(*both, wide=True).count("gs_setup: 7 labels") == 2


@pytest.mark.parametrize("text", ["\x1b[2J", "\x07", "a\u202eb"])
def test_control_characters_are_not_printed(text: str) -> None:
    printed = output(
        make_record(status="failed", reason=text),
        make_record(facts={"found": text}, report=[text], warnings=[text], notes=[text]),
        make_record(environment={"UCX_TLS": text}),
    )
    assert text not in printed and "?" in printed


def test_show_has_the_parts_alone_and_together() -> None:
    parts = {MULTIPLICATIONS: 5e5, REDUCTIONS: 4e5, COPIES: 2e5}
    sweep = [
        make_overlap_record(block=block, transport=name, parts_us=parts, together_us=1.2e6)
        for block in (366, 732)
        for name in ("mpi", "staged")
    ]
    lines = shown(*sweep)
    head = lines.index(
        "multiplications alone reductions alone copies alone ideal together hidden overlap"
    )
    assert lines[head + 1 : head + 5] == [
        "block transport memory compute (s) communication (s) communication (s) (s) (s) "
        "communication efficiency",
        lines[head + 2],
        "366 mpi host 0.5000 0.4000 0.2000 0.6000 1.200 - 50%",
        "staged host 0.5000 0.4000 0.2000 0.6000 1.200 - 50%",
    ]
    without = {MULTIPLICATIONS: 500.0, REDUCTIONS: 400.0}
    lines = shown(make_overlap_record(parts_us=without, together_us=625.0))
    assert (
        "block transport memory compute (us) communication (us) (us) (us) communication efficiency"
        in lines
    )
    assert "732 mpi host 500.0 400.0 500.0 625.0 - 80%" in lines


def test_with_5_starts_each_a_speed_up_is_significant() -> None:
    records = [
        make_overlap_record(ranks=ranks, together_us=us + 1e3 * start, start=f"{ranks}-{start}")
        for ranks, us in ((1, 1.7e6), (2, 0.9e6))
        for start in range(5)
    ]
    assert any(line.endswith(" 1.89 94%") for line in shown(*records))


def test_many_columns_are_several_tables() -> None:
    sizes = [make_multigrid_record(options={"edge": edge}) for edge in range(4, 16)]
    text = output(*sizes, width=100)
    tables = [line for line in text.split("\n") if line.split()[:2] == ["level", "part"]]
    assert len(tables) > 2
    rows = [line for line in text.split("\n") if line.split()[:1] in (["smoother"], ["p7"])]
    assert max(map(len, [*tables, *rows])) <= 100
