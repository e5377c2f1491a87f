"""Which line a record belongs to, where one panel shows records of several cases: what they differ in but for size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from commlens.plot.style import Series, series_order
from commlens.records import Record, option_text
from commlens.text import plural

# Parameters that say how large a problem is.
_SIZES = ("edge", "elements")

Lines = Mapping[Series, Sequence[Record]]


def lines(records: Sequence[Record]) -> Lines:
    """The records of one benchmark by line, in the order in which lines are always shown."""
    described = [_description(record) for record in records]
    names = dict.fromkeys(name for description in described for name in description)
    differing = [name for name in names if len({description.get(name) for description in described}) > 1]
    has_memories = len({record.memory for record in records}) > 1
    labels = [", ".join(one[name] for name in differing if one.get(name)) for one in described]
    numbers = list(dict.fromkeys(labels))
    found: dict[Series, list[Record]] = {}
    for record, label in zip(records, labels, strict=True):
        memory = record.memory if has_memories else ""
        found.setdefault(Series(record.transport, memory, label, numbers.index(label)), []).append(record)
    return {series: found[series] for series in sorted(found, key=series_order)}


def by_benchmark(records: Sequence[Record]) -> list[Lines]:
    """The lines of each benchmark's records, in the order in which the benchmarks are first met."""
    names = dict.fromkeys(record.benchmark for record in records)
    return [lines([record for record in records if record.benchmark == name]) for name in names]


def first_of(own: Lines) -> Record:
    return next(iter(own.values()))[0]


def _description(record: Record) -> dict[str, str]:
    """What may set a record apart, each as a legend is to say it: `trilinear`, `order 7`, `8 ranks`, `A GPU`."""
    words = {"ranks": plural(record.ranks, "rank"), "machine": record.gpu or record.host}
    for name, value in record.parameters.items():
        if name not in _SIZES:
            is_word = isinstance(value, str)
            words[f"parameter {name}"] = value if is_word else f"{name.replace('_', '-')} {option_text(value)}"
    return words | {name: f"{name}={value}" for name, value in record.settings.items()}
