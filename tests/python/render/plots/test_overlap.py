"""Pictures of operations whose parts overlap: each part alone, together and the ideal."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from matplotlib.colors import to_hex

from commlens.render import plots as plot
from commlens.render.plots.content import Content
from conftest import SOURCES
from plot_helpers import details, drawn, legends, panel, texts, timelines, titles, y_labels
from record_helpers import parsed
from sample_applications import (
    COPIES,
    MULTIPLICATIONS,
    REDUCTIONS,
    make_overlap_record,
    make_overlap_sweep,
)
from sample_records import make_record


def test_bars_show_each_part_the_whole_and_the_ideal() -> None:
    parts = {MULTIPLICATIONS: 5e5, REDUCTIONS: 4e5, COPIES: 2e5}
    figure = drawn(*make_overlap_sweep(parts_us=parts))
    assert titles(figure)[:4] == [
        "pipeline", "pipeline over mpi, best block 366", "pipeline over staged, best block 732",
        "pipeline over ccl, best block 2928",
    ]  # fmt: skip
    axes = panel(figure, "pipeline over ccl, best block 2928")
    alone = ["multiplications alone", "reductions alone", "copies alone"]
    assert y_labels(axes) == [*alone, "together", "ideal"]
    widths = [bar.get_width() for bar in axes.patches]
    assert widths == pytest.approx([0.5, 0.4, 0.2, 1.0, 0.6])
    assert texts(axes)[:5] == ["0.5000 s", "0.4000 s", "0.2000 s", "1.000 s", "0.6000 s"]
    assert details(axes) == "overlap efficiency 60%; ideal: communication alone"


def test_transports_near_each_other_share_a_scale() -> None:
    times = (("ccl", 9e5), ("mpi", 3e6))
    records = [make_overlap_record(transport=name, together_us=us) for name, us in times]
    figure = drawn(*records)
    assert len({axes.get_xlim() for axes in figure.axes[1:3]}) == 1
    steps = timelines(*records)
    assert len({axes.get_xlim() for axes in steps.axes}) == 1
    assert not any("of its own" in details(axes) for axes in steps.axes)


def test_transports_far_apart_have_separate_scales() -> None:
    quick = {MULTIPLICATIONS: 800.0, REDUCTIONS: 300.0}
    slow = {MULTIPLICATIONS: 800.0, REDUCTIONS: 9e4}
    records = [
        make_overlap_record(parts_us=slow, transport="mpi"),
        make_overlap_record(parts_us=quick, transport="ccl"),
    ]
    figure = timelines(*records)
    for axes in (drawn(*records).axes[1:], figure.axes):
        assert [subplot.get_xlabel() for subplot in axes] == ["time (ms)", "time (us)"]
    note = "a time axis of its own"
    assert note in details(panel(figure, "pipeline over ccl, block 732: 880.0 us"))
    assert note not in details(panel(figure, "pipeline over mpi, block 732: 99.00 ms"))


def test_the_parts_have_a_legend_and_a_color_each() -> None:
    sweep = make_overlap_sweep()
    assert legends(drawn(*sweep)) == [["mpi", "staged", "ccl", "ceiling: block GEMM"]]
    assert legends(timelines(*sweep)) == [["multiplications", "reductions", "copies"]]
    content = Content.of(parsed(*make_overlap_sweep()))
    of_transports = {
        to_hex(content.series(record).color).upper() for record in parsed(*make_overlap_sweep())
    }
    colors = content.part_colors
    assert len(set(colors.values())) == 3 and not of_transports & set(colors.values())
    few = make_overlap_record(parts_us={MULTIPLICATIONS: 8e5, REDUCTIONS: 3e5})
    assert Content.of(parsed(few)).part_colors.items() < colors.items(), "the same in every picture"


def test_groups_are_distinguished() -> None:
    off = make_overlap_record(together_us=1.34e6)
    off["parameters"]["overlap"] = False
    figure = timelines(make_overlap_record(together_us=8.8e5), off)
    on = details(panel(figure, "pipeline over mpi, block 732: 880.0 ms"))
    assert on.startswith("overlap true; one operation")
    off_details = details(panel(figure, "pipeline over mpi, block 732: 1.340 s"))
    assert off_details.startswith("overlap false; one operation")


def test_derived_parameters_tell_groups_apart_on_as_many_ranks() -> None:
    def record(ranks: int, layout: str, block: int) -> dict[str, Any]:
        parameters = {"block": block, "layout": layout}
        roles = {"block": "setting", "layout": "derived"}
        return make_overlap_record(parameters=parameters, roles=roles, ranks=ranks)

    def differences(*records: dict[str, Any]) -> list[str]:
        return [details(axes).split("; one operation")[0] for axes in timelines(*records).axes]

    assert differences(record(2, "2x1", 1), record(4, "2x2", 1)) == ["2 ranks", "4 ranks"]
    same_ranks = differences(record(2, "2x1", 1), record(2, "1x2", 2))
    assert same_ranks == ["block 1, layout 2x1", "block 2, layout 1x2"]


def test_without_timelines_there_are_bars_alone() -> None:
    figure = drawn(make_overlap_record(timeline=None))
    assert titles(figure) == ["pipeline, block 732", "pipeline over mpi, block 732"]
    for nothing in (None, {"time_us": 1.0, "spans": []}):
        assert plot.draw_timelines(parsed(make_overlap_record(timeline=nothing))) == (None, 0)


@pytest.mark.parametrize(
    "records",
    [
        [
            *(record for kind in ("device", "managed", "pinned")
              for record in make_overlap_sweep(memory=kind)),
            make_record(start="other"),
        ],
        [make_overlap_record(ranks=1, parts_us={MULTIPLICATIONS: 8e5})],
        [make_overlap_record(parts_us={MULTIPLICATIONS: 0.0, REDUCTIONS: 0.0}, together_us=10.0)],
        [make_overlap_record(parts_us={("a part with a long, long name", "s"): 3e9}, steps=50)],
        [
            make_overlap_record(benchmark=name, transport=transport, transports=list("abcd"))
            for name in ("one", "two")
            for transport in "abcd"
        ],
    ],
    ids=["memories", "one part", "nothing", "long", "many"],
)  # fmt: skip
def test_every_kind_of_overlap_is_drawn(records: list[dict[str, Any]], tmp_path: Path) -> None:
    assert plot.plot(parsed(*records), tmp_path / "picture.svg").left_out == []


def test_nothing_is_named_after_a_benchmark() -> None:
    names = ("xtx", "bp5", "fft", "multiplications", "reductions", "copies")
    folders = ("model", "compare", "profile", "render")
    files = [file for name in folders for file in SOURCES.glob(f"commlens/{name}/**/*.py")]
    assert len(files) > 50
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert not [name for name in names if re.search(f"(?<![a-z_]){name}", text)], file
