"""Pictures in which nothing covers anything, and what tests look at in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from commlens.render import plots as plot
from record_helpers import parsed


def drawn(*records: dict[str, Any]) -> Figure:
    return _laid_out(plot.draw(parsed(*records)))


def timelines(*records: dict[str, Any]) -> Figure:
    figure, _ = plot.draw_timelines(parsed(*records))
    assert figure is not None
    return _laid_out(figure)


def titles(figure: Figure) -> list[str]:
    return [axes.get_title(loc="left").replace("\n", " ") for axes in figure.axes]


def panel(figure: Figure, title: str) -> Any:
    (match,) = [axes for axes, text in zip(figure.axes, titles(figure)) if text == title]
    return match


def texts(axes: Axes) -> list[str]:
    return [text.get_text().replace("\n", " ") for text in axes.texts]


def details(axes: Axes) -> str:
    """The small lines under the title, which are always the last text."""
    return texts(axes)[-1]


def x_labels(axes: Axes) -> list[str]:
    return [label.get_text() for label in axes.get_xticklabels()]


def y_labels(axes: Axes) -> list[str]:
    return [label.get_text() for label in axes.get_yticklabels()]


def legends(figure: Figure) -> list[list[str]]:
    return [[text.get_text() for text in legend.get_texts()] for legend in figure.legends]


def _laid_out(figure: Figure) -> Figure:
    """In which neither texts of a panel nor panels and legends cover each other; details are above
    the axes, and all other texts end within them."""
    figure.draw_without_rendering()
    for axes in figure.axes:
        # Without the line from a note to its point, which belongs to an annotation.
        boxes = [Text.get_window_extent(text) for text in axes.texts]
        _assert_apart(boxes)
        within = axes.get_window_extent()
        assert all(box.x1 <= within.x1 + 1 for box in boxes[:-1])
        assert all(box.y0 > within.y1 for box in boxes[-1:])
    legends_of = [legend.get_window_extent() for legend in figure.legends]
    _assert_apart([*(axes.get_tightbbox() for axes in figure.axes), *legends_of])
    return figure


def _assert_apart(boxes: Sequence[Any]) -> None:
    for number, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:number])
