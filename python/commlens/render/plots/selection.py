"""What of many records a picture can show: a page that somebody can look at, two screens high."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from commlens.base.text import format_count, plural
from commlens.model import Group, Record, groups

MAX_HEIGHT_INCHES = 20.0  # two screens
_MOST_GROUPS = 60  # are tried
_MOST_SERIES = 16
_MOST_SIZES = 500
_Item = TypeVar("_Item")
_ZERO = 1e-30  # and less is nothing that was measured


def select(
    records: Sequence[Record], height: Callable[[Sequence[Group]], float]
) -> tuple[list[Record], list[str]]:
    """The records to draw, and what was left out, in sentences.

    `height` is that of a picture of some groups, in inches.
    """
    left_out = []
    measured = [record for record in records if record.measured]
    if count := len(records) - len(measured):
        lines = plural(count, "record")
        left_out.append(f"left out {lines}, failed or skipped; `commlens show` has the reasons")
    drawable = [
        one for one in measured if one.main and one.statistics[one.main.name].median > _ZERO
    ]
    if count := len(measured) - len(drawable):
        left_out.append(f"left out {plural(count, 'record')} with a metric of 0")
    found = groups(drawable)
    chosen = fitting(found[:_MOST_GROUPS], height)
    if count := len(found) - len(chosen):
        left_out.append(
            f"two screens hold {len(chosen)} of {format_count(len(found))} groups of records; name"
            " fewer files, or choose lines as docs/records.md shows"
        )
    kept: set[Record] = set()
    for group in chosen:
        own, sentences = _of_group(group)
        kept.update(own)
        left_out += sentences
    return [record for record in records if record in kept], left_out


def fitting(found: Sequence[_Item], height: Callable[[Sequence[_Item]], float]) -> list[_Item]:
    """The first ones whose picture is not too high, at least one."""
    chosen = list(found)
    while len(chosen) > 1 and height(chosen) > MAX_HEIGHT_INCHES:
        del chosen[-1]
    return chosen


def _of_group(group: Group) -> tuple[list[Record], list[str]]:
    left_out = []

    def series(record: Record) -> tuple[object, ...]:
        return group.series_number(record), record.transport, record.memory

    found = list(dict.fromkeys(map(series, group.records)))
    kept = found[:_MOST_SERIES]
    if len(found) > len(kept):
        left_out.append(
            f"{group.benchmark}: drawn are the first {len(kept)} of {format_count(len(found))}"
            " lines or bars"
        )
    step = max(1, -(-len(group.sizes) // _MOST_SIZES))
    sizes = {None, *group.sizes[::step], *group.sizes[-1:]}
    if step > 1:
        left_out.append(
            f"{group.benchmark}: drawn at every {step}th of {format_count(len(group.sizes))} sizes"
        )
    own = [one for one in group.records if series(one) in kept and one.size in sizes]
    return own, left_out
