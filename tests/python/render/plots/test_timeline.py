"""Timelines: lanes, boxes and their numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from commlens.render import plots as plot
from commlens.render.plots.content import Content
from commlens.render.plots.layout import MAX_HEIGHT_INCHES
from conftest import Commlens
from plot_helpers import details, panel, texts, timelines, y_labels
from record_helpers import parsed, write
from sample_applications import make_overlap_record

PARTS = {
    ("multiplications", "compute"): 8e5,
    ("reductions", "communication"): 1.0,
    ("copies", "communication"): 1.0,
}


def test_the_lanes_of_a_timeline_are_in_order() -> None:
    record = make_overlap_record(transport="ccl", together_us=8.8e5)
    axes = panel(timelines(record), "pipeline over ccl, block 732: 880.0 ms")
    lanes = ["rank 0   compute", "communication", "rank 1   compute", "communication"]
    assert y_labels(axes) == lanes
    top_down = list(axes.get_yticks())
    assert axes.yaxis_inverted() and top_down == sorted(top_down)
    assert top_down[1] - top_down[0] < top_down[2] - top_down[1], "a gap between ranks"
    assert axes.get_xlabel() == "time (ms)"
    assert axes.get_xlim() == pytest.approx((0, 880), rel=0.01)


def boxes(axes: Axes) -> list[tuple[int, str, str, Any]]:
    """The lane, face, edge and (left, low, right, high) of each box."""
    result = []
    collections: list[Any] = list(axes.collections)
    for collection in collections:
        colors = collection.get_facecolor(), collection.get_edgecolor()
        face, edge = (to_hex(color[0]).upper() for color in colors)
        for path in collection.get_paths():
            left, low, right, high = path.get_extents().extents
            middles = enumerate(axes.get_yticks())
            (lane,) = [lane for lane, middle in middles if low < middle < high]
            result.append((lane, face, edge, (left, low, right, high)))
    return result


def test_a_timeline_has_a_box_per_span_in_its_parts_color() -> None:
    made = make_overlap_record(transport="ccl", together_us=8.8e5, steps=4)
    (record,) = parsed(made)
    colors = Content.of([record]).part_colors
    axes = panel(timelines(made), "pipeline over ccl, block 732: 880.0 ms")
    assert record.timeline is not None
    for rank in range(2):
        for lane, part in ((0, "multiplications"), (1, "reductions"), (1, "copies")):
            spans = [
                span for span in record.timeline.spans if (span.rank, span.part) == (rank, part)
            ]
            wanted = 2 * rank + lane, colors[part]
            drawn = [box for at, face, _, box in boxes(axes) if (at, face) == wanted]
            assert len(drawn) == 4
            starts, ends = [box[0] for box in drawn], [box[2] for box in drawn]
            assert starts == pytest.approx([1e-3 * span.start_us for span in spans])
            assert ends == pytest.approx([1e-3 * span.end_us for span in spans])
    assert texts(axes)[:-1].count("3") == 6, "a number per box"


def test_spans_that_are_too_short_to_see_are_drawn_as_lines() -> None:
    made = make_overlap_record(parts_us=PARTS, together_us=8.8e5)
    axes = panel(timelines(made), "pipeline over mpi, block 732: 880.0 ms")
    colors = Content.of(parsed(made)).part_colors
    heights = {}
    for _, face, edge, (_, low, _, high) in boxes(axes):
        is_long = face == colors["multiplications"]
        assert (edge == face) != is_long, "white edges would hide a short one"
        heights[face] = high - low
    assert heights[colors["copies"]] < heights[colors["reductions"]], "they do not cover them"
    widths = [collection.get_linewidth()[0] for collection in axes.collections]
    assert min(widths) >= 0.5
    numbered = sum(text.isdigit() for text in texts(axes))
    assert numbered == 2 * 20, "only boxes that have room are numbered"


def test_of_many_ranks_the_first_four_are_timelines() -> None:
    title = "pipeline over mpi, block 732: 880.0 ms"
    axes = panel(timelines(make_overlap_record(ranks=16, together_us=8.8e5)), title)
    assert len(y_labels(axes)) == 8
    assert y_labels(axes)[-2:] == ["rank 3   compute", "communication"]
    assert "the first 4 of 16 ranks" in details(axes)
    few = panel(timelines(make_overlap_record(ranks=4, together_us=8.8e5)), title)
    assert "first" not in details(few)


# ---- a picture of their own ----


def test_timelines_are_a_separate_picture(commlens: Commlens, tmp_path: Path) -> None:
    file = write(tmp_path / "records.jsonl", make_overlap_record())
    done = commlens("plot", file, "--out", "picture.png")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "picture.png\npicture-timeline.png\n"
    assert all(Path(name).stat().st_size > 5000 for name in done.stdout.split())
    out = tmp_path / "bars.svg"
    drawn = plot.plot(parsed(make_overlap_record(timeline=None)), out)
    assert drawn == ([out], [])


def test_timelines_for_which_two_screens_have_no_room_are_left_out(tmp_path: Path) -> None:
    names = [f"transport{number:02}" for number in range(12)]
    records = parsed(
        *(make_overlap_record(transport=name, transports=names, steps=2) for name in names)
    )
    drawn = plot.plot(records, tmp_path / "picture.svg")
    figure, missing = plot.draw_timelines(records)
    assert figure is not None and 0 < missing < 6
    assert len(figure.axes) == 12 - missing
    assert figure.get_size_inches()[1] <= MAX_HEIGHT_INCHES
    assert drawn.left_out == [f"left out {missing} timelines, for which two screens have no room"]
