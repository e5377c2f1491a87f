"""The speed-up of a variant against ranks."""

from __future__ import annotations

from typing import Any

import pytest

from plot_helpers import details, drawn, legends, titles, x_labels
from sample_applications import make_transform_record


def on_ranks(*counts: int, **changes: Any) -> list[dict[str, Any]]:
    """The more ranks, the more the cached variant gains: as many percent."""
    return [
        make_transform_record(name, ranks=ranks, together_ms=100.0 + gain, timeline=None, **changes)
        for ranks in counts
        for name, gain in (("per-transpose", ranks), ("cached", 0))
    ]


def test_several_numbers_of_ranks_have_a_curve_of_the_speed_up() -> None:
    figure = drawn(*on_ranks(1, 2, 8), *on_ranks(1, 2, 8, transport="ccl"))
    assert titles(figure) == [
        "fft by part, 1 rank", "fft by part, 2 ranks", "fft by part, 8 ranks",
        "fft: cached over per-transpose",
    ]  # fmt: skip
    axes = figure.axes[-1]
    curves: list[Any] = axes.lines[1:]
    assert [list(curve.get_xdata()) for curve in curves] == [[1, 2, 8]] * 2
    assert [list(curve.get_ydata()) for curve in curves] == [pytest.approx([1, 2, 8])] * 2
    assert x_labels(axes) == ["1", "2", "8"]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("ranks", "speed-up")
    assert details(axes) == "by the medians"
    assert legends(figure)[0][:2] == ["mpi", "ccl"]
    assert figure.texts[0].get_text() == "node  ·  1 to 8 ranks  ·  Open MPI 4.1.4"


def test_problems_have_separate_curves() -> None:
    figure = drawn(*on_ranks(1, 2, grid="64x64x64"), *on_ranks(1, 2, grid="125x125x125"))
    assert legends(figure)[0][:2] == ["mpi, grid 64x64x64", "mpi, grid 125x125x125"]
    assert titles(figure)[-1] == "fft: cached over per-transpose"


def test_too_many_ranks_are_shaded() -> None:
    crowded = [
        {"rank": rank, "host": "node", "cores": "0-3", "numa_nodes": "0"} for rank in range(8)
    ]
    axes = drawn(*on_ranks(2, 4), *on_ranks(8, placement=crowded)).axes[-1]
    assert "gray: more ranks than cores" in details(axes)
    (shade,) = axes.patches
    assert shade.get_extents().x0 > axes.transData.transform((5, 0))[0]
    assert not drawn(*on_ranks(2, 4)).axes[-1].patches
