"""What a search found, as tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from statistics import median
from typing import Any, NamedTuple

from commlens.base.terminal import console, echo
from commlens.base.text import format_fraction, format_ratio, format_value, labelled, plural
from commlens.compare.verdicts import Verdict
from commlens.model.comparison import FEWEST_APART
from commlens.render.comparison import comparison_of
from commlens.render.table import Column, Table
from commlens.render.terminal import print_things
from commlens.tuning.bench import DEFAULT, Bench
from commlens.tuning.finals import Final
from commlens.tuning.launches import Launch
from commlens.tuning.scores import Reference, Slot, SlotValue, Target
from commlens.tuning.search import Importance
from commlens.tuning.space import Choice

_MOST_ROWS = 25
_MOST_SLOTS = 3
_LONGEST = 90  # characters of a choice in a table


def print_target(bench: Bench, target: Target) -> None:
    """Prints the choices that were measured, the best first."""
    reference = bench.reference
    if reference is None:
        return
    rows = _rows(bench, target)
    shown = rows[:_MOST_ROWS]
    notes = [f"and {len(rows) - len(shown)} more"] if len(rows) > len(shown) else []
    basis = "the default" if reference.is_default else "the first choice that worked"
    notes.append(f"to default: the ratio to {basis}, below 1 is better; over"
                 f" {plural(len(target.slots), 'size')}, by their geometric mean")  # fmt: skip
    columns: list[Column[_Row]] = [
        Column("setting", lambda row: _shortened(bench.space.text(row.choice)), left=True),
        *(one for slot in _shown_slots(target) for one in _slot_columns(reference, slot)),
        Column("to default", lambda row: row.score, format=format_ratio),
        Column("launches", lambda row: len(row.launches)),
    ]
    title = f"{target.name}: {plural(len(rows), 'choice')} of settings"
    table = Table(columns, shown, title=title, subtitle=target.slots[0].where, notes=notes)
    table.fitted(console().width)
    print_things(console(), [table])


class _Row(NamedTuple):
    """A choice of settings, and how it compares with the default."""

    choice: Choice
    launches: list[Launch]
    score: float


def _plain_row(target: Target, row: _Row) -> dict[str, Any]:
    """A choice with its value at each size: the median of its launches' medians."""
    values = []
    for slot in target.slots:
        own = [one.median for one in _values_at(slot, row.launches)]
        values.append({"size": slot.size, "median": median(own) if own else None})
    return {
        "choice": dict(row.choice),
        "to_default": row.score,
        "launches": len(row.launches),
        "figures": values,
    }


def _values_at(slot: Slot, launches: Sequence[Launch]) -> list[SlotValue]:
    return [one.values.by_slot[slot] for one in launches if slot in one.values.by_slot]


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _rows(bench: Bench, target: Target) -> list[_Row]:
    found: dict[tuple[tuple[str, str], ...], list[Launch]] = {}
    for launch in bench.launches.done:
        if launch.is_ok:
            found.setdefault(tuple(launch.choice.items()), []).append(launch)
    rows = []
    for key, launches in found.items():
        score = bench.score(dict(key), target)
        if score is not None:
            rows.append(_Row(dict(key), launches, score))
    return sorted(rows, key=lambda row: row.score)


def _shown_slots(target: Target) -> list[Slot]:
    """The first, the last and one between them."""
    slots = sorted(target.slots, key=lambda slot: (slot.size or 0, slot))
    if len(slots) <= _MOST_SLOTS:
        return slots
    return [slots[0], slots[len(slots) // 2], slots[-1]]


def _slot_columns(reference: Reference, slot: Slot) -> list[Column[_Row]]:
    """At one size the value, its interval (of several launches the range), and of the ceiling."""
    metric = reference.metric
    text = partial(format_value, unit=metric.unit)

    def value(row: _Row) -> float | None:
        own = _values_at(slot, row.launches)
        return median(one.median for one in own) if own else None

    def interval(row: _Row) -> str | None:
        own = _values_at(slot, row.launches)
        medians = sorted(one.median for one in own)
        ends = [own[0].low, own[0].high] if len(own) == 1 else [*medians[:1], *medians[-1:]]
        return " to ".join(text(end) for end in ends if end is not None) or None

    def share(row: _Row) -> float | None:
        own = value(row)
        return None if own is None else reference.of_ceiling(slot, own)

    title = f"{slot.size_text}\n{metric.label}" if slot.size_text else metric.label
    return [
        Column(title, value, metric.unit, text),
        Column("interval", interval, optional=True),
        Column("of ceiling", share, format=format_fraction, optional=True, if_any=True),
    ]


_IMPORTANCE: tuple[Column[Importance], ...] = (
    Column("setting", lambda one: one.setting, left=True),
    Column("best value", lambda one: one.value, left=True),
    Column("alone", lambda one: one.alone, format=format_ratio),
    Column("left out of the best", lambda one: one.left_out, format=format_ratio),
    Column("may break", lambda one: one.may_break, left=True, style="dim", wraps=True),
)


def print_importance(found: Sequence[Importance]) -> None:
    """Prints what each setting does by itself, and in the best choice."""
    if found:
        notes = [
            "alone: the ratio to the same launch without it;"
            " left out: the best without it, relative to the best"
        ]
        print_things(console(), [Table(_IMPORTANCE, found, "what each setting does", notes=notes)])


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
        return f"{name}: nothing was better than the default; leave the settings as they are"
    if min(final.launches[1:] if final.default_fails else final.launches) < FEWEST_APART:
        return (
            f"{name}: the budget has ended before {text} was launched often enough to be sure:"
            " --resume goes on"
        )
    if final.default_fails:
        return f"{name}: the default fails ({final.default_fails}); use {text}"
    measured = f"{text}: {_measured(final)}"
    if final.verdict is Verdict.FASTER:
        return f"{name}: use {measured}"
    why = {
        Verdict.SAME: "a tie with the default",
        Verdict.SLOWER: "slower when it was measured again",
        Verdict.INCONCLUSIVE: f"inconclusive; --launches {2 * max(final.launches)} may decide",
    }[final.verdict]
    return f"{name}: nothing is recommended; the best was {measured}: {why}"


def _measured(final: Final) -> str:
    """`0.51 times the default (95% interval 0.49 to 0.52; 5 launches interleaved with 5 of it)`"""
    assert final.ratio is not None, "both sides were measured"
    counts = f"{plural(final.launches[1], 'launch')} interleaved with {final.launches[0]} of it"
    low, high = (final.interval.low, final.interval.high) if final.interval else (0.0, math.inf)
    interval = f"95% interval {low:.3g} to {high:.3g}"
    return f"{final.ratio:.3g} times the default ({interval}; {counts})"


def print_transports(bench: Bench, finals: Sequence[Final], others: Sequence[Launch]) -> None:
    """What each transport takes: tuned where that is recommended, others as they are."""
    reference = bench.reference
    found: dict[Slot, dict[str, float]] = {}
    for final in finals:
        launches = bench.launches.find(final.choice if final.is_recommended else DEFAULT)
        _add_values(found, launches, final.target.slots)
    _add_values(found, others, [slot for launch in others for slot in launch.values.by_slot])
    if reference is None or all(len(values) < 2 for values in found.values()):
        return
    metric = reference.metric
    echo("")
    for place, values in found.items():
        best = min(values, key=lambda name: metric.ratio(values[name], 1.0))
        words = [f"{name} {format_value(value, metric.unit)}" for name, value in values.items()]
        title = ", ".join(filter(None, (place.size_text, labelled(metric.label, metric.unit))))
        echo(f"{title}: {', '.join(words)}; the best transport is {best}")


def _add_values(
    found: dict[Slot, dict[str, float]], launches: Sequence[Launch], slots: Sequence[Slot]
) -> None:
    for slot in dict.fromkeys(slots):
        own = [one.values.by_slot[slot].median for one in launches if slot in one.values.by_slot]
        if own:
            found.setdefault(slot._replace(transport=""), {})[slot.transport] = median(own)


def plain(bench: Bench, final: Final, change: Any) -> dict[str, Any]:
    """As programs read it."""
    return {
        "target": final.target.name,
        "choices": [_plain_row(final.target, row) for row in _rows(bench, final.target)],
        "choice": dict(final.choice),
        "verdict": final.verdict.value,
        "recommended": final.is_recommended,
        "ratio": final.ratio,
        "ratio_low": final.interval.low if final.interval else None,
        "ratio_high": final.interval.high if final.interval else None,
        "launches": list(final.launches),
        "default_fails": final.default_fails,
        "environment": dict(change.environment),
        "launcher_arguments": list(change.launcher_arguments),
        "options": dict(change.options),
    }
