"""Panels that show records of several groups at once. Each file in this folder is one kind.

A file defines `panels(records, groups, theme)`, which returns those to draw, none where the records
do not have what the kind shows, and may define ORDER: lower numbers come first.
"""

from __future__ import annotations

import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any

from matplotlib.axes import Axes

from commlens.model import Group, Record
from commlens.render.plots.heading import Heading
from commlens.render.plots.style import PANEL_INCHES, Series, Theme

_LAST = 100


class ExtraPanel(ABC):
    @property
    def height(self) -> float:
        """In inches."""
        return PANEL_INCHES[1]

    @property
    def label_width(self) -> float:
        """Of what stands left of the axes, in inches."""
        return 0.75

    @property
    @abstractmethod
    def heading(self) -> Heading: ...

    @property
    @abstractmethod
    def series(self) -> Iterable[Series]:
        """Those that the legend below all panels names."""

    @abstractmethod
    def draw(self, axes: Axes) -> None: ...

    def shows(self, group: Group) -> bool:
        """Whether it shows all that the group's own panel would, which is then left out."""
        return False


def extra_panels(
    records: Sequence[Record], groups: Sequence[Group], theme: Theme
) -> list[ExtraPanel]:
    modules: list[Any] = [
        import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__)
    ]
    modules.sort(key=lambda module: (getattr(module, "ORDER", _LAST), module.__name__))
    return [panel for module in modules for panel in module.panels(records, groups, theme)]
