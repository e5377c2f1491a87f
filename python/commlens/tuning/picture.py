"""The default, the best and the worst choice over size, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median

from commlens.base.text import labelled
from commlens.render.plots import ranges
from commlens.render.plots.ranges import Point, SettingsCurve, ranges_panel
from commlens.tuning.bench import DEFAULT, Bench
from commlens.tuning.finals import Final
from commlens.tuning.scores import Slot
from commlens.tuning.space import Choice


def draw(bench: Bench, finals: Sequence[Final], out: Path) -> None:
    """Draws a panel per target: default, best and worst choice over size."""
    reference = bench.reference
    assert reference is not None, "only what was measured is drawn"
    metric = labelled(reference.metric.label, reference.metric.unit)
    panels = []
    for final in finals:
        slots = sorted(final.target.slots, key=lambda one: one.size or 0)
        worst = bench.ranked(final.target)[-1][1]
        named = {"default": DEFAULT, f"worst: {bench.space.text(worst)}": worst}
        if final.choice:
            named[f"best: {bench.space.text(final.choice)}"] = final.choice
        curves = [curve_of(bench, label, choice, slots) for label, choice in named.items()]
        known = [(slot.size or 0, reference.ceilings.get(slot)) for slot in slots]
        ceiling = [Point(size, one, one, one) for size, one in known if one is not None]
        curves.append(SettingsCurve("ceiling", ceiling, is_ceiling=True))
        title = f"{bench.runner.entry.benchmark}, {final.target.name}, {slots[0].where}"
        drawn = [curve for curve in curves if curve.points]
        panels.append(ranges_panel(title, metric, slots[0].in_bytes, drawn))
    ranges.draw(panels, out)


def curve_of(bench: Bench, label: str, choice: Choice, slots: Sequence[Slot]) -> SettingsCurve:
    """The medians over the launches of a choice, and their range."""
    points = []
    for slot in sorted(slots, key=lambda one: one.size or 0):
        own = [one.median for one in bench.values_at(slot, choice)]
        if own:
            points.append(Point(slot.size or 0, median(own), min(own), max(own)))
    return SettingsCurve(label, points)
