"""An interval that would squeeze the bars is cut, in every picture of bars."""

from __future__ import annotations

from typing import Any

import pytest
from matplotlib.axes import Axes

from plot_helpers import drawn, texts
from sample_applications import make_overlap_record, modes
from sample_multigrid import make_multigrid_record
from sample_records import make_record

NOTE = "▶ interval is longer than drawn"
RIGHT, LEFT = ">", "<"


def allreduce(**changes: Any) -> dict[str, Any]:
    return make_record(**{"benchmark": "allreduce", "metric": "time_us", "ceilings": [], **changes})


def widened(record: dict[str, Any], factor: float) -> dict[str, Any]:
    """As of a start in which a few samples took much longer."""
    times = record["statistics"]["time_us"]
    times.update(ci_high=factor * times["median"], max=factor * times["median"])
    return record


def arrows(axes: Axes, marker: str) -> list[float]:
    """Where they stand."""
    lines: list[Any] = [line for line in axes.lines if line.get_marker() == marker]
    return [line.get_xdata()[0] for line in lines]


def with_a_cut(*records: dict[str, Any]) -> Axes:
    figure = drawn(*records)
    (axes,) = [axes for axes in figure.axes if NOTE in axes.get_xlabel()]
    return axes


PICTURES = {
    "bars": [widened(allreduce(median_us=30.0), 350), allreduce(median_us=25.0, transport="ccl")],
    "parts within": [widened(modes()[0], 350), *modes()[1:]],
    "levels": [widened(make_multigrid_record(), 350)],
    "overlap": [widened(make_overlap_record(), 350)],
}


@pytest.mark.parametrize("kind", PICTURES)
def test_bars_keep_their_length_beside_a_long_interval(kind: str) -> None:
    axes = with_a_cut(*PICTURES[kind])
    bars: list[Any] = list(axes.patches)
    ends = [bar.get_x() + bar.get_width() for bar in bars]
    assert max(ends) > 0.25 * axes.get_xlim()[1]
    (arrow,) = arrows(axes, RIGHT)
    assert max(ends) < arrow < axes.get_xlim()[1]


def test_points_on_a_logarithmic_axis_keep_their_distance_beside_a_long_interval() -> None:
    slow, quick = allreduce(median_us=2000.0), allreduce(median_us=30.0, transport="ccl")
    quick["statistics"]["time_us"].update(ci_low=0.01, min=0.01)
    axes = with_a_cut(widened(slow, 1e6), quick)
    assert axes.get_xscale() == "log"
    low, high = axes.get_xlim()
    assert high < 1e4 * low
    assert arrows(axes, LEFT) == [low]
    (arrow,) = arrows(axes, RIGHT)
    assert 2.0 < arrow < high
    assert {"2.000 ms", "0.03000 ms"} <= set(texts(axes))


def test_an_interval_that_is_not_much_longer_than_the_bars_is_drawn_whole() -> None:
    (axes,) = drawn(widened(allreduce(median_us=30.0), 1.9)).axes
    assert NOTE not in axes.get_xlabel()
    assert not arrows(axes, RIGHT)
    lines: list[Any] = list(axes.lines)
    assert max(max(line.get_xdata()) for line in lines) == pytest.approx(57)
    assert axes.get_xlim()[1] > 57
