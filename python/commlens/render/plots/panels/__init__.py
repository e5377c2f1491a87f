"""The kinds of panels: each module in this folder is one, found by being there.

A module defines `panels(content)`, which returns the panels of its kind: none where the records do
not have what the kind shows. It may define ORDER: lower numbers come first.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from typing import Any

from commlens.render.plots.content import Content
from commlens.render.plots.panel import Panel

_LAST = 100


def panels_of(content: Content) -> list[Panel]:
    """Returns all panels: those of each group together, then those of several groups.

    A panel is left out if another shows all that it would.
    """
    panels = [panel for module in _modules() for panel in module.panels(content)]
    places = {group: place for place, group in enumerate(content.groups)}
    replaced = {group for panel in panels for group in panel.replaces}
    kept = [panel for panel in panels if not (panel.is_replaceable and panel.group in replaced)]
    shown = {panel.group for panel in kept if panel.is_replaceable}
    content.number_shades(
        (group for group in content.groups if group.is_sweep or group in shown),
        (entry.handle for panel in panels for entry in panel.legend),
    )
    return sorted(kept, key=lambda panel: places[panel.group] if panel.group else len(places))


@cache
def _modules() -> list[Any]:
    modules: list[Any] = [
        import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)
    ]
    return sorted(modules, key=lambda module: (getattr(module, "ORDER", _LAST), module.__name__))
