"""What a search has found, as tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import Any

from commlens.base.terminal import console, echo
from commlens.base.text import format_fraction, format_ratio, format_value, labelled, plural
from commlens.compare.verdicts import Verdict
from commlens.render.comparison import FORMATS
from commlens.render.show.grid import Column, Grid, Lines, print_whole
from commlens.tuning.bench import DEFAULT, Bench
from commlens.tuning.figures import Reference, Slot, Target
from commlens.tuning.finals import FEWEST, Final
from commlens.tuning.importance import Importance
from commlens.tuning.launches import Start
from commlens.tuning.space import Choice

NOTHING = "-"
_MOST_ROWS = 25
_MOST_SLOTS = 3
_LONGEST = 90  # characters of a choice in a table


def print_target(bench: Bench, target: Target) -> None:
    """The choices that were measured, the best first, and those that failed."""
    reference = bench.reference
    if reference is None:
        return
    rows = _rows(bench, target)
    shown = rows[:_MOST_ROWS]
    head = f"{target.name}: {plural(len(rows), 'choice')} of settings, {target.slots[0].where}"
    things: list[Grid | Lines] = [Lines([[], [(head, "bold")]])]
    names = [_shortened(bench.space.text(choice)) for choice, _, _ in shown]
    columns = [Column("setting", names, left=True)]
    for slot in _shown_slots(target):
        columns += _figure_columns(reference, slot, [launches for _, launches, _ in shown])
    columns.append(Column("to default", [_score(score) for _, _, score in shown]))
    columns.append(Column("launches", [str(len(launches)) for _, launches, _ in shown]))
    things.append(Grid(columns))
    notes = [f"and {len(rows) - len(shown)} more"] if len(rows) > len(shown) else []
    basis = "the default" if reference.is_default else "the first choice that worked"
    notes.append(f"to default: the ratio to {basis}, below 1 is better; over"
                 f" {plural(len(target.slots), 'size')}, by their geometric mean")  # fmt: skip
    things.append(Lines([[(f"  {note}", "dim")] for note in notes]))
    print_whole(console(), things)


def _plain_row(
    target: Target, choice: Choice, launches: Sequence[Start], score: float
) -> dict[str, Any]:
    """A choice with its figure at each size: the median of its launches' medians."""
    figures = []
    for slot in target.slots:
        own = [
            start.figures.by_slot[slot].median
            for start in launches
            if slot in start.figures.by_slot
        ]
        figures.append({"size": slot.size, "median": median(own) if own else None})
    return {
        "choice": dict(choice), "to_default": score, "launches": len(launches), "figures": figures
    }  # fmt: skip


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _rows(bench: Bench, target: Target) -> list[tuple[Choice, list[Start], float]]:
    found: dict[tuple[tuple[str, str], ...], list[Start]] = {}
    for start in bench.launches.done:
        if start.is_ok:
            found.setdefault(tuple(start.choice.items()), []).append(start)
    rows = []
    for key, launches in found.items():
        choice = dict(key)
        score = bench.score(choice, target)
        if score is not None:
            rows.append((choice, launches, score))
    return sorted(rows, key=lambda row: row[2])


def _shown_slots(target: Target) -> list[Slot]:
    """The first, the last and one between them."""
    slots = sorted(target.slots, key=lambda slot: (slot.size or 0, slot))
    if len(slots) <= _MOST_SLOTS:
        return slots
    return [slots[0], slots[len(slots) // 2], slots[-1]]


def _figure_columns(
    reference: Reference, slot: Slot, launches_of_rows: Sequence[Sequence[Start]]
) -> list[Column]:
    metric = reference.metric
    cells = [_cells(reference, slot, launches) for launches in launches_of_rows]
    figures, intervals, ceilings = (list(column) for column in zip(*cells))
    title = "\n".join(filter(None, (slot.size_text, labelled(metric.label, metric.unit))))
    columns = [Column(title, figures), Column("interval", intervals, optional=True)]
    if any(cell != NOTHING for cell in ceilings):
        columns.append(Column("of ceiling", ceilings, optional=True))
    return columns


def _cells(reference: Reference, slot: Slot, launches: Sequence[Start]) -> tuple[str, str, str]:
    """The figure, its interval (the range of several launches) and its share of the ceiling."""
    own = [start.figures.by_slot[slot] for start in launches if slot in start.figures.by_slot]
    if not own:
        return NOTHING, NOTHING, NOTHING
    values, unit = [figure.median for figure in own], reference.metric.unit
    middle = median(values)
    low, high = (own[0].low, own[0].high) if len(own) == 1 else (min(values), max(values))
    interval = NOTHING
    if low is not None and high is not None:
        interval = f"{format_value(low, unit)} to {format_value(high, unit)}"
    share = reference.of_ceiling(slot, middle)
    return (
        format_value(middle, unit),
        interval,
        NOTHING if share is None else format_fraction(share),
    )


def _score(score: float) -> str:
    return format_ratio(score)


def print_importance(found: Sequence[Importance]) -> None:
    if not found:
        return
    heads = [Lines([[], [("what each setting does", "bold")]])]
    grid = Grid(
        [
            Column("setting", [one.setting for one in found], left=True),
            Column("best value", [one.value for one in found], left=True),
            Column("alone", [format_ratio(one.alone) for one in found]),
            Column("left out of the best", [_optional(one.left_out) for one in found]),
            Column(
                "share of variance",
                [NOTHING if one.share is None else f"{100 * one.share:.0f}%" for one in found],
            ),
            Column("may break", [one.may_break for one in found], left=True, style="dim",
                   optional=True),
        ]
    )  # fmt: skip
    note = "alone: the ratio to the same start without it; left out: the best without it, relative"
    notes = Lines([[(f"  {note} to the best", "dim")]])
    print_whole(console(), [*heads, grid, notes])


def _optional(ratio: float | None) -> str:
    return NOTHING if ratio is None else format_ratio(ratio)


def print_failures(bench: Bench) -> None:
    """What crashed, hung or was wrong is a result."""
    failed = [start for start in bench.launches.done if not start.is_ok]
    if not failed:
        return
    things: list[Grid | Lines] = [Lines([[], [("what did not work", "bold")]])]
    things.append(
        Grid(
            [
                Column(
                    "setting",
                    [_shortened(bench.space.text(one.choice)) for one in failed],
                    left=True,
                ),
                Column("ending", [one.ending for one in failed], left=True),
                Column("reason", [one.reason[:120] for one in failed], left=True, style="dim"),
            ]
        )
    )
    print_whole(console(), things)


def print_final(bench: Bench, final: Final) -> None:
    echo("")
    if final.comparison is not None:
        FORMATS["table"](final.comparison)
    echo(verdict_text(bench, final))


def verdict_text(bench: Bench, final: Final) -> str:
    """One sentence."""
    name, text = final.target.name, bench.space.text(final.choice)
    if not final.choice:
        return f"{name}: nothing was better than the default; leave the settings as they are"
    if min(final.launches[1:] if final.default_fails else final.launches) < FEWEST:
        return (
            f"{name}: the budget has ended before {text} was started often enough to be sure:"
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
    """`0.51 times the default (95% interval 0.49 to 0.52; 5 launches in turns with 5 of it)`"""
    assert final.ratio is not None, "both sides were measured"
    counts = f"{plural(final.launches[1], 'launch')} in turns with {final.launches[0]} of it"
    low, high = (final.interval.low, final.interval.high) if final.interval else (0.0, math.inf)
    interval = f"95% interval {low:.3g} to {high:.3g}"
    return f"{final.ratio:.3g} times the default ({interval}; {counts})"


def print_transports(bench: Bench, finals: Sequence[Final], others: Sequence[Start]) -> None:
    """What each transport takes: tuned where that is recommended, others as they are."""
    reference = bench.reference
    found: dict[Slot, dict[str, float]] = {}
    for final in finals:
        launches = bench.launches.find(final.choice if final.is_recommended else DEFAULT)
        _add_figures(found, launches, final.target.slots)
    _add_figures(found, others, [slot for start in others for slot in start.figures.by_slot])
    if reference is None or all(len(values) < 2 for values in found.values()):
        return
    metric = reference.metric
    echo("")
    for place, values in found.items():
        best = min(values, key=lambda name: metric.ratio(values[name], 1.0))
        words = [f"{name} {format_value(value, metric.unit)}" for name, value in values.items()]
        title = ", ".join(filter(None, (place.size_text, labelled(metric.label, metric.unit))))
        echo(f"{title}: {', '.join(words)}; the best transport is {best}")


def _add_figures(
    found: dict[Slot, dict[str, float]], launches: Sequence[Start], slots: Sequence[Slot]
) -> None:
    for slot in dict.fromkeys(slots):
        own = [one.figures.by_slot[slot].median for one in launches if slot in one.figures.by_slot]
        if own:
            found.setdefault(slot._replace(transport=""), {})[slot.transport] = median(own)


def plain(bench: Bench, final: Final, change: Any) -> dict[str, Any]:
    """As programs read it."""
    return {
        "target": final.target.name,
        "choices": [_plain_row(final.target, *row) for row in _rows(bench, final.target)],
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
