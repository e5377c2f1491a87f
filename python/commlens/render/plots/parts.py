"""Panels of parts that were measured within an operation: shares of bars, or bars by level."""

from __future__ import annotations

from collections.abc import Sequence

from commlens.model.levels import has_levels
from commlens.render.plots.levels import LevelsPanel
from commlens.render.plots.overlap import Operation
from commlens.render.plots.shares import SharesPanel
from commlens.render.plots.style import Theme

# With a larger ratio of the slowest to the fastest, each transport has its own panel and scale.
_ONE_PANEL_UP_TO = 8


def shares_panels(operations: Sequence[Operation], theme: Theme) -> dict[int, list[SharesPanel]]:
    """By the identity of their group."""
    by_group: dict[int, list[Operation]] = {}
    for operation in operations:
        if operation.record.has_parts_within:
            by_group.setdefault(id(operation.group), []).append(operation)
    return {key: _panels(own, theme) for key, own in by_group.items()}


def _panels(own: Sequence[Operation], theme: Theme) -> list[SharesPanel]:
    kind = LevelsPanel if all(has_levels(one.record) for one in own) else SharesPanel
    times = [operation.record.together_s or 0 for operation in own]
    by_transport: dict[str, list[Operation]] = {}
    for operation in own:
        by_transport.setdefault(operation.record.transport, []).append(operation)
    if max(times) <= _ONE_PANEL_UP_TO * min(times) or len(by_transport) == 1:
        return [kind(own, theme)]
    return [kind(found, theme, transport) for transport, found in by_transport.items()]
