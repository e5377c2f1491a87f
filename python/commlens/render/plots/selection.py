"""What of many records a picture can show: a page that somebody can look at, two screens high."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from commlens.base.text import format_count, plural
from commlens.model import Group, Record, groups

MAX_HEIGHT_INCHES = 20.0  # two screens
_MOST_GROUPS = 60  # are tried
_MOST_SERIES = 16
_MOST_SIZES = 500
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
    drawable = [record for record in measured if _main(record) > _ZERO]
    if count := len(measured) - len(drawable):
        left_out.append(f"left out {plural(count, 'record')} with a metric of 0")
    found = groups(drawable)
    chosen = _fitting(found, height)
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


def _main(record: Record) -> float:
    return record.statistics[record.main.name].median if record.main else 0.0


def _fitting(found: Sequence[Group], height: Callable[[Sequence[Group]], float]) -> list[Group]:
    """The first groups whose picture is not too high."""
    chosen = list(found[:_MOST_GROUPS])
    while len(chosen) > 1 and height(chosen) > MAX_HEIGHT_INCHES:
        del chosen[-1]
    return chosen


def _of_group(group: Group) -> tuple[list[Record], list[str]]:
    left_out = []
    series = list(dict.fromkeys(map(_series(group), group.records)))
    kept = set(series[:_MOST_SERIES])
    if len(series) > len(kept):
        left_out.append(f"{group.benchmark}: {_first(len(kept), len(series), 'lines or bars')}")
    step = max(1, -(-len(group.sizes) // _MOST_SIZES))
    sizes = {None, *group.sizes[::step], *group.sizes[-1:]}
    if step > 1:
        left_out.append(
            f"{group.benchmark}: drawn at every {step}th of {format_count(len(group.sizes))} sizes"
        )
    place = _series(group)
    own = [one for one in group.records if place(one) in kept and one.size in sizes]
    return own, left_out


def _series(group: Group) -> Callable[[Record], tuple[object, ...]]:
    return lambda record: (group.series_number(record), record.transport, record.memory)


def _first(count: int, of_all: int, what: str) -> str:
    return f"drawn are the first {count} of {format_count(of_all)} {what}"
