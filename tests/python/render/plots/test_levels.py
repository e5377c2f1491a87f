"""Pictures of a multigrid solve: its levels as bars, one iteration as a timeline."""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib.colors import to_hex

from commlens.model.levels import has_levels, middle_iteration, place_of, times_by_level
from commlens.render.plots.content import Content
from commlens.render.plots.lines import published
from plot_helpers import details, drawn, legends, panel, texts, timelines, titles, y_labels
from record_helpers import parsed
from report_helpers import placement
from run_helpers import cases
from sample_applications import make_exchange_record
from sample_multigrid import ALONE, OTHER_US, make_multigrid_record

BY_LEVEL = "bps5 by level"
THROUGHPUT = "bps5: throughput by size"


# ---- the names of parts ----


@pytest.mark.parametrize(("part", "level", "kind"), cases("levels of parts"))
def test_the_name_of_a_part_says_its_level(part: str, level: str, kind: str) -> None:
    assert place_of(part) == (level, kind)


def test_levels_are_those_of_records_whose_parts_name_a_level() -> None:
    (record,) = parsed(make_multigrid_record())
    assert has_levels(record)
    assert list(times_by_level(record)) == ["solver", "p7", "p3", "p1"]
    assert times_by_level(record)["p1"] == pytest.approx({"coarse solve": 2e-4, "exchange": 3e-5})
    assert not has_levels(parsed(make_exchange_record("pairwise", "mpi"))[0])


# ---- bars ----


def widths(axes: Any) -> dict[int, list[float]]:
    """Of the segments of each bar, from the top."""
    by_row: dict[int, list[float]] = {}
    for patch in axes.patches:
        row = round(patch.get_y() + patch.get_height() / 2)
        by_row.setdefault(row, []).append(patch.get_width())
    return by_row


def test_a_solve_has_a_bar_of_all_levels_and_of_each() -> None:
    figure = drawn(make_multigrid_record())
    axes = panel(figure, BY_LEVEL)
    assert y_labels(axes) == ["all", "solver", "p7", "p3", "p1"]
    rows = widths(axes)
    assert sum(rows[0]) == pytest.approx(2e-3), "with what is left beside the parts"
    assert rows[0][-1] == pytest.approx(OTHER_US / 1e6)
    assert rows[2] == pytest.approx([3e-4, 5e-4, 5e-5, 1.6e-4])
    assert rows[4] == pytest.approx([2e-4, 3e-5]), "in the order of the first bar"
    assert {"2.000 ms, communication 20%", "1.010 ms, 50%", "0.2300 ms, 12%"} <= set(texts(axes))
    assert "communication without that of the coarse solve" in details(axes)


def test_a_kind_of_part_has_the_same_color_on_all_levels() -> None:
    made = make_multigrid_record()
    colors = Content.of(parsed(made)).part_colors
    assert colors["p7 exchange f32"] == colors["p3 exchange f32"] == colors["p7 exchange f64"]
    assert len(set(colors.values())) == 7
    figure = drawn(made)
    kinds = ["operator", "smoother", "restriction", "coarse solve", "vectors", "exchange"]
    labels = [label for label in legends(figure)[0] if not label.startswith("published")]
    assert labels[1:] == [*kinds, "reductions", "other"]


def test_a_single_rank_has_no_communication() -> None:
    axes = panel(drawn(make_multigrid_record(ranks=1)), BY_LEVEL)
    assert not any("communication" in text for text in texts(axes))


def test_the_transports_of_a_level_stand_next_to_each_other() -> None:
    slow = {**ALONE, "p7 exchange f32": 900.0, "reductions": 10.0}
    figure = drawn(make_multigrid_record(), make_multigrid_record("staged", parts=slow))
    names = y_labels(panel(figure, BY_LEVEL))
    assert names[:4] == ["all   mpi", "staged", "solver   mpi", "staged"]
    assert len(names) == 10


def test_parts_that_add_up_to_more_are_scaled() -> None:
    record = make_multigrid_record()
    for name in ("time_us", "time_ms"):
        times = record["statistics"][name]
        times.update({key: value / 2 for key, value in times.items() if isinstance(value, float)})
        times["confidence"] = 0.95
    axes = panel(drawn(record), BY_LEVEL)
    assert "parts scaled" in details(axes)
    rows = widths(axes)
    assert sum(sum(rows[row]) for row in (1, 2, 3, 4)) == pytest.approx(1e-3)


# ---- timelines ----


def test_the_iteration_in_the_middle_begins_with_its_v_cycle() -> None:
    (record,) = parsed(make_multigrid_record(iterations=5))
    assert record.timeline is not None
    middle = middle_iteration(record.timeline)
    assert middle is not None
    assert (middle.number, middle.of) == (3, 5)
    spans = [span for span in middle.timeline.spans if span.rank == 1]
    starts = {"solver": [51.0, 61.0, 71.0], "p7": [1.0, 11.0], "p3": [21.0, 41.0], "p1": [31.0]}
    expected = [(stream, start) for stream, times in starts.items() for start in times]
    assert [(span.stream, span.start_us) for span in spans] == expected
    assert [span.step for span in spans] == [5, 6, 7, 0, 1, 2, 4, 3]
    assert middle.timeline.time_us == 81.0


def test_the_timeline_of_a_solve_has_a_lane_for_each_level() -> None:
    axes = panel(timelines(make_multigrid_record()), "bps5 over mpi, iteration 3: 81.00 us")
    lanes = ["solver", "p7", "p3", "p1"]
    assert y_labels(axes) == ["rank 0   solver", *lanes[1:], "rank 1   solver", *lanes[1:]]
    assert "of 5 iterations: a V-cycle, then the solver" in details(axes)
    (record,) = parsed(make_multigrid_record())
    colors = {color.upper() for color in Content.of([record]).part_colors.values()}
    collections: list[Any] = list(axes.collections)
    assert {to_hex(box.get_facecolor()[0]).upper() for box in collections} <= colors


def test_a_solve_of_a_single_iteration_is_shown_as_it_is() -> None:
    figure = timelines(make_multigrid_record(iterations=1))
    assert titles(figure) == ["bps5 over mpi: 90.00 us"]


# ---- what was published ----


def on_gpu(edge: int, **changes: Any) -> dict[str, Any]:
    return make_multigrid_record(
        ranks=1,
        placement=placement(gpus=1),
        dof_per_rank=343.0 * edge**3,
        throughput=1e9 * edge / (edge + 8),
        **{"options": {"edge": edge}, **changes},
    )


def test_published_throughputs_stand_beside_those_of_gpus() -> None:
    figure = drawn(*map(on_gpu, (8, 16, 20, 32)))
    axes = panel(figure, THROUGHPUT)
    assert "gray dashes: published" in details(axes)
    for note in ("V100 2.62e8", "MI250X GCD (Crusher) 1.89e8", "GB200 1.05e9"):
        assert note in texts(axes)
    dashes = [line for line in axes.lines if line.get_marker() == "_"]
    assert [float(dash.get_xdata()[0]) for dash in dashes] == [8000 * 343.0] * 6


@pytest.mark.parametrize("change", [{"memory": "host"}, {"options": {"order": 5}}])
def test_other_cases_have_nothing_published_beside_them(change: dict[str, Any]) -> None:
    options = change.get("options", {})
    records = [
        on_gpu(edge, **{**change, "options": {"edge": edge, **options}}) for edge in (8, 16, 20)
    ]
    assert not published(parsed(*records), "DOF*iter/s")
    assert "published" not in details(panel(drawn(*records), THROUGHPUT))
