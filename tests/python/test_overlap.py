"""Operations whose parts overlap: what is read, said and drawn of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from commlens import plot
from commlens.plot.style import Series, part_colours
from commlens.records import Case, Record, cases, load, parse
from conftest import SOURCES, Commlens
from sample_records import make_overlap_record, make_record

MULTIPLICATIONS = ("multiplications", "compute")
REDUCTIONS = ("reductions", "communication")
COPIES = ("copies", "communication")
BLOCKS = (366, 732, 1464, 2928)


def parsed(*records: dict[str, Any]) -> list[Record]:
    return [parse(json.dumps(record) + "\n") for record in records]


def read(**changes: Any) -> Record:
    return parsed(make_overlap_record(**changes))[0]


def sweep(**changes: Any) -> list[dict[str, Any]]:
    """Over three transports of which each has a best block of its own."""
    best = {"mpi": 366, "staged": 732, "ccl": 2928}
    return [
        make_overlap_record(**{
            "block": block, "steps": 14640 // block, "transport": transport, "memory": "device",
            "together_us": 1e6 if block == best[transport] else 1.25e6, **changes,
        })
        for block in BLOCKS
        for transport in best
    ]  # fmt: skip


def drawn(*records: dict[str, Any]) -> Figure:
    figure = plot.draw(parsed(*records))
    figure.draw_without_rendering()
    return figure


def panel(figure: Figure, title: str) -> Axes:
    (found,) = [axes for axes in figure.axes if axes.get_title(loc="left").replace("\n", " ") == title]
    return found


def titles(figure: Figure) -> list[str]:
    return [axes.get_title(loc="left") for axes in figure.axes]


def y_labels(axes: Axes) -> list[str]:
    return [label.get_text() for label in axes.get_yticklabels()]


def texts(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.texts]


def details(axes: Axes) -> str:
    """The quiet lines under the title, which are always the last text."""
    return texts(axes)[-1].replace("\n", " ")


# What is read


def test_the_ideal_is_the_longest_stream_whose_parts_add_up() -> None:
    bound_by_communication = read(parts_us={MULTIPLICATIONS: 5e5, REDUCTIONS: 4e5, COPIES: 2e5}, together_us=8e5)
    assert bound_by_communication.alone_s == pytest.approx({"compute": 0.5, "communication": 0.6})
    assert bound_by_communication.ideal_s == pytest.approx(0.6)
    assert bound_by_communication.together_s == pytest.approx(0.8)
    assert read(parts_us={MULTIPLICATIONS: 7e5, REDUCTIONS: 4e5, COPIES: 2e5}).ideal_s == pytest.approx(0.7)
    part = bound_by_communication.parts[1]
    assert (part.name, part.stream) == REDUCTIONS
    assert (part.time_s.median, part.time_s.ci_low, part.time_s.ci_high) == pytest.approx((0.4, 0.392, 0.408))


def test_the_efficiency_is_the_records_own_or_else_the_ideal_over_the_time_together() -> None:
    text = make_overlap_record(parts_us={MULTIPLICATIONS: 5e5, REDUCTIONS: 6e5}, together_us=8e5)
    assert parsed(text)[0].efficiency == pytest.approx(0.75)
    text["statistics"]["overlap_efficiency"]["median"] = 0.76  # as of medians of samples, not of medians of parts
    assert parsed(text)[0].efficiency == pytest.approx(0.76)
    del text["statistics"]["overlap_efficiency"]
    assert parsed(text)[0].efficiency == pytest.approx(0.75)


def test_a_timeline_is_read_in_seconds() -> None:
    timeline = read(parts_us={MULTIPLICATIONS: 8e5}, together_us=9e5, steps=4, ranks=1).timeline
    assert timeline is not None and timeline.time_s == pytest.approx(0.9)
    assert [(span.part, span.step) for span in timeline.spans] == [("multiplications", step) for step in range(4)]
    assert [span.end_s for span in timeline.spans] == pytest.approx([0.2, 0.4, 0.6, 0.8])


def test_a_ceiling_has_its_rate_by_name() -> None:
    rates = {ceiling.name: ceiling.rate for ceiling in read().ceilings}
    assert rates["square GEMM"] == ("gemm_TFLOPs", 58.4)
    assert rates["copy to host"] == ("copy_GBps", 55.0)


def test_records_without_parts_are_what_they_were() -> None:
    (record,) = parsed(make_record())
    assert (record.parts, record.notes, record.timeline) == ([], [], None)
    assert (record.alone_s, record.ideal_s, record.efficiency) == ({}, None, None)
    figure = drawn(make_record())
    assert titles(figure) == ["latency of 1 KiB"]
    assert len(figure.legends) == 1 and not figure.subfigs


@pytest.mark.parametrize(
    "spoil",
    [
        lambda record: record["parts"][0].pop("stream"),
        lambda record: record["parts"][0].update(name=""),
        lambda record: record["parts"][0].update(better="lower"),
        lambda record: record["parts"][0]["samples"].update(values_s=[]),
        lambda record: record["parts"][0]["samples"].update(values_s=[-1.0]),
        lambda record: record["parts"][0].update(samples=[1.0]),
        lambda record: record["parts"][0].pop("samples"),
        lambda record: record["parts"][0].update(statistics={}),
        lambda record: record["parts"][0]["statistics"]["time_us"].pop("median"),
        lambda record: record.update(parts={"multiplications": 1.0}),
        lambda record: record.update(parts=["multiplications"]),
        lambda record: record["timeline"].update(time_us=0),
        lambda record: record["timeline"]["spans"][3].pop("end_us"),
        lambda record: record["timeline"]["spans"][3].update(step=-1),
        lambda record: record.update(timeline=None),
        lambda record: record.update(notes="scaled"),
        lambda record: record["ceilings"][0].pop("gemm_TFLOPs"),
        lambda record: record["ceilings"][0].update(copy_GBps=1.0),
    ],
)
def test_malformed_parts_are_refused(spoil: Callable[[dict[str, Any]], object]) -> None:
    record = make_overlap_record()
    assert parsed(record)
    spoil(record)
    with pytest.raises(ValueError, match="not a record of schema 1"):
        parsed(record)


# A sweep over something else than bytes


def test_a_sweep_is_over_the_number_in_which_the_records_of_a_run_differ() -> None:
    (case,) = cases(parsed(*sweep()))
    assert (case.is_sweep, case.swept, case.size_name, case.sizes) == (True, "block", "block", list(BLOCKS))
    assert "block" not in case.parameters and case.parameters["dofs"] == 400_000
    assert [case.format_size(size) for size in case.sizes] == ["366", "732", "1464", "2928"]
    assert case.format_size(400_000) == "400,000"
    assert [case.size(record) for record in case.records[:4]] == [366, 366, 366, 732]


@pytest.mark.parametrize(("name", "values"), [("grid", (64, 128)), ("elements_a_side", (0, 1, 2))])
def test_a_sweep_may_be_over_anything(name: str, values: tuple[int, ...]) -> None:
    records = [
        make_overlap_record(parameters={"order": 7, name: value}, transport=transport, timeline=None)
        for value in values
        for transport in ("mpi", "ccl")
    ]
    (case,) = cases(parsed(*records))
    assert (case.swept, case.sizes, case.parameters) == (name, list(values), {"order": 7})
    axes = panel(drawn(*records), "pipeline")
    assert axes.get_xlabel() == name.replace("_", "-")
    curve: Any = axes.lines[-1].get_xdata()
    assert list(curve) == list(values)


def test_a_size_in_bytes_comes_before_any_other_number() -> None:
    records = [
        make_overlap_record(parameters={"bytes": 8 * block, "block": block}, timeline=None) for block in (128, 256)
    ]
    found = cases(parsed(*records))
    assert [(case.swept, case.sizes, case.is_sweep) for case in found] == [(None, [1024], False), (None, [2048], False)]
    for record in records:
        del record["parameters"]["block"]
    (case,) = cases(parsed(*records))
    assert (case.swept, case.size_name, case.format_size(1024)) == (None, "size", "1 KiB")


def test_runs_and_transports_that_differ_are_no_sweep() -> None:
    apart = [make_overlap_record(block=block, run=str(block)) for block in BLOCKS]
    scaled = [make_overlap_record(block=732, transport="mpi"), make_overlap_record(block=700, transport="ccl")]
    truths = [make_overlap_record(parameters={"overlap": overlap, "mode": str(overlap)}) for overlap in (True, False)]
    for records in (apart, scaled, truths):
        assert [(case.is_sweep, case.swept) for case in cases(parsed(*records))] == [(False, None)] * len(records)


def test_of_two_numbers_the_sweep_is_over_the_one_with_more_values() -> None:
    records = [make_overlap_record(parameters={"block": block, "depth": depth}) for block in BLOCKS for depth in (1, 2)]
    found = cases(parsed(*records))
    assert [(case.swept, case.sizes, case.parameters) for case in found] == [
        ("block", list(BLOCKS), {"depth": 1}), ("block", list(BLOCKS), {"depth": 2}),
    ]  # fmt: skip
    both_at_once = [make_overlap_record(parameters={"vectors": 10 * block, "block": block}) for block in BLOCKS]
    assert [case.is_sweep for case in cases(parsed(*both_at_once))] == [False] * 4, "they are different problems"


def test_two_runs_of_a_sweep_are_two_variants() -> None:
    runs = [record for run in ("ucx", "ob1") for record in sweep(run=run, environment={"OMPI_MCA_pml": run})]
    (case,) = cases(parsed(*runs))
    assert case.variants == {"ucx": "pml=ucx", "ob1": "pml=ob1"}
    best = [(record.transport, record.run) for record in case.at_best_size()]
    assert best == [(transport, run) for transport in ("mpi", "staged", "ccl") for run in ("ucx", "ob1")]


def test_the_best_size_is_by_the_benchmarks_own_figure() -> None:
    def best(*records: dict[str, Any]) -> list[tuple[str, int | None]]:
        (case,) = cases(parsed(*records))
        return [(record.transport, case.size(record)) for record in case.at_best_size()]

    assert best(*sweep()) == [("mpi", 366), ("staged", 732), ("ccl", 2928)]
    rates = sweep(figures=[{"name": "rank_TFLOPs", "better": "higher"}])
    assert best(*rates) == [("mpi", 366), ("staged", 732), ("ccl", 2928)]
    failed = make_overlap_record(block=183, transport="ccl", memory="device", status="failed", together_us=1.0)
    assert best(*sweep(), failed) == [("mpi", 366), ("staged", 732), ("ccl", 2928)]


# What `commlens show` says


def shown(commlens: Commlens, folder: Path, *records: dict[str, Any]) -> list[str]:
    """The lines, with a space where there are several."""
    file = folder / "records.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    result = commlens("show", file)
    assert result.returncode == 0, result.stderr
    return [" ".join(line.split()) for line in result.stdout.splitlines()]


def test_show_has_the_parts_alone_and_together(commlens: Commlens, tmp_path: Path) -> None:
    parts = {MULTIPLICATIONS: 5e5, REDUCTIONS: 4e5, COPIES: 2e5}
    lines = shown(commlens, tmp_path, *sweep(parts_us=parts, together_us=1.2e6))
    head = lines.index("multiplications alone reductions alone copies alone ideal together overlap")
    assert lines[head + 1 : head + 5] == [
        "block transport memory compute (s) communication (s) communication (s) (s) (s) efficiency",
        lines[head + 2],
        "366 mpi device 0.5000 0.4000 0.2000 0.6000 1.200 50%",
        "staged device 0.5000 0.4000 0.2000 0.6000 1.200 50%",
    ]
    without = {MULTIPLICATIONS: 500.0, REDUCTIONS: 400.0}
    lines = shown(commlens, tmp_path, make_overlap_record(parts_us=without, together_us=625.0))
    assert "transport memory compute (µs) communication (µs) (µs) (µs) efficiency" in lines
    assert "mpi host 500.0 400.0 500.0 625.0 80%" in lines


def test_show_has_every_ceiling_with_its_rate(commlens: Commlens, tmp_path: Path) -> None:
    lines = shown(commlens, tmp_path, make_overlap_record(), make_record(run="2"))
    assert "mpi host 58.40 TFLOP/s 85% 55.10 TFLOP/s 90% 55.00 GB/s 12%" in lines
    heads = [line for line in lines if "ceiling:" in line]
    assert heads == ["ceiling: ceiling: ceiling:"], "a record with one ceiling needs no table of them"


def test_show_has_the_notes_of_a_run_once(commlens: Commlens, tmp_path: Path) -> None:
    first, second = "dofs were scaled to 400000", "vectors too"
    records = [*sweep(notes=[first]), *sweep(notes=[first, second])[:1], make_record(run="another")]
    lines = shown(commlens, tmp_path, *records)
    assert [line for line in lines if line.startswith("note:")] == [f"note: {first}", f"note: {second}"]


def test_show_says_where_in_a_sweep_something_failed(commlens: Commlens, tmp_path: Path) -> None:
    failed = [
        make_overlap_record(block=block, transport="late", memory="device", status="failed", reason="no memory")
        for block in (1464, 2928)
    ]
    assert "failed: late, device, block 1464 to 2928: no memory" in shown(commlens, tmp_path, *sweep(), *failed)


# What `commlens plot` draws


def test_a_sweep_has_plain_numbers_on_its_axis() -> None:
    axes = panel(drawn(*sweep()), "pipeline")
    assert axes.get_xlabel() == "block"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["366", "732", "1464", "2928"]
    assert axes.get_ylabel() == "time (s)"
    assert details(axes).startswith("dofs 400000, vectors 14640, dtype f64")


def test_the_ticks_of_a_long_sweep_leave_each_other_room() -> None:
    blocks = range(100_000, 1_600_000, 100_000)
    axes = panel(drawn(*(make_overlap_record(block=block, timeline=None) for block in blocks)), "pipeline")
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels[0] == "100,000"
    assert 2 <= len(labels) <= 4


def test_a_narrow_range_has_ticks() -> None:
    for factor in (1.05, 3.0):
        records = [make_overlap_record(block=b, together_us=1.1e6 * factor ** (b > 366), timeline=None) for b in BLOCKS]
        axes = panel(drawn(*records), "pipeline")
        low, high = axes.get_ylim()
        assert sum(low <= tick <= high for tick in axes.get_yticks()) >= 3


def test_bars_show_each_part_the_whole_and_the_ideal() -> None:
    parts = {MULTIPLICATIONS: 5e5, REDUCTIONS: 4e5, COPIES: 2e5}
    figure = drawn(*sweep(parts_us=parts))
    assert titles(figure)[:4] == [
        "pipeline", "pipeline over mpi, best block 366", "pipeline over staged, best block 732",
        "pipeline over ccl, best block 2928",
    ]  # fmt: skip
    axes = panel(figure, "pipeline over ccl, best block 2928")
    assert y_labels(axes) == ["multiplications alone", "reductions alone", "copies alone", "together", "ideal"]
    bars: list[Any] = list(axes.patches)
    assert [bar.get_width() for bar in bars] == pytest.approx([0.5, 0.4, 0.2, 1.0, 0.6])
    assert texts(axes)[:5] == ["0.5000 s", "0.4000 s", "0.2000 s", "1.000 s", "0.6000 s"]
    assert details(axes) == "overlap efficiency 60%; ideal: communication alone"


def test_transports_near_each_other_share_a_scale() -> None:
    near = [make_overlap_record(transport=name, together_us=us) for name, us in (("ccl", 9e5), ("mpi", 3e6))]
    figure = drawn(*near)
    assert len({axes.get_xlim() for axes in figure.axes[1:3]}) == 1
    assert len({axes.get_xlim() for axes in figure.axes[3:5]}) == 1
    assert not any("of its own" in details(axes) for axes in figure.axes)


def test_transports_far_apart_have_scales_of_their_own() -> None:
    quick = make_overlap_record(parts_us={MULTIPLICATIONS: 800.0, REDUCTIONS: 300.0}, transport="ccl")
    slow = make_overlap_record(parts_us={MULTIPLICATIONS: 800.0, REDUCTIONS: 9e4}, transport="mpi")
    figure = drawn(slow, quick)
    assert [axes.get_xlabel() for axes in figure.axes[1:]] == ["time (ms)", "time (µs)", "time (ms)", "time (µs)"]
    assert "a time axis of its own" in details(panel(figure, "pipeline over ccl: 880.0 µs"))
    assert "a time axis of its own" not in details(panel(figure, "pipeline over mpi: 99.00 ms"))


def test_the_lanes_of_a_timeline_are_in_order() -> None:
    axes = panel(drawn(make_overlap_record(transport="ccl", together_us=8.8e5)), "pipeline over ccl: 880.0 ms")
    assert y_labels(axes) == ["rank 0   compute", "communication", "rank 1   compute", "communication"]
    top_down = list(axes.get_yticks())
    assert axes.yaxis_inverted() and top_down == sorted(top_down)
    assert top_down[1] - top_down[0] < top_down[2] - top_down[1], "a gap between ranks"
    assert axes.get_xlabel() == "time (ms)"
    assert axes.get_xlim() == pytest.approx((0, 880), rel=0.01)


def boxes(axes: Axes) -> list[tuple[int, str, str, Any]]:
    """The lane, face, edge and (left, low, right, high) of each box."""
    found = []
    collections: list[Any] = list(axes.collections)
    for collection in collections:
        face, edge = (
            to_hex(colours[0]).upper() for colours in (collection.get_facecolor(), collection.get_edgecolor())
        )
        for path in collection.get_paths():
            left, low, right, high = path.get_extents().extents
            (lane,) = [lane for lane, middle in enumerate(axes.get_yticks()) if low < middle < high]
            found.append((lane, face, edge, (left, low, right, high)))
    return found


def test_a_timeline_has_a_box_a_span_in_its_parts_colour() -> None:
    text = make_overlap_record(transport="ccl", together_us=8.8e5, steps=4)
    (record,) = parsed(text)
    colours = part_colours([record])
    axes = panel(drawn(text), "pipeline over ccl: 880.0 ms")
    assert record.timeline is not None
    for rank in range(2):
        for lane, part in ((0, "multiplications"), (1, "reductions"), (1, "copies")):
            spans = [span for span in record.timeline.spans if (span.rank, span.part) == (rank, part)]
            own = [box for at, face, _, box in boxes(axes) if (at, face) == (2 * rank + lane, colours[part])]
            assert len(own) == 4
            assert [box[0] for box in own] == pytest.approx([1e3 * span.start_s for span in spans])
            assert [box[2] for box in own] == pytest.approx([1e3 * span.end_s for span in spans])
    assert texts(axes)[:-1].count("3") == 6, "a number a box"


def test_spans_that_are_too_short_to_see_are_drawn_as_lines() -> None:
    parts = {MULTIPLICATIONS: 8e5, REDUCTIONS: 1.0, COPIES: 1.0}
    axes = panel(drawn(make_overlap_record(parts_us=parts, together_us=8.8e5)), "pipeline over mpi: 880.0 ms")
    colours = part_colours([read()])
    heights = {}
    for _, face, edge, (_, low, _, high) in boxes(axes):
        assert (edge == face) == (face != colours["multiplications"]), "white edges would hide a short one"
        heights[face] = high - low
    assert heights[colours["copies"]] < heights[colours["reductions"]], "they do not cover them"
    widths: list[Any] = [collection.get_linewidth() for collection in axes.collections]
    assert min(width[0] for width in widths) >= 0.5
    assert sum(text.isdigit() for text in texts(axes)) == 2 * 20, "only boxes that have room are numbered"


def test_of_many_ranks_the_first_four_are_drawn() -> None:
    figure = drawn(make_overlap_record(ranks=16, together_us=8.8e5))
    axes = panel(figure, "pipeline over mpi: 880.0 ms")
    assert len(y_labels(axes)) == 8
    assert y_labels(axes)[-2:] == ["rank 3   compute", "communication"]
    assert "the first 4 of 16 ranks" in details(axes)
    few = panel(drawn(make_overlap_record(ranks=4, together_us=8.8e5)), "pipeline over mpi: 880.0 ms")
    assert "first" not in details(few)


def test_a_timeline_is_of_the_best_size_of_each_transport() -> None:
    assert titles(drawn(*sweep()))[4:] == [
        "pipeline over mpi, best block 366: 1.000 s",
        "pipeline over staged, best block 732: 1.000 s",
        "pipeline over ccl, best block 2928: 1.000 s",
    ]


def test_the_parts_have_a_legend_and_a_colour_each() -> None:
    figure = drawn(*sweep())
    labels = [[text.get_text() for text in legend.get_texts()] for sub in figure.subfigs for legend in sub.legends]
    assert labels == [
        ["mpi, device", "staged, device", "ccl, device", "ceiling: block GEMM, device"],
        ["multiplications", "reductions", "copies"],
    ]
    colours = part_colours(parsed(*sweep()))
    of_transports = {to_hex(Series(name, "").colour).upper() for name in ("mpi", "staged", "ccl", "other")}
    assert len(set(colours.values())) == 3 and not of_transports & set(colours.values())
    without = part_colours([read(parts_us={MULTIPLICATIONS: 8e5, REDUCTIONS: 3e5})])
    assert without.items() < colours.items(), "the same in every picture"


def test_cases_are_told_apart() -> None:
    off = make_overlap_record(together_us=1.34e6)
    off["parameters"]["overlap"] = False
    figure = drawn(make_overlap_record(together_us=8.8e5), off)
    assert details(panel(figure, "pipeline over mpi: 880.0 ms")).startswith("overlap true; one operation")
    assert details(panel(figure, "pipeline over mpi: 1.340 s")).startswith("overlap false; one operation")


def test_without_timelines_there_are_bars_alone() -> None:
    figure = drawn(make_overlap_record(timeline=None))
    assert titles(figure) == ["pipeline", "pipeline over mpi"] and not figure.subfigs
    empty = drawn(make_overlap_record(timeline={"time_us": 1.0, "spans": []}))
    assert titles(empty) == ["pipeline", "pipeline over mpi"]


@pytest.mark.parametrize(
    "records",
    [
        [*sweep(), *sweep(memory="managed"), *sweep(memory="pinned"), make_record(run="other")],
        [make_overlap_record(ranks=1, parts_us={MULTIPLICATIONS: 8e5})],
        [make_overlap_record(parts_us={MULTIPLICATIONS: 0.0, REDUCTIONS: 0.0}, together_us=10.0)],
        [make_overlap_record(parts_us={("a part with a name as long as this one", "s"): 3e9}, steps=50)],
        [make_overlap_record(benchmark=name, transport=transport) for name in ("one", "two") for transport in "abcd"],
    ],
    ids=["memories", "one part", "nothing", "long", "many"],
)
def test_every_kind_of_overlap_is_drawn(records: list[dict[str, Any]], tmp_path: Path) -> None:
    assert plot.plot(parsed(*records), tmp_path / "picture.svg") == len(records)


def test_long_details_leave_the_panels_their_width() -> None:
    parameters = {"block": 732} | {f"parameter_{number}": "WWWWWWWW" for number in range(20)}
    figure = drawn(make_overlap_record(parameters=parameters, timeline=None))
    widths = [axes.get_window_extent().width / figure.bbox.width for axes in figure.axes]
    assert min(widths) > 0.3
    lines = texts(figure.axes[0])[-1].split("\n")
    assert len(lines) == 2 and lines[0].endswith(",") and lines[1].endswith("…")


def test_no_text_of_an_overlap_lies_upon_another() -> None:
    figure = drawn(*sweep())
    for axes in figure.axes:
        numbers = [text.get_window_extent() for text in axes.texts[:-1]]
        assert not any(one.overlaps(other) for index, one in enumerate(numbers) for other in numbers[:index])
    everything: list[Any] = [axes.get_tightbbox() for axes in figure.axes]
    everything += [legend.get_window_extent() for part in figure.subfigs for legend in part.legends]
    assert not any(one.overlaps(other) for index, one in enumerate(everything) for other in everything[:index])


def test_nothing_is_named_after_a_benchmark() -> None:
    names = ("xtx", "bp5", "fft", "multiplications", "reductions", "copies")
    for file in SOURCES.glob("commlens/**/*.py"):
        text = file.read_text(encoding="utf-8")
        assert not [name for name in names if name in text], file


def test_a_file_of_old_and_new_records_is_read(tmp_path: Path) -> None:
    file = tmp_path / "records.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in (make_record(), make_overlap_record())))
    loaded = load([file])
    assert (len(loaded.records), loaded.problems) == (2, [])
    found: list[Case] = cases(loaded.records)
    assert [case.benchmark for case in found] == ["latency", "pipeline"]


def test_parameters_are_shown_by_their_options_names_without_what_is_empty() -> None:
    text = make_overlap_record(parameters={"in_place": True, "trace": "", "dtype": "f64", "FILE": "A"}, timeline=None)
    (case,) = cases(parsed(text))
    assert case.settings == {"in-place": "true", "dtype": "f64", "FILE": "A"}
    assert details(panel(drawn(text), "pipeline")) == "in-place true, dtype f64, FILE A, 2 ranks, timing batch"
