"""What a search found, as tables, as a picture and as a document."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from commlens.base.terminal import console, echo
from commlens.base.text import (
    format_fraction,
    format_ratio,
    format_value,
    labelled,
    memory_name,
    plural,
)
from commlens.knowledge.secrets import mask_variables, mask_words
from commlens.model.comparison import FEWEST_APART, Verdict
from commlens.render.comparison import comparison_of
from commlens.render.table import Column, Table
from commlens.render.terminal import print_things
from commlens.tuning.bench import DEFAULT, Bench
from commlens.tuning.finals import Final, verdict_between
from commlens.tuning.launches import Launch
from commlens.tuning.scores import Reference, Slot, Target
from commlens.tuning.search import Gain, Search
from commlens.tuning.space import Choice

if TYPE_CHECKING:  # loading it takes a second, in which a search would wait
    from commlens.render.plots.ranges import SettingsCurve

_MOST_ROWS = 25
_MOST_SLOTS = 3
_LONGEST = 90  # characters of a choice in a table
_Row = tuple[float, Choice]  # its ratio to the default


def print_target(bench: Bench, target: Target) -> None:
    """Prints the choices that were measured, the best first."""
    reference = bench.reference
    if reference is None:
        return
    rows = bench.ranked(target)

    def verdict(row: _Row) -> str | None:
        choices = DEFAULT, row[1]
        return verdict_between(bench, target, choices)[0].value if row[1] else None

    notes = [f"and {len(rows) - _MOST_ROWS} more"] if len(rows) > _MOST_ROWS else []
    basis = "the default" if reference.is_default else "the first choice that worked"
    notes.append(f"to default: the ratio to {basis}, below 1 is better; over"
                 f" {plural(len(target.slots), 'size')}, by their geometric mean")  # fmt: skip
    slots = sorted(target.slots, key=lambda slot: (slot.size or 0, slot))
    if len(slots) > _MOST_SLOTS:
        slots = [slots[0], slots[len(slots) // 2], slots[-1]]
    columns: list[Column[_Row]] = [
        Column("setting", lambda row: _shortened(bench.space.text(row[1])), left=True),
        *(column for slot in slots for column in _slot_columns(bench, reference, slot)),
        Column("to default", lambda row: row[0], format=format_ratio),
        Column("launches", lambda row: len(bench.ok(row[1]))),
        Column("verdict", verdict, left=True),
    ]
    title = f"{target.name}: {plural(len(rows), 'choice')} of settings"
    where = memory_name(target.slots[0].memory)
    table = Table(columns, rows[:_MOST_ROWS], title=title, subtitle=where, notes=notes)
    table.fitted(console().width)
    print_things(console(), [table])


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _slot_columns(bench: Bench, reference: Reference, slot: Slot) -> list[Column[_Row]]:
    """At one size the value, its interval (of several launches the range), and of the ceiling."""
    metric = reference.metric
    text = partial(format_value, unit=metric.unit)

    def value(row: _Row) -> float | None:
        return bench.median_at(slot, row[1])

    def interval(row: _Row) -> str | None:
        first, *others = bench.values_at(slot, row[1])
        medians = [launch.median for launch in (first, *others)]
        ends = (min(medians), max(medians)) if others else (first.low, first.high)
        return " to ".join(text(end) for end in ends if end is not None) or None

    def share(row: _Row) -> float | None:
        return reference.of_ceiling(slot, value(row) or 0.0)

    title = f"{slot.size_text}\n{metric.label}" if slot.size_text else metric.label
    return [
        Column(title, value, metric.unit, text),
        Column("interval", interval, optional=True),
        Column("of ceiling", share, format=format_fraction, optional=True, if_any=True),
    ]


def print_importance(search: Search, final: Final) -> None:
    """Prints what each setting that helped does by itself, and in the best choice, the largest
    effect first."""

    def left_out(gain: Gain) -> float | None:
        return search.left_out(final.target, final.choice, gain.setting)

    def alone(gain: Gain) -> str:
        choices = gain.base, search.bench.space.changed(gain.base, gain.setting, gain.value)
        return verdict_between(search.bench, final.target, choices)[0].value

    def without(gain: Gain) -> str | None:
        if left_out(gain) is None:
            return None
        choices = final.choice, search.bench.space.changed(final.choice, gain.setting)
        return verdict_between(search.bench, final.target, choices)[0].value

    settings = search.bench.space.settings
    columns: list[Column[Gain]] = [
        Column("setting", lambda gain: gain.setting, left=True),
        Column("best value", lambda gain: gain.value, left=True),
        Column("alone", lambda gain: gain.ratio, format=format_ratio),
        Column("", alone, left=True),
        Column("left out of the best", left_out, format=format_ratio),
        Column("", without, left=True),
        Column("may break", lambda gain: settings[gain.setting].may_break, left=True, style="dim",
               wraps=True),
    ]  # fmt: skip
    if gains := search.gains(final.target):
        notes = [
            "alone: the ratio to the same launch without it;"
            " left out: the best without it, relative to the best"
        ]
        print_things(console(), [Table(columns, gains, "what each setting does", notes=notes)])


def print_failures(bench: Bench) -> None:
    """Prints what crashed, hung or was wrong, which is a result."""
    failed = [launch for launch in bench.launches.done if not launch.is_ok]
    columns: list[Column[Launch]] = [
        Column("setting", lambda launch: _shortened(bench.space.text(launch.choice)), left=True),
        Column("ending", lambda launch: launch.ending, left=True),
        Column("reason", lambda launch: launch.reason[:120], left=True, style="dim", wraps=True),
    ]
    if failed:
        print_things(console(), [Table(columns, failed, "what did not work")])


def print_final(bench: Bench, final: Final) -> None:
    """Prints the winner against the default, and the verdict."""
    echo("")
    if final.comparison is not None:
        comparison_of(final.comparison).print_as("table")
    echo(verdict_text(bench, final))


def verdict_text(bench: Bench, final: Final) -> str:
    """One sentence."""
    name, text = final.target.name, bench.space.text(final.choice)
    if not final.choice:
        tried, values = bench.tried
        if not tried:
            return f"{name}: none of {plural(values, 'value')} was tried: take a longer --budget"
        if final.why_busy:
            return (f"{name}: the machine was busy ({final.why_busy}): that nothing was better than"
                    " the default says little; search again when it is idle")  # fmt: skip
        better = f"nothing was better than the default, of {tried} of {plural(values, 'value')}"
        return f"{name}: {better} that were tried; leave the settings as they are"
    if min(final.launches[1:] if final.default_fails else final.launches) < FEWEST_APART:
        why = (
            f"the machine was busy ({final.why_busy})" if final.why_busy else "the budget has ended"
        )
        return (f"{name}: {why} before {text} was launched often enough to be sure:"
                " --resume goes on")  # fmt: skip
    if final.default_fails:
        return f"{name}: the default fails ({final.default_fails}); use {text}"
    measured = f"{text}: {_measured(final)}"
    none = f"{name}: nothing is recommended; the best was {measured}"
    return {
        Verdict.FASTER: f"{name}: use {measured}",
        Verdict.SAME: f"{none}: a tie with the default",
        Verdict.SLOWER: f"{none}: slower when it was measured again",
        Verdict.INCONCLUSIVE: f"{none}: inconclusive;"
        f" --launches {2 * max(final.launches)} may decide",
    }[final.verdict]


def _measured(final: Final) -> str:
    """`0.51 times the default (95% interval 0.49 to 0.52; 5 launches interleaved with 5 of it)`"""
    assert final.ratio is not None, "both sides were measured"
    counts = f"{plural(final.launches[1], 'launch')} interleaved with {final.launches[0]} of it"
    low, high = (final.interval.low, final.interval.high) if final.interval else (0.0, math.inf)
    interval = f"95% interval {low:.3g} to {high:.3g}"
    return f"{final.ratio:.3g} times the default ({interval}; {counts})"


def print_transports(bench: Bench, finals: Sequence[Final]) -> None:
    """What each transport takes: tuned where that is recommended, others as they are."""
    reference = bench.reference
    assert reference is not None, "only what was measured has a final"
    measured: list[tuple[Slot, float | None]] = []
    for final in finals:
        choice = final.choice if final.is_recommended else DEFAULT
        measured += [(slot, bench.median_at(slot, choice)) for slot in final.target.slots]
    for launch in bench.launches.others:
        measured += [(slot, value.median) for slot, value in launch.values.items()]
    by_slot: dict[Slot, dict[str, float]] = {}
    for slot, value in measured:
        if value is not None:
            by_slot.setdefault(slot._replace(transport=""), {})[slot.transport] = value
    if all(len(values) < 2 for values in by_slot.values()):
        return
    metric = reference.metric
    echo("")
    for slot, values in by_slot.items():
        best = min(values, key=lambda name: metric.ratio(values[name], 1.0))
        words = [f"{name} {format_value(value, metric.unit)}" for name, value in values.items()]
        title = ", ".join(filter(None, (slot.size_text, labelled(metric.label, metric.unit))))
        echo(f"{title}: {', '.join(words)}; the best transport is {best}")


def draw_curves(bench: Bench, finals: Sequence[Final], out: Path) -> None:
    """Draws a panel per target: default, best and worst choice over size."""
    from commlens.render.plots.ranges import Point, SettingsCurve, draw, ranges_panel

    reference = bench.reference
    assert reference is not None, "only what was measured is drawn"
    metric = labelled(reference.metric.label, reference.metric.unit)
    panels = []
    for final in finals:
        slots = sorted(final.target.slots, key=lambda slot: slot.size or 0)
        worst = next((choice for _, choice in reversed(bench.ranked(final.target))), DEFAULT)
        named = {"default": DEFAULT, f"worst: {bench.space.text(worst)}": worst}
        if final.choice:
            named[f"best: {bench.space.text(final.choice)}"] = final.choice
        curves = [curve_of(bench, label, choice, slots) for label, choice in named.items()]
        known = [(slot.size or 0, reference.ceilings.get(slot)) for slot in slots]
        ceiling = [Point(size, value, value, value) for size, value in known if value is not None]
        curves.append(SettingsCurve("ceiling", ceiling, is_ceiling=True))
        title = (
            f"{bench.runner.entry.benchmark}, {final.target.name}, {memory_name(slots[0].memory)}"
        )
        drawn = [curve for curve in curves if curve.points]
        panels.append(ranges_panel(title, metric, slots[0].in_bytes, drawn))
    draw(panels, out)


def curve_of(bench: Bench, label: str, choice: Choice, slots: Sequence[Slot]) -> SettingsCurve:
    """The medians over the launches of a choice, and their range."""
    from commlens.render.plots.ranges import Point, SettingsCurve

    points = []
    for slot in sorted(slots, key=lambda slot: slot.size or 0):
        medians = [value.median for value in bench.values_at(slot, choice)]
        if medians:
            points.append(Point(slot.size or 0, median(medians), min(medians), max(medians)))
    return SettingsCurve(label, points)


def plain(bench: Bench, final: Final) -> dict[str, Any]:
    """As programs read it, without secrets; values at each size are medians over a choice's
    launches."""
    change = bench.space.change(final.choice)
    choices = []
    for score, choice in bench.ranked(final.target):
        medians = ((slot.size, bench.median_at(slot, choice)) for slot in final.target.slots)
        figures = [{"size": size, "median": value} for size, value in medians]
        measured = {"to_default": score, "launches": len(bench.ok(choice)), "figures": figures}
        choices.append({"choice": mask_variables(choice), **measured})
    return {
        "target": final.target.name,
        "choices": choices,
        "choice": mask_variables(final.choice),
        "verdict": final.verdict,
        "recommended": final.is_recommended,
        "ratio": final.ratio,
        "ratio_low": final.interval.low if final.interval else None,
        "ratio_high": final.interval.high if final.interval else None,
        "launches": final.launches,
        "default_fails": final.default_fails,
        "environment": mask_variables(change.environment),
        "launcher_arguments": mask_words(change.launcher_arguments),
        "options": mask_variables({name: text or "" for name, text in change.options.items()}),
    }
