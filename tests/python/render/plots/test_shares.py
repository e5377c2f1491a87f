"""Pictures of parts that are measured within an operation: shares of one bar."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from commlens.render import plots as plot
from plot_helpers import details, drawn, legends, panel, texts, timelines, titles, y_labels
from record_helpers import parsed
from sample_applications import (
    make_exchange_record,
    make_overlap_record,
    make_transform_record,
    make_transform_records,
    modes,
)
from sample_records import make_record, statistic

VARIANTS = ["mpi, per-transpose", "mpi, cached", "staged, per-transpose", "staged, cached"]


def test_parts_within_share_a_bar_for_each_transport_and_variant() -> None:
    figure = drawn(*make_transform_records(), *make_transform_records(transport="staged"))
    assert titles(figure)[0] == "fft by part", "the bars of the whole would say the same"
    axes = figure.axes[0]
    assert y_labels(axes) == VARIANTS
    bars: list[Any] = list(axes.patches)
    assert [bar.get_width() for bar in bars[:5]] == pytest.approx([6e-3, 3e-3, 8e-3, 4e-3, 1e-3])
    assert [bar.get_x() for bar in bars[:5]] == pytest.approx([0, 6e-3, 9e-3, 17e-3, 21e-3])
    assert [bar.get_width() for bar in bars[5:10]] == pytest.approx([6e-3, 3e-3, 8e-3, 0, 1e-3])
    assert {"22.00 ms", "18.00 ms", "27%", "36%"} <= set(texts(axes))
    assert not any("ideal" in text or "overlap" in text for text in texts(axes))


def test_the_legend_has_parts_the_rest_and_ceilings() -> None:
    parts = ["local FFT", "pack and unpack", "communication", "communicators"]
    marks = [
        "ceiling of pack and unpack: memory copy",
        "ceiling of communication: alltoall alone",
    ]
    assert legends(drawn(*make_transform_records())) == [[*parts, "other", *marks]]
    assert legends(timelines(*make_transform_records())) == [parts]
    without = make_transform_records(ceilings=[], timeline=None)
    assert legends(drawn(*without)) == [[*parts, "other"]]


def test_a_ceiling_is_a_mark_at_its_time_from_the_parts_beginning() -> None:
    axes = drawn(make_transform_record(timeline=None)).axes[0]
    lines: list[Any] = list(axes.lines)
    marks = [
        line for line in lines if line.get_linestyle() == "None" and len(line.get_xdata()) == 1
    ]
    ends = [mark.get_xdata()[0] for mark in marks]
    assert ends == pytest.approx([6e-3 + 0.8 * 3e-3, 9e-3 + 0.9 * 8e-3])
    assert len({mark.get_marker() for mark in marks}) == 2


def test_parts_add_up_to_the_bar_and_no_number_covers_its_end() -> None:
    record = make_transform_record(together_ms=19.0, timeline=None)
    record["statistics"]["time_us"].update(ci_low=16e3, min=16e3)
    axes = drawn(record).axes[0]
    bars: list[Any] = list(axes.patches)
    assert [bar.get_width() for bar in bars] == pytest.approx(
        [19 / 21 * part for part in (6e-3, 3e-3, 8e-3, 4e-3)] + [0]
    )
    assert bars[-1].get_x() == pytest.approx(19e-3)
    assert details(axes) == "parts scaled to the time where their medians add up to more"
    assert {"29%", "14%", "38%"} <= set(texts(axes)) and "19%" not in texts(axes), (
        "the interval lies there"
    )
    assert not details(drawn(make_transform_record(timeline=None)).axes[0])


def test_transports_far_apart_have_separate_panels_and_scales() -> None:
    slow = make_transform_records(transport="mpi", parts_ms={"local FFT": 900.0}, ceilings=[])
    figure = drawn(*slow, *make_transform_records(transport="ccl"))
    assert titles(figure)[:3] == ["fft", "fft by part over mpi", "fft by part over ccl"]
    axes = panel(figure, "fft by part over ccl")
    assert y_labels(axes) == ["ccl, per-transpose", "ccl, cached"]


def test_a_ceiling_of_the_whole_is_a_line() -> None:
    whole = {"name": "network", "method": "", "time_us": 9e3, "fraction": 0.4}
    rate = {"rate": 1.0, "unit": "GB/s", "metrics": {"time_ms": 9.0}}
    figure = drawn(make_transform_record(ceilings=[{**whole, **rate}], timeline=None))
    assert titles(figure) == ["fft by part"]
    lines: list[Any] = list(figure.axes[0].lines)
    (dashed,) = [line for line in lines if line.get_linestyle() == "--"]
    assert list(dashed.get_xdata()) == pytest.approx([9e-3, 9e-3])
    assert legends(figure)[0][0] == "ceiling: network"


def test_bars_of_the_whole_stay_where_they_say_more() -> None:
    rates = make_transform_record(timeline=None, metrics=["fft_GFLOPs", "time_ms", "cp2k_Mflops"])
    assert titles(drawn(rates)) == ["fft", "fft by part"]
    other = make_record(start="2")
    assert titles(drawn(make_transform_record(timeline=None), other))[0] == "fft by part"


def test_a_timeline_is_of_each_variant_on_the_most_ranks() -> None:
    records = [record for ranks in (2, 4) for record in make_transform_records(ranks=ranks)]
    figure = timelines(*records)
    variants = ["per-transpose: 22.00 ms", "cached: 18.00 ms"]
    assert titles(figure) == [f"fft over mpi, {variant}" for variant in variants]
    assert y_labels(figure.axes[0]) == [f"rank {rank}   transform" for rank in range(4)]


# ---- what an application would use ----


def test_bars_of_modes_show_the_share_of_the_exchange_and_the_used_mode() -> None:
    figure = drawn(*modes())
    (axes,) = figure.axes
    assert titles(figure) == ["gather-scatter by part"]
    assert y_labels(axes) == ["mpi, pairwise", "mpi, neighbor", "staged, pairwise"]
    weights = [label.get_fontweight() for label in axes.get_yticklabels()]
    assert weights == ["normal", "bold", "normal"]
    shares = {"60%", "61%", "50%"}  # 30 of 50, of the 49 of all parts, and of 60 us
    assert shares | {"50.00 us", "44.00 us (used)", "60.00 us"} <= set(texts(axes))
    assert details(axes).startswith("used: neighbor+device; ")
    assert legends(figure)[0][:4] == ["pack", "exchange", "local", "unpack"]


def test_without_a_candidate_nothing_is_used() -> None:
    (axes,) = drawn(*modes(candidate=None)).axes
    assert not any("used" in text for text in texts(axes))
    (alone,) = drawn(make_exchange_record()).axes
    assert "50.00 us (used)" in texts(alone), "the only one is used"


# ---- all together ----


def test_every_kind_is_drawn(tmp_path: Path) -> None:
    few = make_transform_record(timeline=None)
    few["statistics"]["time_us"] = {**statistic(22e3), "ci_low": None, "ci_high": None}
    zero = dict.fromkeys(("local FFT", "communication"), 0.0)
    nothing = make_transform_record(parts_ms=zero, timeline=None)
    kinds = ("host", "pinned", "device", "managed")
    memories = [make_transform_record(memory=memory, start="3") for memory in kinds]
    others = [make_record(), make_overlap_record()]
    on_two = make_transform_records(ranks=2)
    for records in ([few], [nothing], memories, [*on_two, *memories, *others]):
        assert plot.plot(parsed(*records), tmp_path / "picture.svg").left_out == []
