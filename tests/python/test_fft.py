"""Parts that are measured within an operation, and variants that one start compares: what is read, said and drawn."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from commlens import plot
from commlens.records import Record, cases, parse
from sample_records import make_overlap_record, make_record, make_transform_record, make_transform_records, statistic


def parsed(*records: dict[str, Any]) -> list[Record]:
    return [parse(json.dumps(record) + "\n") for record in records]


# What is read


def test_parts_within_say_nothing_of_overlap() -> None:
    (record,) = parsed(make_transform_record())
    assert [(part.name, part.stream, part.within) for part in record.parts][::3] == [
        ("local FFT", "transform", True), ("communicators", "transform", True),
    ]  # fmt: skip
    assert record.has_parts_within and record.parts[0].time_s.median == pytest.approx(6e-3)
    assert (record.alone_s, record.ideal_s, record.efficiency) == ({}, None, None)
    assert record.together_s == pytest.approx(22e-3)
    assert record.other_s == pytest.approx(1e-3)


def test_parts_that_overlap_within_leave_nothing() -> None:
    (record,) = parsed(make_transform_record(together_ms=15.0))
    assert record.other_s == 0
    assert [alone.other_s for alone in parsed(make_record(), make_overlap_record())] == [None, None]


def test_ceilings_of_parts_are_not_those_of_the_whole() -> None:
    (record,) = parsed(make_transform_record())
    assert record.ceiling is None
    copy, alltoall = record.ceilings
    assert (copy.part, copy.fraction, copy.rate, copy.figures) == ("pack and unpack", 0.8, ("copy_GBps", 24.0), {})
    assert (alltoall.part, alltoall.rate, alltoall.library) == ("communication", None, True)
    assert alltoall.time_s == pytest.approx(0.9 * 8e-3)


def test_the_smallest_sample_and_the_calls_are_read() -> None:
    (record,) = parsed(make_transform_record())
    assert record.statistics["time_ms"].minimum == pytest.approx(0.9 * 22)
    assert record.calls["MPI_Cart_rank"] == 20
    assert parsed(make_record())[0].calls == {}


def test_the_variants_of_a_start_share_a_case() -> None:
    (case,) = cases(parsed(*make_transform_records(), *make_transform_records(transport="staged")))
    assert (case.compared, case.compared_values) == ("communicators", ["per-transpose", "cached"])
    assert "communicators" not in case.parameters and case.variants == {}
    assert [(record.transport, case.variant_label(record), case.variant_number(record)) for record in case.records] == [
        ("mpi", "per-transpose", 0), ("mpi", "cached", 1), ("staged", "per-transpose", 0), ("staged", "cached", 1),
    ]  # fmt: skip
    assert len(case.at_best_size()) == 4


def test_runs_of_variants_are_told_apart_by_both() -> None:
    runs = [
        record
        for pml in ("ucx", "ob1")
        for record in make_transform_records(run=pml, environment={"OMPI_MCA_pml": pml})
    ]
    (case,) = cases(parsed(*runs))
    assert [(case.variant_label(record), case.variant_number(record)) for record in case.records] == [
        ("per-transpose, pml=ucx", 0), ("cached, pml=ucx", 1), ("per-transpose, pml=ob1", 2), ("cached, pml=ob1", 3),
    ]  # fmt: skip


def test_without_the_field_two_values_of_a_parameter_are_two_cases() -> None:
    assert len(cases(parsed(*make_transform_records(variant=None)))) == 2


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (lambda record: record["parts"][0].update(within=False), "parts/0/within"),
        (lambda record: record["parts"][0].pop("within"), "parts: some are within the operation, others alone"),
        (lambda record: record.update(variant="colour"), "variant: no parameter is called 'colour'"),
        (lambda record: record.update(variant=""), "variant"),
        (lambda record: record["ceilings"][0].update(part="sums"), "ceilings/0/part: no part is called 'sums'"),
        (lambda record: record["ceilings"][0].update(figures={"time_ms": 1.0}), "ceilings/0"),
        (lambda record: record["ceilings"][0].update(gemm_TFLOPs=1.0), "ceilings/0"),
        (lambda record: record["ceilings"][0].pop("part"), "ceilings/0"),
        (lambda record: record["validation"].update(deviation={"largest": 0.0}), "validation/deviation"),
        (lambda record: record["ceilings"][1].pop("time_us"), "ceilings/1"),
        (lambda record: record["calls"].update(MPI_Cart_sub=-1), "calls/MPI_Cart_sub"),
        (lambda record: record.update(calls=["MPI_Cart_sub"]), "calls"),
    ],
)  # fmt: skip
def test_what_is_malformed_is_refused(spoil: Callable[[dict[str, Any]], object], what: str) -> None:
    record = make_transform_record()
    assert parsed(record)
    spoil(record)
    with pytest.raises(ValueError, match="not a record of schema 1") as refusal:
        parsed(record)
    assert what in str(refusal.value)


# What `commlens plot` draws


def drawn(*records: dict[str, Any]) -> Figure:
    figure = plot.draw(parsed(*records))
    figure.draw_without_rendering()
    return figure


def titles(figure: Figure) -> list[str]:
    return [axes.get_title(loc="left").replace("\n", " ") for axes in figure.axes]


def panel(figure: Figure, title: str) -> Axes:
    return figure.axes[titles(figure).index(title)]


def texts(axes: Axes) -> list[str]:
    return [text.get_text().replace("\n", " ") for text in axes.texts]


def y_labels(axes: Axes) -> list[str]:
    return [label.get_text() for label in axes.get_yticklabels()]


def legends(figure: Figure) -> list[list[str]]:
    holders = [figure, *figure.subfigs]
    return [[text.get_text() for text in legend.get_texts()] for holder in holders for legend in holder.legends]


def on_ranks(*counts: int, **changes: Any) -> list[dict[str, Any]]:
    """The more ranks, the more the cached variant gains: as many percent."""
    return [
        make_transform_record(name, ranks=ranks, run=f"run-{ranks}", together_ms=100.0 + gain, timeline=None, **changes)
        for ranks in counts
        for name, gain in (("per-transpose", ranks), ("cached", 0))
    ]


def test_parts_within_stand_in_one_bar_for_each_transport_and_variant() -> None:
    figure = drawn(*make_transform_records(), *make_transform_records(transport="staged"))
    assert titles(figure)[0] == "fft by part", "the bars of the whole would say the same"
    axes = figure.axes[0]
    assert y_labels(axes) == ["mpi, per-transpose", "mpi, cached", "staged, per-transpose", "staged, cached"]
    bars: list[Any] = list(axes.patches)
    assert [bar.get_width() for bar in bars[:5]] == pytest.approx([6, 3, 8, 4, 1])
    assert [bar.get_x() for bar in bars[:5]] == pytest.approx([0, 6, 9, 17, 21])
    assert [bar.get_width() for bar in bars[5:10]] == pytest.approx([6, 3, 8, 0, 1])
    assert {"22.00 ms", "18.00 ms", "27%", "36%"} <= set(texts(axes))
    assert not any("ideal" in text or "overlap" in text for text in texts(axes))


def test_the_legend_has_parts_the_rest_and_ceilings() -> None:
    parts = ["local FFT", "pack and unpack", "communication", "communicators"]
    marks = ["ceiling of pack and unpack: memory copy", "ceiling of communication: alltoall alone"]
    assert legends(drawn(*make_transform_records())) == [[*parts, "other", *marks], parts]
    without = make_transform_records(ceilings=[], timeline=None)
    assert legends(drawn(*without)) == [[*parts, "other"]]


def test_a_ceiling_is_a_mark_as_far_from_the_parts_beginning() -> None:
    axes = drawn(make_transform_record(timeline=None)).axes[0]
    lines: list[Any] = list(axes.lines)
    marks = [line for line in lines if line.get_linestyle() == "None" and len(line.get_xdata()) == 1]
    assert [mark.get_xdata()[0] for mark in marks] == pytest.approx([6 + 0.8 * 3, 9 + 0.9 * 8])
    assert len({mark.get_marker() for mark in marks}) == 2


def test_parts_that_exceed_the_whole_say_so_and_no_number_lies_on_the_mark() -> None:
    axes = drawn(make_transform_record(together_ms=19.0, timeline=None)).axes[0]
    assert texts(axes)[-1].startswith("the parts' medians add up to more than the time, which is marked")
    assert "42%" in texts(axes) and "21%" not in texts(axes), "the interval lies there"
    assert "medians" not in texts(drawn(make_transform_record(timeline=None)).axes[0])[-1]


def test_a_wide_interval_lies_within_the_axes() -> None:
    record = make_transform_record(timeline=None)
    record["statistics"]["time_us"]["ci_high"] = 60e3
    axes = drawn(record).axes[0]
    assert axes.get_xlim()[1] > 60
    number = next(text for text in axes.texts if text.get_text() == "22.00 ms")
    assert number.get_window_extent().x1 < axes.get_window_extent().x1


def test_transports_far_apart_have_panels_and_scales_of_their_own() -> None:
    slow = make_transform_records(transport="mpi", parts_ms={"local FFT": 900.0}, ceilings=[])
    figure = drawn(*slow, *make_transform_records(transport="ccl"))
    assert titles(figure)[:3] == ["fft", "fft by part over mpi", "fft by part over ccl"]
    assert y_labels(panel(figure, "fft by part over ccl")) == ["ccl, per-transpose", "ccl, cached"]


def test_a_ceiling_of_the_whole_is_a_line() -> None:
    whole = {"name": "network", "method": "", "time_us": 9e3, "copy_GBps": 1.0, "fraction": 0.4}
    figure = drawn(make_transform_record(ceilings=[{**whole, "figures": {"time_ms": 9.0}}], timeline=None))
    assert titles(figure) == ["fft by part"]
    lines: list[Any] = list(figure.axes[0].lines)
    assert list(lines[-1].get_xdata()) == pytest.approx([9, 9])
    assert legends(figure)[0][0] == "ceiling: network, host"


def test_bars_of_the_whole_stay_where_they_say_more() -> None:
    rate: dict[str, Any] = {"figures": [{"name": "fft_GFLOPs", "better": "higher"}]}
    assert titles(drawn(make_transform_record(timeline=None, **rate))) == ["fft", "fft by part"]
    assert titles(drawn(make_transform_record(timeline=None), make_record(run="2")))[0] == "fft by part"


def test_a_timeline_is_of_each_variant() -> None:
    figure = drawn(*make_transform_records())
    assert titles(figure)[1:] == ["fft over mpi, per-transpose: 22.00 ms", "fft over mpi, cached: 18.00 ms"]
    assert y_labels(figure.axes[1]) == [f"rank {rank}   transform" for rank in range(4)]


def test_several_numbers_of_ranks_have_a_curve_of_the_speed_up() -> None:
    figure = drawn(*on_ranks(1, 2, 8), *on_ranks(1, 2, 8, transport="ccl"))
    assert titles(figure) == [
        "fft by part, 1 rank", "fft by part, 2 ranks", "fft by part, 8 ranks", "fft: cached over per-transpose",
    ]  # fmt: skip
    axes = figure.axes[-1]
    curves: list[Any] = axes.lines[1:]
    assert [list(curve.get_xdata()) for curve in curves] == [[1, 2, 8]] * 2
    assert [list(curve.get_ydata()) for curve in curves] == [pytest.approx([1, 2, 8])] * 2
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "2", "8"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("ranks", "speed-up")
    assert texts(axes)[-1].startswith("by the medians; grid 125x125x125")
    assert legends(figure)[0][:2] == ["mpi", "ccl"]
    assert figure.texts[0].get_text() == "node  ·  1 to 8 ranks  ·  Open MPI 4.1.4"


def test_problems_have_curves_of_their_own() -> None:
    figure = drawn(*on_ranks(1, 2, grid="64x64x64"), *on_ranks(1, 2, grid="125x125x125"))
    assert legends(figure)[0][:2] == ["mpi, grid 64x64x64", "mpi, grid 125x125x125"]
    assert titles(figure)[-1] == "fft: cached over per-transpose"


def test_too_many_ranks_are_shaded() -> None:
    crowded = [{"rank": rank, "host": "node", "cores": "0-3", "numa_nodes": "0"} for rank in range(8)]
    axes = drawn(*on_ranks(2, 4), *on_ranks(8, placement=crowded)).axes[-1]
    assert "grey: more ranks than cores" in texts(axes)[-1]
    (shade,) = axes.patches
    assert shade.get_extents().x0 > axes.transData.transform((5, 0))[0]
    assert not drawn(*on_ranks(2, 4)).axes[-1].patches


def test_timelines_are_of_the_most_ranks() -> None:
    records = [record for ranks in (2, 4) for record in make_transform_records(ranks=ranks, run=str(ranks))]
    assert [title for title in titles(drawn(*records)) if "over mpi" in title] == [
        "fft over mpi, per-transpose: 22.00 ms", "fft over mpi, cached: 18.00 ms",
    ]  # fmt: skip


@pytest.mark.parametrize("counts", [(4,), (1, 2, 4, 8)])
def test_no_text_lies_upon_another(counts: tuple[int, ...]) -> None:
    records = [
        record
        for ranks in counts
        for transport in ("mpi", "staged")
        for record in make_transform_records(ranks=ranks, transport=transport, run=str(ranks))
    ]
    figure = drawn(*records)
    for axes in figure.axes:
        own = [text.get_window_extent() for text in axes.texts]
        assert not any(one.overlaps(other) for number, one in enumerate(own) for other in own[:number])
        assert axes.texts[-1].get_window_extent().y0 > axes.get_window_extent().y1, "the details stand above"
    everything: list[Any] = [axes.get_tightbbox() for axes in figure.axes]
    everything += [legend.get_window_extent() for part in figure.subfigs for legend in part.legends]
    assert not any(one.overlaps(other) for number, one in enumerate(everything) for other in everything[:number])


def test_every_kind_is_drawn(tmp_path: Path) -> None:
    few = make_transform_record(timeline=None)
    few["statistics"]["time_us"] = {**statistic(22e3), "ci_low": None, "ci_high": None}
    nothing = make_transform_record(parts_ms=dict.fromkeys(("local FFT", "communication"), 0.0), timeline=None, run="2")
    memories = [make_transform_record(memory=memory, run="3") for memory in ("host", "pinned", "device", "managed")]
    other = make_record(benchmark="latency", run="4")
    for records in ([few], [nothing], memories, [*on_ranks(1, 2), *memories, other, make_overlap_record(run="5")]):
        assert plot.plot(parsed(*records), tmp_path / "picture.svg") == len(records)
