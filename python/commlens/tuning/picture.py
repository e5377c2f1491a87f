"""The default, the best and the worst choice over size, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from commlens.base.text import labelled
from commlens.tuning.bench import DEFAULT, Bench
from commlens.tuning.finals import Final
from commlens.tuning.scores import Slot, Target
from commlens.tuning.space import Choice

if TYPE_CHECKING:
    from commlens.render.plots.ranges import SettingsCurve


def draw(bench: Bench, finals: Sequence[Final], out: Path) -> None:
    """Draws a panel per target: default, best and worst choice over size."""
    from commlens.render.plots.ranges import draw, ranges_panel

    reference = bench.reference
    assert reference is not None, "only what was measured is drawn"
    metric = labelled(reference.metric.label, reference.metric.unit)
    panels = []
    for final in finals:
        target = final.target
        worst = _worst(bench, target)
        named = {"default": DEFAULT, f"worst: {bench.space.text(worst)}": worst}
        if final.choice:
            named[f"best: {bench.space.text(final.choice)}"] = final.choice
        curves = [curve_of(bench, label, choice, target.slots) for label, choice in named.items()]
        curves = [curve for curve in curves if curve.points]
        ceiling = _ceiling(bench, target)
        title = f"{bench.runner.entry.benchmark}, {target.name}, {target.slots[0].where}"
        kept = [*curves, *([ceiling] if ceiling.points else [])]
        panels.append(ranges_panel(title, metric, target.slots[0].in_bytes, kept))
    draw(panels, out)


def curve_of(bench: Bench, label: str, choice: Choice, slots: Sequence[Slot]) -> SettingsCurve:
    """The medians over the launches of a choice, and their range."""
    from commlens.render.plots.ranges import Point, SettingsCurve

    points = []
    for slot in sorted(slots, key=lambda one: one.size or 0):
        own = [
            launch.values.by_slot[slot].median
            for launch in bench.launches.find(choice)
            if slot in launch.values.by_slot
        ]
        if own:
            points.append(Point(slot.size or 0, median(own), min(own), max(own)))
    return SettingsCurve(label, points)


def _worst(bench: Bench, target: Target) -> Choice:
    scores = [
        (score, launch.number, launch.choice)
        for launch in bench.launches.done
        if launch.is_ok and (score := bench.score(launch.choice, target)) is not None
    ]
    return max(scores, key=lambda one: one[:2])[2]


def _ceiling(bench: Bench, target: Target) -> SettingsCurve:
    from commlens.render.plots.ranges import Point, SettingsCurve

    reference = bench.reference
    known = reference.ceilings if reference else {}
    points = [
        Point(slot.size or 0, known[slot], known[slot], known[slot])
        for slot in sorted(target.slots, key=lambda one: one.size or 0)
        if slot in known
    ]
    return SettingsCurve("ceiling", points, is_ceiling=True)
