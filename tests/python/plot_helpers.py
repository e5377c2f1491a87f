"""What tests look at in a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from commlens.render import plots as plot
from record_helpers import parsed


def drawn(*records: dict[str, Any]) -> Figure:
    figure = plot.draw(parsed(*records))
    figure.draw_without_rendering()
    return figure


def timelines(*records: dict[str, Any]) -> Figure:
    figure, _ = plot.draw_timelines(parsed(*records))
    assert figure is not None
    figure.draw_without_rendering()
    return figure


def titles(figure: Figure) -> list[str]:
    return [axes.get_title(loc="left").replace("\n", " ") for axes in figure.axes]


def panel(figure: Figure, title: str) -> Any:
    (found,) = [axes for axes, own in zip(figure.axes, titles(figure)) if own == title]
    return found


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
    holders = [figure, *figure.subfigs]
    own = [legend for holder in holders for legend in holder.legends]
    return [[text.get_text() for text in legend.get_texts()] for legend in own]


def assert_no_overlap(figure: Figure) -> None:
    """Neither of texts within a panel nor of panels and legends."""
    for axes in figure.axes:
        # Without the line from a note to its point, which belongs to an annotation.
        _assert_apart([Text.get_window_extent(text) for text in axes.texts])
    boxes: list[Any] = [axes.get_tightbbox() for axes in figure.axes]
    for holder in (figure, *figure.subfigs):
        boxes += [legend.get_window_extent() for legend in holder.legends]
    _assert_apart(boxes)


def _assert_apart(boxes: Sequence[Bbox]) -> None:
    for number, one in enumerate(boxes):
        assert not any(one.overlaps(other) for other in boxes[:number])
