"""Pictures of benchmarks without parts: curves, bars, memory kinds, transports, settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from commlens.model import groups
from commlens.render import plots as plot
from commlens.render.plots.content import Content
from conftest import Commlens
from plot_helpers import details, drawn, legends, panel, texts, titles, x_labels, y_labels
from record_helpers import parsed, write
from sample_applications import BLOCKS, make_overlap_record
from sample_records import make_record


def sweep(**changes: Any) -> list[dict[str, Any]]:
    return [
        make_record(bytes=2**power, median_us=1 + 2**power / 1000, transport=transport, **changes)
        for power in range(0, 21, 2)
        for transport in ("mpi", "staged")
    ]


@pytest.mark.parametrize("ending", [".png", ".svg", ".pdf"])
def test_plot_draws_every_kind_of_picture(ending: str, tmp_path: Path) -> None:
    bandwidths = sweep(benchmark="bandwidth", metric="bandwidth_GBps")
    records = [*sweep(), *bandwidths, make_record(benchmark="allreduce")]
    out = tmp_path / "deep" / f"picture{ending}"
    assert plot.plot(parsed(*records), out).left_out == []
    assert out.stat().st_size > 5000


@pytest.mark.parametrize("form", ["png", "svg"])
def test_a_picture_is_written_as_it_is_laid_out(form: str) -> None:
    """With room for its texts: Matplotlib's own places have none."""
    records = [*sweep(), make_record(benchmark="allreduce", median_us=4)]
    laid_out, written = drawn(*records), plot.draw(parsed(*records))
    assert plot.rendered(written, form)
    for expected, axes in zip(laid_out.axes, written.axes):
        assert axes.get_position().bounds == pytest.approx(expected.get_position().bounds, abs=0.01)


def test_a_picture_names_its_contents() -> None:
    figure = drawn(*sweep(), make_record(benchmark="allreduce", median_us=4))
    curves, bars = figure.axes
    assert figure.texts[0].get_text() == "node  ·  2 ranks  ·  Open MPI 4.1.4"
    assert curves.get_title(loc="left") == "latency"
    assert curves.get_ylabel() == "latency (us)"
    assert (curves.get_xscale(), curves.get_yscale()) == ("log", "log")
    assert len(curves.lines) == 4  # two transports, the ceiling, and latencies of Piz Daint
    assert len(curves.collections) == 2  # the intervals of both
    assert bars.get_title(loc="left") == "allreduce of 1 KiB"
    assert y_labels(bars) == ["mpi"]
    assert legends(figure)[0][:3] == ["mpi", "staged", "ceiling: memory copy"]
    labels = x_labels(curves)
    assert labels[0] == "1 B" and "1 KiB" in labels


def test_units_and_labels_are_those_that_the_start_declares() -> None:
    records = sweep()
    for record in records:
        metric = record["start"]["benchmark"]["metrics"][0]
        metric.update(label="round trip", unit="ticks")
        record["start"]["start"] = "declares other units"
    assert drawn(*records).axes[0].get_ylabel() == "round trip (ticks)"


def test_a_transport_looks_the_same_in_all_panels() -> None:
    content = Content.of(parsed(make_record(), make_record(transport="ccl")))
    device = content.series(parsed(make_record())[0], "device")
    other = content.series(parsed(make_record())[0], "host", "pml=ob1", 1)
    assert device.style["marker"] == other.style["marker"]
    assert device.color == content.series(parsed(make_record())[0], "host").color


def test_transports_look_as_their_position_says() -> None:
    names = [f"transport{number}" for number in range(8)]
    records = [make_record(transport=name, transports=names) for name in reversed(names)]
    figure = drawn(*records)
    assert y_labels(figure.axes[0]) == names
    content = Content.of(parsed(*records))
    series = [
        content.series(record) for record in sorted(parsed(*records), key=lambda r: r.transport)
    ]
    assert len({line.color for line in series}) == 6, "then they begin again"
    usual = Content.of(parsed(make_record()))  # of a build with mpi, staged and ccl
    assert usual.series(parsed(make_record(transport="ccl"))[0]).color == series[2].color


def test_a_picture_of_starts_that_differ_in_settings() -> None:
    records = [
        record for name in ("ucx", "ob1") for record in sweep(environment={"OMPI_MCA_pml": name})
    ]
    labels = legends(drawn(*records))[0]
    assert {"mpi, OMPI_MCA_pml=ucx", "mpi, OMPI_MCA_pml=ob1"} < set(labels)


def test_more_than_two_memory_kinds_have_separate_panels() -> None:
    memories = {"device": "peer copy", "device:host": "copy to host", "pinned": "memory copy"}
    records = []
    for memory, ceiling in memories.items():
        both = [*sweep(memory=memory)]
        both += sweep(memory=memory, benchmark="bandwidth") if memory != "device" else []
        for record in both:
            record["ceilings"][0]["name"] = ceiling
            records.append(record)
    alone = [
        *sweep(memory="device", benchmark="allreduce"),
        make_record(benchmark="allreduce", memory="device", start="2"),
    ]
    for record in alone:
        record["ceilings"] = []
    figure = drawn(*records, *alone)
    assert titles(figure) == [
        "latency, device", "latency, device to host", "latency, pinned",
        "bandwidth, device to host", "bandwidth, pinned",
        "allreduce, device", "allreduce of 1 KiB",
    ]  # fmt: skip
    # Two transports and the ceiling of the memory kind; and six latencies that were published.
    assert [len(axes.lines) for axes in figure.axes[:5]] == [3 + 6, 3, 3, 3, 3]
    assert len({axes.get_ylim() for axes in figure.axes[:3]}) == 1
    named = [bool(axes.get_ylabel()) for axes in figure.axes[:6]]
    assert named == [True, False, False, True, False, True]
    columns = [axes.get_subplotspec().colspan.start for axes in figure.axes]  # type: ignore[union-attr]
    assert columns == [0, 1, 2, 1, 2, 0, 1], "a column per memory kind"
    assert legends(figure)[0][:-6] == [
        "mpi", "staged", "ceiling: peer copy", "ceiling: copy to host", "ceiling: memory copy",
    ]  # fmt: skip


def test_values_far_apart_are_dots_on_a_logarithmic_axis_and_no_bars() -> None:
    common = {"benchmark": "allreduce", "metric": "time_us", "bytes": 80_000_000}
    times = {"mpi": 105_668, "staged": 45_103, "ccl": 290.1}
    records = [
        make_record(transport=transport, median_us=time, memory="device", **common)
        for transport, time in times.items()
    ]
    (axes,) = drawn(*records).axes
    assert axes.get_title(loc="left") == "allreduce of 76.3 MiB"
    assert (axes.get_xscale(), axes.get_xlabel()) == ("log", "time (ms), logarithmic")
    assert not axes.patches, "the length of a bar would mean nothing"
    assert {"105.7 ms", "45.10 ms", "0.2901 ms"} <= set(texts(axes))
    (near,) = drawn(*records[:2]).axes
    assert len(near.patches) == 2
    assert (near.get_xscale(), near.get_xlabel(), near.get_xlim()[0]) == ("linear", "time (ms)", 0)


# ---- sizes that are not bytes ----


@pytest.mark.parametrize(
    ("name", "values"), [("grid", (64, 128)), ("elements_per_side", (0, 1, 2))]
)
def test_a_sweep_may_be_over_anything(name: str, values: tuple[int, ...]) -> None:
    records = [
        make_overlap_record(
            parameters={"order": 7, name: value},
            transport=transport,
            timeline=None,
            roles={name: "size"},
        )
        for value in values
        for transport in ("mpi", "ccl")
    ]
    (group,) = groups(parsed(*records))
    assert (group.size_name, group.sizes) == (name.replace("_", "-"), list(values))
    assert group.settings == {"order": "7"}
    axes = panel(drawn(*records), "pipeline")
    assert axes.get_xlabel() == name.replace("_", "-")
    assert list(axes.lines[-1].get_xdata()) == list(values)


def test_a_sweep_has_plain_numbers_on_its_axis() -> None:
    axes = panel(drawn(*(make_overlap_record(block=block) for block in BLOCKS)), "pipeline")
    assert axes.get_xlabel() == "block"
    assert x_labels(axes) == ["366", "732", "1464", "2928"]
    assert axes.get_ylabel() == "time (s)"


def test_the_ticks_of_a_long_sweep_do_not_overlap() -> None:
    blocks = range(100_000, 1_600_000, 100_000)
    records = [make_overlap_record(block=block, timeline=None) for block in blocks]
    labels = x_labels(panel(drawn(*records), "pipeline"))
    assert labels[0] == "100,000"
    assert 2 <= len(labels) <= 4


@pytest.mark.parametrize("factor", [1.05, 3.0])
def test_a_narrow_range_has_ticks(factor: float) -> None:
    records = [
        make_overlap_record(block=block, together_us=1.1e6 * factor ** (block > 366), timeline=None)
        for block in BLOCKS
    ]
    axes = panel(drawn(*records), "pipeline")
    low, high = axes.get_ylim()
    assert sum(low <= tick <= high for tick in axes.get_yticks()) >= 3


# ---- what is said of settings and launches: more: test_settings.py ----


def test_long_details_leave_the_panels_their_width_and_are_not_cut() -> None:
    parameters = {"block": 732, **{f"parameter_{number}": "WWWWWWWW" for number in range(20)}}
    others = {name: "wwwwwwww" for name in parameters if name != "block"}
    figure = drawn(
        make_overlap_record(parameters=parameters, timeline=None),
        make_overlap_record(parameters={"block": 732, **others}, timeline=None, start="other"),
    )
    widths = [axes.get_window_extent().width / figure.bbox.width for axes in figure.axes]
    assert min(widths) > 0.2
    heights = [axes.get_window_extent().height / figure.dpi for axes in figure.axes]
    assert min(heights) > 0.8, "lines of text take no height from bars"
    for axes in figure.axes[:2]:
        lines = axes.texts[-1].get_text().split("\n")
        assert len(lines) > 2 and not any("…" in line for line in lines)
        assert all(f"parameter-{number} " in details(axes) for number in range(20))


# ---- the command ----


def test_plot_refuses_records_that_it_cannot_draw(commlens: Commlens, tmp_path: Path) -> None:
    file = write(tmp_path / "records.jsonl", make_record(status="skipped", reason="none"))
    ending = commlens("plot", file, "--out", "picture.gif")
    assert ending.returncode == 2
    assert ending.stderr == (
        "commlens: --out picture.gif: the name ends in '.gif'; "
        "a picture's ends in .png, .svg, .pdf\n"
    )
    nothing = commlens("plot", file, "--out", "picture.png")
    assert nothing.returncode == 2
    assert nothing.stderr.startswith(
        "commlens: nothing to plot: none of 1 record holds a measurement that passed"
    )


def test_plot_leaves_out_failed_records_and_says_so(commlens: Commlens, tmp_path: Path) -> None:
    skipped = make_record(transport="ccl", status="skipped", reason="none")
    file = write(tmp_path / "records.jsonl", make_record(), skipped)
    drawn = commlens("plot", file, "--out", "picture.png")
    assert (drawn.returncode, drawn.stdout) == (0, "picture.png\n")
    assert "left out 1 record" in drawn.stderr
    unwritable = commlens("plot", file, "--out", "/dev/null/picture.png")
    assert unwritable.returncode == 2
    assert "cannot be written: a file is in the way" in unwritable.stderr
