"""The panel of choices of settings: a curve per choice with its range, and the ceiling."""

from __future__ import annotations

import pytest
from matplotlib.figure import Figure

from commlens.render.plots.ranges import Point, SettingsCurve, ranges_panel


def test_a_curve_has_its_values_and_its_range_and_the_ceiling_is_dashed() -> None:
    default = SettingsCurve("default", [Point(8, 4.0, 3.0, 5.0), Point(64, 6.0, 5.5, 7.0)])
    ceiling = SettingsCurve(
        "ceiling", [Point(8, 1.0, 1.0, 1.0), Point(64, 2.0, 2.0, 2.0)], False, True
    )
    axes = Figure().subplots()
    ranges_panel("latency", "latency (us)", True, [default, ceiling]).draw(axes, 6.0)
    drawn, dashed = axes.get_lines()
    assert list(drawn.get_xdata()) == [8, 64] and list(drawn.get_ydata()) == [4.0, 6.0]
    assert (drawn.get_label(), drawn.get_linestyle()) == ("default", "-")
    assert (dashed.get_label(), dashed.get_linestyle()) == ("ceiling", "--")
    (band,) = axes.collections
    heights = band.get_paths()[0].vertices[:, 1]
    assert heights.min() == pytest.approx(3.0) and heights.max() == pytest.approx(7.0)
    assert axes.get_ylabel() == "latency (us)"
