"""Tables and pictures of gather-scatters, of which an application uses the fastest, and of solves."""

import json
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from commlens import plot
from commlens.records import Record, cases, parse
from conftest import Commlens
from sample_records import make_exchange_record, make_record, make_solve_record, statistic


def parsed(*records: dict[str, Any]) -> list[Record]:
    return [parse(json.dumps(record) + "\n") for record in records]


def drawn(*records: dict[str, Any]) -> Figure:
    figure = plot.draw(parsed(*records))
    figure.draw_without_rendering()
    return figure


def titles(figure: Figure) -> list[str]:
    return [axes.get_title(loc="left") for axes in figure.axes]


def panel(figure: Figure, title: str) -> Any:
    return figure.axes[titles(figure).index(title)]


def texts(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.texts]


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for one in figure.legends for text in one.get_texts()]


def modes(**changes: Any) -> list[dict[str, Any]]:
    """pairwise and neighbor over mpi and staged; the second is the fastest of all."""
    times = {("pairwise", "mpi"): 50.0, ("neighbor", "mpi"): 44.0, ("pairwise", "staged"): 60.0}
    return [
        make_exchange_record(mode, transport, together_us=time, seconds=time * 1e-6, **changes)
        for (mode, transport), time in times.items()
    ]


def sizes(*edges: int, **changes: Any) -> list[dict[str, Any]]:
    return [make_solve_record(edge, **changes) for edge in edges]


# ---- gather-scatters ----


def test_the_candidate_with_the_fewest_seconds_is_used() -> None:
    (case,) = cases(parsed(*modes()))
    assert [record.variant_value for record in case.records if case.is_used(record)] == ["neighbor"]
    failed = make_exchange_record("host", seconds=1e-9, status="failed", reason="wrong")
    skipped = make_exchange_record("pairwise", "ccl", seconds=1e-9, status="skipped", reason="no", statistics={})
    (case,) = cases(parsed(*modes(), failed, skipped))
    assert [record.variant_value for record in case.records if case.is_used(record)] == ["neighbor"]
    (case,) = cases(parsed(*modes(), *modes(run="another")))
    assert sum(map(case.is_used, case.records)) == 2, "one of each start"
    (case,) = cases(parsed(*modes(candidate=None)))
    assert not any(map(case.is_used, case.records))


def test_bars_of_modes_show_the_share_of_the_exchange_and_what_is_used() -> None:
    figure = drawn(*modes())
    (axes,) = figure.axes
    assert titles(figure) == ["gather-scatter by part"]
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "mpi, pairwise",
        "mpi, neighbor",
        "staged, pairwise",
    ]
    assert [label.get_fontweight() for label in axes.get_yticklabels()] == ["normal", "bold", "normal"]
    assert {"60%", "68%", "50%", "50.00 µs", "44.00 µs (used)", "60.00 µs"} <= set(texts(axes))
    assert texts(axes)[-1].startswith("used: neighbor+device; ")
    assert legend(figure)[:4] == ["pack", "exchange", "local", "unpack"]


def test_without_a_candidate_nothing_is_used() -> None:
    (axes,) = drawn(*modes(candidate=None)).axes
    assert not any("used" in text for text in texts(axes))
    (alone,) = drawn(make_exchange_record()).axes
    assert "50.00 µs (used)" in texts(alone), "of one it is that one"


def test_what_is_used_is_marked_without_parts_too() -> None:
    (axes,) = drawn(*modes(parts=None)).axes
    assert {"50.00 µs", "44.00 µs (used)"} <= set(texts(axes))


def test_no_number_reaches_beyond_its_axes() -> None:
    for records in (modes(), modes(parts=None), [make_solve_record(residuals=None, ceilings=[])]):
        for axes in drawn(*records).axes:
            ends = [text.get_window_extent().x1 for text in axes.texts[:-1]]
            assert max(ends) <= axes.get_window_extent().x1 + 1


def test_show_names_what_is_used_and_what_was_found(commlens: Commlens, tmp_path: Path) -> None:
    skipped = make_exchange_record("pairwise", "ccl", status="skipped", reason="no GPU", statistics={}, candidate=None)
    file = tmp_path / "records.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in [*modes(), skipped]))
    shown = commlens("show", file)
    assert shown.returncode == 0, shown.stderr
    lines = [line.strip() for line in shown.stdout.splitlines()]
    assert "used config: neighbor+device (MPI min/max/avg: 4.40e-05s)" in lines
    assert sum(line.endswith("44.00  used") for line in lines) == 1
    assert sum(line.endswith("used") for line in lines) == 1
    assert "skipped: ccl, device: no GPU" in lines
    assert any(line.startswith("labels shared 236,041") for line in lines), "what all have in common, once"
    assert "speed-up" not in shown.stdout
    file.write_text(json.dumps(skipped) + "\n")
    assert "used config" not in commlens("show", file).stdout


def test_facts_in_which_records_differ_have_a_column(commlens: Commlens, tmp_path: Path) -> None:
    facts = [{"labels_shared": 7, "converged": True}, {"labels_shared": 8, "converged": True, "way": "pairwise"}]
    records = [make_record(facts=fact, transport=name) for fact, name in zip(facts, ("mpi", "ccl"), strict=True)]
    file = tmp_path / "records.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    rows = [line.split() for line in commlens("show", file).stdout.splitlines()]
    assert ["converged", "yes"] in rows
    assert ["1", "KiB", "mpi", "host", "7", "-"] in rows
    assert ["ccl", "host", "8", "pairwise"] in rows


# ---- solves ----


def test_residuals_have_a_line_a_variant() -> None:
    unique = make_solve_record(transport="ccl", options={"storage": "unique"}, residuals=[1.0, 0.1, 0.01], run="2")
    figure = drawn(make_solve_record(residuals=[1.0, 0.5]), unique)
    axes = panel(figure, "bp5: convergence")
    assert (axes.get_yscale(), axes.get_xlabel(), axes.get_ylabel()) == ("log", "iteration", "relative residual")
    assert [list(line.get_xdata()) for line in axes.lines] == [[1, 2], [1, 2, 3]]
    assert [list(line.get_ydata()) for line in axes.lines] == [[1.0, 0.5], [1.0, 0.1, 0.01]]
    assert legend(figure) == ["mpi, element", "ccl, unique"]
    assert texts(axes)[-1].startswith("to iteration 3")


def test_of_a_sweep_the_largest_problem_converges() -> None:
    records = [make_solve_record(edge, residuals=[1.0 / edge] * edge) for edge in (2, 3)]
    (line,) = panel(drawn(*records), "bp5: convergence").lines
    assert len(line.get_xdata()) == 3


@pytest.mark.parametrize("residuals", [[0.5], [1.0, None, 0.25], [1.0, 0.0]])
def test_odd_residuals_are_drawn(residuals: list[float | None], tmp_path: Path) -> None:
    record = make_solve_record(residuals=residuals)
    (line,) = panel(drawn(record), "bp5: convergence").lines
    assert len(line.get_xdata()) == len(residuals)
    assert plot.plot(parsed(record), tmp_path / "picture.svg") == 1


@pytest.mark.parametrize("residuals", [None, [], [None], [0.0]])
def test_without_residuals_there_is_no_panel(residuals: list[float | None] | None) -> None:
    assert not any("convergence" in title for title in titles(drawn(make_solve_record(residuals=residuals))))


def test_throughput_has_its_peak_and_the_size_of_80_percent() -> None:
    records = sizes(4, 8, 16)
    for record, (dofs, value) in zip(records, ((1e4, 2e9), (1e5, 6e9), (1e6, 1e10)), strict=True):
        record["facts"]["dof_per_rank"] = dofs
        record["statistics"]["throughput_DOF_iter_per_s"] = statistic(value)
    figure = drawn(*records)
    assert "bp5" not in titles(figure), "its curve alone would say less"
    axes = panel(figure, "bp5: throughput by size")
    curve, star, dotted = axes.lines
    assert list(curve.get_xdata()) == [1e4, 1e5, 1e6]
    assert list(curve.get_ydata()) == [2e9, 6e9, 1e10]
    assert (list(star.get_xdata()), list(star.get_ydata())) == ([1e6], [1e10])
    half_way = 10**5.5  # 8e9 is half way from 6e9 to 1e10, and so is its size on a logarithmic axis
    assert list(dotted.get_xdata()) == pytest.approx([half_way] * 2)
    assert "peak 1.00e10 at 1M, $n_{0.8}$ = 316k" in texts(axes)
    assert (axes.get_xscale(), axes.get_yscale(), axes.get_ylim()[0]) == ("log", "linear", 0)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("degrees of freedom a rank", "throughput (DOF·iter/s) a rank")


def test_a_peak_that_the_smallest_size_is_near_has_no_mark_of_80_percent() -> None:
    records = sizes(4, 8, 16)
    for record in records:
        record["statistics"]["throughput_DOF_iter_per_s"] = statistic(1e9)
    axes = panel(drawn(*records), "bp5: throughput by size")
    assert len(axes.lines) == 2
    assert "peak 1.00e9 at 22k, $n_{0.8}$ ≤ 22k" in texts(axes)


@pytest.mark.parametrize("edges", [(4,), (4, 8), (4, 4, 8)])
def test_fewer_than_three_sizes_are_no_curve(edges: tuple[int, ...]) -> None:
    assert not any("by size" in title for title in titles(drawn(*sizes(*edges))))


def test_each_variant_has_a_curve_and_a_note() -> None:
    fast = {"options": {"geometry": "trilinear"}, "run": "2", "peak": 2e10}
    figure = drawn(*sizes(4, 8, 16), *sizes(4, 8, 16, transport="ccl", **fast), *sizes(4, transport="staged"))
    axes = panel(figure, "bp5: throughput by size")
    notes = [text.split(":")[0] for text in texts(axes)[:-1]]
    assert notes == ["mpi, stored", "ccl, trilinear"], "staged has one size only"


def test_a_roofline_has_the_ceilings_and_a_point_a_variant() -> None:
    axes = panel(drawn(make_solve_record(), make_solve_record(transport="ccl", bytes_a_dof=82)), "bp5: roofline")
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["memory: 3,900 GB/s (2 x a copy's 1,950: read and written)", "square GEMM: 58,000 GFLOP/s"]
    slope, roof, *points = axes.lines
    ridge = 58e3 / 3900
    assert list(slope.get_ydata() / slope.get_xdata()) == pytest.approx([3900] * 2)
    assert slope.get_xdata()[1] == roof.get_xdata()[0] == pytest.approx(ridge)
    assert list(roof.get_ydata()) == pytest.approx([58e3] * 2)
    flops_a_dof = 65_024 / 343
    assert [point.get_xdata()[0] for point in points] == pytest.approx([flops_a_dof / 272, flops_a_dof / 82])
    gflops = flops_a_dof * 1e10 * 2_744_000 / 2_944_000 * 1e-9
    assert [point.get_ydata()[0] for point in points] == pytest.approx([gflops] * 2)
    share = gflops / (3900 * flops_a_dof / 272)
    assert f"mpi: 1,767 GFLOP/s, {100 * share:.0f}%" in texts(axes)
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


def test_a_roofline_needs_a_copy_but_no_product() -> None:
    assert titles(drawn(make_solve_record(ceilings=[], residuals=None))) == ["bp5"]
    copy, product = make_solve_record()["ceilings"]
    assert titles(drawn(make_solve_record(ceilings=[product], residuals=None))) == ["bp5"]
    axes = panel(drawn(make_solve_record(ceilings=[copy])), "bp5: roofline")
    assert len(axes.lines) == 2, "the slope and the point"
    peer = {**copy, "name": "peer copy"}
    assert titles(drawn(make_solve_record(ceilings=[peer], residuals=None))) == ["bp5"], "not memory's rate"


def test_machines_have_rooflines_of_their_own() -> None:
    device = {"ordinal": 0, "name": "A GPU", "uuid": "GPU-1", "pci": "1", "numa_node": 0, "memory_bytes": 1}
    gpus = [{"rank": 0, "host": "node", "cores": "0", "numa_nodes": "0", "device": device}]
    figure = drawn(make_solve_record(run="1", memory="host"), make_solve_record(run="2", placement=gpus))
    assert titles(figure).count("bp5: roofline") == 2
    details = [texts(axes)[-1] for axes in figure.axes if "roofline" in axes.get_title(loc="left")]
    assert [text.split(";")[0] for text in details] == ["node, host memory", "A GPU, device memory"]


def test_failed_and_skipped_solves_are_left_out(tmp_path: Path) -> None:
    failed = make_solve_record(status="failed", reason="wrong", transport="ccl")
    skipped = make_solve_record(status="skipped", reason="none", transport="staged", statistics={}, ceilings=[])
    good = make_solve_record()
    assert plot.plot(parsed(good, failed, skipped), tmp_path / "picture.png") == 1


@pytest.mark.parametrize("variants", [1, 3, 9])
def test_no_text_lies_upon_another(variants: int) -> None:
    records = [
        record
        for number in range(variants)
        for record in sizes(
            4, 8, 16, 24, options={"order": 7 + number // 3}, transport=("mpi", "staged", "ccl")[number % 3],
            run=str(number), peak=1e9 * (number + 1),
        )
    ]  # fmt: skip
    figure = drawn(*records, *modes(run="modes"))
    for axes in figure.axes:
        own = [Text.get_window_extent(text) for text in axes.texts]  # without the line from a note to its point
        assert not any(one.overlaps(other) for number, one in enumerate(own) for other in own[:number])
    everything: list[Any] = [axes.get_tightbbox() for axes in figure.axes]
    everything += [one.get_window_extent() for one in figure.legends]
    assert not any(one.overlaps(other) for number, one in enumerate(everything) for other in everything[:number])


def test_the_notes_of_a_roofline_cover_no_point() -> None:
    transports = ("mpi", "staged", "ccl")
    orders = (5, 7)
    records = [make_solve_record(transport=name, options={"order": order}) for name in transports for order in orders]
    axes = panel(drawn(*records), "bp5: roofline")
    highest = max(Text.get_window_extent(text).y1 for text in axes.texts[:-1])
    lowest = min(axes.transData.transform((0.7, line.get_ydata()[0]))[1] for line in axes.lines[2:])
    assert highest < lowest
