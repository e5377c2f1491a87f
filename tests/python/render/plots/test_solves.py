"""Pictures of solves: convergence, throughput by size, roofline."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Optional

import pytest
from matplotlib.text import Text

from commlens.render import plots as plot
from commlens.render.plots import panels as kinds
from plot_helpers import details, drawn, legends, panel, texts, titles
from record_helpers import parsed
from report_helpers import placement
from sample_applications import make_solve_record, modes
from sample_records import make_record, statistic

CONVERGENCE = "bp5: convergence"
THROUGHPUT = "bp5: throughput by size"
ROOFLINE = "bp5: roofline"
Residuals = list[Optional[float]]


def sizes(*edges: int, **changes: Any) -> list[dict[str, Any]]:
    return [make_solve_record(edge, **changes) for edge in edges]


def test_kinds_of_panels_are_modules_of_their_folder() -> None:
    files = {Path(file).stem for folder in kinds.__path__ for file in Path(folder).glob("*.py")}
    assert {"residuals", "throughput", "roofline"} < files
    shown = [title for title in titles(drawn(*sizes(4, 8, 16))) if ":" in title]
    assert shown == [THROUGHPUT, CONVERGENCE, ROOFLINE], "in the order that their files say"


def test_the_example_of_a_panel_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CONTRIBUTING's, once its file is in the folder of kinds."""
    shutil.copy(Path(__file__).parents[3] / "examples" / "tails.py", tmp_path)
    monkeypatch.setattr(kinds, "__path__", [*kinds.__path__, str(tmp_path)])
    kinds._modules.cache_clear()
    try:
        figure = drawn(*(make_record(bytes=size) for size in (8, 64)))
    finally:
        kinds._modules.cache_clear()
    (line,) = panel(figure, "latency: tails").lines
    assert list(line.get_xdata()) == [8, 64] and min(line.get_ydata()) >= 1


# ---- convergence ----


def test_residuals_have_a_line_per_variant() -> None:
    unique = make_solve_record(
        transport="ccl", options={"storage": "unique"}, residuals=[1.0, 0.1, 0.01]
    )
    figure = drawn(make_solve_record(residuals=[1.0, 0.5]), unique)
    axes = panel(figure, CONVERGENCE)
    labels = axes.get_yscale(), axes.get_xlabel(), axes.get_ylabel()
    assert labels == ("log", "iteration", "relative residual")
    assert [list(line.get_xdata()) for line in axes.lines] == [[1, 2], [1, 2, 3]]
    assert [list(line.get_ydata()) for line in axes.lines] == [[1.0, 0.5], [1.0, 0.1, 0.01]]
    assert legends(figure) == [["mpi, element", "ccl, unique"]]
    assert details(axes).startswith("to iteration 3")


def test_of_a_sweep_the_largest_problem_converges() -> None:
    records = [make_solve_record(edge, residuals=[1.0 / edge] * edge) for edge in (2, 3)]
    (line,) = panel(drawn(*records), CONVERGENCE).lines
    assert len(line.get_xdata()) == 3


@pytest.mark.parametrize("residuals", [[0.5], [1.0, None, 0.25], [1.0, 0.0]])
def test_odd_residuals_are_drawn(residuals: Residuals, tmp_path: Path) -> None:
    record = make_solve_record(residuals=residuals)
    (line,) = panel(drawn(record), CONVERGENCE).lines
    assert len(line.get_xdata()) == len(residuals)
    assert plot.plot(parsed(record), tmp_path / "picture.svg").left_out == []


@pytest.mark.parametrize("residuals", [None, [], [None], [0.0]])
def test_without_residuals_there_is_no_panel(residuals: Residuals | None) -> None:
    figure = drawn(make_solve_record(residuals=residuals))
    assert not any("convergence" in title for title in titles(figure))


# ---- throughput ----


def test_throughput_has_its_peak_and_the_size_of_80_percent() -> None:
    records = sizes(4, 8, 16)
    for record, (dofs, value) in zip(records, ((1e4, 2e9), (1e5, 6e9), (1e6, 1e10))):
        record["facts"]["dof_per_rank"] = dofs
        record["statistics"]["throughput_DOF_iter_per_s"] = statistic(value)
    figure = drawn(*records)
    assert "bp5" not in titles(figure), "its curve alone would say less"
    axes = panel(figure, THROUGHPUT)
    curve, star, dotted = axes.lines
    assert list(curve.get_xdata()) == [1e4, 1e5, 1e6]
    assert list(curve.get_ydata()) == [2e9, 6e9, 1e10]
    assert (list(star.get_xdata()), list(star.get_ydata())) == ([1e6], [1e10])
    half_way = 10**5.5  # 8e9 is half way from 6e9 to 1e10; its size is so on a logarithmic axis
    assert list(dotted.get_xdata()) == pytest.approx([half_way] * 2)
    assert "peak 1.00e10 at 1M, n₀.₈ = 316k" in texts(axes)
    scales = axes.get_xscale(), axes.get_yscale(), axes.get_ylim()[0]
    assert scales == ("log", "linear", 0)
    assert axes.get_xlabel() == "degrees of freedom per rank"
    assert axes.get_ylabel() == "throughput (DOF*iter/s) per rank"


def test_a_peak_that_the_smallest_size_is_near_has_no_mark_of_80_percent() -> None:
    records = sizes(4, 8, 16)
    for record in records:
        record["statistics"]["throughput_DOF_iter_per_s"] = statistic(1e9)
    axes = panel(drawn(*records), THROUGHPUT)
    assert len(axes.lines) == 2
    assert "peak 1.00e9 at 22k, n₀.₈ ≤ 22k" in texts(axes)


@pytest.mark.parametrize("edges", [(4,), (4, 8), (4, 4, 8)])
def test_fewer_than_three_sizes_are_no_curve(edges: tuple[int, ...]) -> None:
    assert not any("by size" in title for title in titles(drawn(*sizes(*edges))))


def test_each_variant_has_a_curve_and_a_note() -> None:
    fast = {"options": {"geometry": "trilinear"}, "peak": 2e10}
    figure = drawn(
        *sizes(4, 8, 16),
        *sizes(4, 8, 16, transport="ccl", **fast),
        *sizes(4, transport="staged"),
    )
    notes = [text.split(":")[0] for text in texts(panel(figure, THROUGHPUT))[:-1]]
    assert notes == ["mpi, stored", "ccl, trilinear"], "staged has one size only"


# ---- roofline ----


def test_a_roofline_has_the_ceilings_and_a_point_per_variant() -> None:
    other = make_solve_record(transport="ccl", bytes_per_dof=82)
    axes = panel(drawn(make_solve_record(), other), ROOFLINE)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "memory bandwidth: 3,900 GB/s, read and written",
        "multiply-adds: 58,000 GFLOP/s",
    ]
    slope, roof, *points = axes.lines
    ridge = 58e3 / 3900
    assert list(slope.get_ydata() / slope.get_xdata()) == pytest.approx([3900] * 2)
    assert slope.get_xdata()[1] == roof.get_xdata()[0] == pytest.approx(ridge)
    assert list(roof.get_ydata()) == pytest.approx([58e3] * 2)
    flops_per_dof = 65_024 / 343
    intensities = [point.get_xdata()[0] for point in points]
    assert intensities == pytest.approx([flops_per_dof / 272, flops_per_dof / 82])
    gflops = flops_per_dof * 1e10 * 2_744_000 / 2_944_000 * 1e-9
    assert [point.get_ydata()[0] for point in points] == pytest.approx([gflops] * 2)
    share = gflops / (3900 * flops_per_dof / 272)
    assert f"mpi: 1,767 GFLOP/s, {100 * share:.0f}%" in texts(axes)
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


def test_a_roofline_needs_a_copy_but_no_gemm() -> None:
    def shown(*ceilings: dict[str, Any]) -> list[str]:
        return titles(drawn(make_solve_record(ceilings=list(ceilings), residuals=None)))

    copy, gemm = make_solve_record()["ceilings"]
    assert shown() == ["bp5, edge 20"]
    assert shown(gemm) == ["bp5, edge 20"]
    assert shown({**copy, "name": "peer copy"}) == ["bp5, edge 20"], "not the rate of memory"
    axes = panel(drawn(make_solve_record(ceilings=[copy])), ROOFLINE)
    assert len(axes.lines) == 2, "the slope and the point"


def test_machines_have_separate_rooflines() -> None:
    figure = drawn(make_solve_record(memory="host"), make_solve_record(placement=placement()))
    assert titles(figure).count(ROOFLINE) == 2
    rooflines = [axes for axes, title in zip(figure.axes, titles(figure)) if title == ROOFLINE]
    machines = [details(axes).split(";")[0] for axes in rooflines]
    assert machines == ["node, host memory", "NVIDIA H200, device memory"]


def test_the_notes_of_a_roofline_cover_no_point() -> None:
    records = [
        make_solve_record(transport=name, options={"order": order})
        for name in ("mpi", "staged", "ccl")
        for order in (5, 7)
    ]
    axes = panel(drawn(*records), ROOFLINE)
    highest = max(Text.get_window_extent(text).y1 for text in axes.texts[:-1])
    points = [line.get_ydata()[0] for line in axes.lines[2:]]
    lowest = min(axes.transData.transform((0.7, value))[1] for value in points)
    assert highest < lowest


# ---- all together ----


@pytest.mark.parametrize("variants", [1, 3, 9])
def test_no_text_covers_another(variants: int) -> None:
    transports = ("mpi", "staged", "ccl")
    records = [
        record
        for number in range(variants)
        for record in sizes(
            4, 8, 16, 24,
            options={"order": 7 + number // 3},
            transport=transports[number % 3],
            peak=1e9 * (number + 1),
        )
    ]  # fmt: skip
    drawn(*records, *modes())  # which looks
