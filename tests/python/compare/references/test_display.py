"""Published results in tables, pictures, DFT-FE's words and the list."""

from __future__ import annotations

from typing import Any

import pytest

from commlens.compare import references as reference
from commlens.render.run_summary import published_lines
from conftest import Commlens
from plot_helpers import details, drawn, legends
from record_helpers import allreduce, device_latency, parsed
from sample_applications import make_transform_record
from sample_multigrid import make_multigrid_record
from show_helpers import output, shown

SUMMIT_MPI = "3.096087765000000047e+00"


# ---- show ----


def test_a_table_ends_with_the_nearest_figures_and_whose_they_are() -> None:
    lines = shown(allreduce(median_us=61921.755 * 2), allreduce(transport="ccl"))
    assert "published single values: a ratio is ours over theirs, outside our interval" in lines
    (summit, _) = [line for line in lines if "Summit" in line]
    assert summit.endswith("123,844 61,922 2.00x dftfe-summit Summit, 6 x V100, 1 node")
    assert sum("dftfe-" in line for line in lines) == 10 + 1  # and the line that explains them


def test_a_sweep_has_a_column_for_each_published_curve() -> None:
    lines = shown(*(device_latency(2**power, median_us=8.12) for power in range(4)))
    olivia, juliet = (
        "2.380 (3.41x) 3.310 (2.45x)",
        "4.060 (2.00x) 94.54 (0.086x) 4.320 (1.88x) 24.92 (0.33x)",
    )
    assert f"1 B mpi device 8.120 {olivia} {juliet}" in lines
    text = output(*(device_latency(2**power) for power in range(4)))
    assert "juliet:" in text and "gdrcopy only" in text


def test_of_several_starts_the_median_is_shown() -> None:
    times = {"one": 30.0, "other": 20.0}
    records = [device_latency(median_us=time, start=name) for name, time in times.items()]
    rows = [line for line in shown(*records) if "gdrcopy only" in line]
    assert len(rows) == 1 and "25.00" in rows[0]


def test_a_figure_of_another_size_says_so_and_has_no_ratio() -> None:
    text = output(device_latency(1100))
    assert "size there" in text
    rows = [line for line in text.splitlines() if "gdrcopy only" in line]
    assert rows and "1 KiB" in rows[0] and " - " in rows[0]


def test_nothing_is_said_where_nothing_was_published() -> None:
    assert "published" not in output(device_latency(memory="managed"))
    assert "published" not in output(device_latency(status="failed", reason="wrong"))


def test_a_table_by_ranks_is_followed_by_the_gain_of_an_application() -> None:
    """CP2K's Table 4: times of a whole application, with which nothing is compared."""
    records = [
        make_transform_record(name, ranks=ranks, together_ms=time / ranks, benchmark="fft")
        for ranks in (1, 2)
        for name, time in (("per-transpose", 8.0), ("cached", 7.0))
    ]
    lines = shown(*records)
    assert "published cp2k-fft: HECToR dCSE report on CP2K: caching to amortize costs" in lines
    assert [line for line in lines if line.startswith("512 ")] == ["512 238 213 12"]
    others = [make_transform_record(name, ranks=2) for name in ("per-transpose", "cached")]
    assert "cp2k-fft" not in output(*others)


# ---- plot ----


def published_lines_in(axes: Any) -> list[Any]:
    return [line for line in axes.lines if line.get_color() == "#7B5EA7"]


def test_a_picture_has_dashed_curves_with_their_names() -> None:
    figure = drawn(*(device_latency(2**power) for power in range(23)))
    (axes,) = figure.axes
    curves = published_lines_in(axes)
    assert [len(line.get_xdata()) for line in curves] == [23] * 6
    assert [4.06, 4.26] in [list(line.get_ydata())[:2] for line in curves]
    assert all(line.is_dashed() for line in curves)
    assert {line.get_markerfacecolor() for line in curves} == {"#0072B2"}, "that of mpi"
    (legend,) = legends(figure)
    assert "published: juliet: GPUDirect RDMA and gdrcopy, 2 nodes" in legend


@pytest.mark.parametrize("modes", [[{}], [{"mode": "one"}, {"mode": "other"}]])
def test_bars_have_marks_of_their_transport(modes: list[dict[str, str]]) -> None:
    """Beside bars by setting they are in words, too."""
    transports = ("mpi", "staged" if len(modes) > 1 else "ccl")
    records = [
        allreduce(transport=transport, options=mode, median_us=5e4)
        for mode in modes
        for transport in transports
    ]
    figure = drawn(*records)
    (axes,) = figure.axes
    places = [float(line.get_ydata()[1]) for line in published_lines_in(axes)]
    assert places == [0.0] * 5 + [1.0] * 5, "each beside the bar of its transport"
    if len(modes) > 1:
        assert "V100 (Summit) 6.19e4" in details(axes)
    else:
        (legend,) = legends(figure)
        assert "published: dftfe-summit: V100 (Summit), 1 node" in legend
        assert len(legend) == 5


def test_pictures_of_other_cases_have_none() -> None:
    figure = drawn(*(device_latency(2**power, memory="managed") for power in range(8)))
    assert not any(map(published_lines_in, figure.axes))
    assert not any("published" in text for legend in legends(figure) for text in legend)


def test_an_axis_of_elements_has_figures_by_degrees_of_freedom() -> None:
    records = [
        make_multigrid_record(dof_per_rank=343.0 * edge**3, options={"edge": edge})
        for edge in (18, 20)
    ]
    marks = [line for axes in drawn(*records).axes for line in published_lines_in(axes)]
    assert marks and {float(line.get_xdata()[0]) for line in marks} == {20.0}


# ---- run --format dftfe ----


def test_dftfe_ends_with_the_nearest_lines_as_they_were_printed() -> None:
    lines = list(published_lines(parsed(allreduce(median_us=2 * 61921.7553))))
    assert all(line.startswith("#") for line in lines), "programs read the others"
    at = lines.index("# dftfe-summit: Summit, 6 x V100, 1 node, 76.3 MiB, device memory")
    words = "Time in seconds for GPU Direct MPI_Allreduce using standard MPI library"
    assert lines[at + 1] == f"#   {words}: {SUMMIT_MPI} (2.00x)"


@pytest.mark.parametrize("change", [{"memory": "host"}, {"size": 8}])
def test_of_other_memory_or_size_they_have_no_ratio(change: dict[str, Any]) -> None:
    lines = list(published_lines(parsed(allreduce(**change))))
    (summit,) = [line for line in lines if SUMMIT_MPI in line]
    assert "x)" not in summit


def test_dftfe_says_that_nothing_was_published() -> None:
    (line,) = published_lines(parsed(allreduce(options={"dtype": "f32"})))
    assert line == "# published: nothing for these parameters (docs/reference.md)"
    assert not list(published_lines([]))


@pytest.mark.parametrize(("words", "times"), [((), 1), (("--scaling", "2,4"), 2)])
def test_the_lines_follow_those_of_the_program_once(
    commlens: Commlens, words: tuple[str, ...], times: int
) -> None:
    """The stand-in for the native program measures latencies, whatever the format."""
    run = commlens("run", "latency", *words, "--format", "dftfe")
    rows, *rest = run.stdout.split("# published")
    assert rows == "row 0\nrow 1\nrow 2\n" * times
    (published,) = rest
    assert "juliet" in published


def test_other_formats_have_no_such_lines(commlens: Commlens) -> None:
    assert "published" not in commlens("run", "latency", "--format", "osu").stdout


# ---- list ----


def test_the_list_has_the_names(commlens: Commlens) -> None:
    text = commlens("list").stdout
    for source in reference.load():
        assert source.name in text
