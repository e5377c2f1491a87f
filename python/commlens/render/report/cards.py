"""A card for each benchmark: a section for each of its groups, with tables as `show` has them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from commlens.base.text import labelled, plural
from commlens.model import Group, Record, groups, over_launches
from commlens.model.scaling import scalings
from commlens.render.show.details import report_lines
from commlens.render.show.scaling import scaling_tables
from commlens.render.show.tables import group_tables, title
from commlens.render.table import Line, Lines, Table, Thing

_MOST_SECTIONS = 120
_MOST_RECORDS = 500  # of a section
_WIDE = 10_000  # characters: no column is left out
_WORDS = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class Section:
    """One group of records."""

    name: str  # the id of its element
    group: Group
    things: Sequence[Thing]
    words: Sequence[Line]  # what an application would print of them
    left_out: str = ""  # a sentence

    @cached_property
    def title(self) -> str:
        """The heading of the group, as `show` prints it."""
        return title(self.group)

    @property
    def first(self) -> int:
        """The number of things up to the main table, which stand beside the picture."""
        tables = [number for number, thing in enumerate(self.things, 1) if isinstance(thing, Table)]
        return tables[0] if tables else len(self.things)


@dataclass(frozen=True)
class Card:
    """A benchmark with its groups."""

    benchmark: str
    name: str  # the id of its element
    sections: Sequence[Section]
    scaling: Sequence[Thing] = field(default_factory=list)  # over several groups

    @property
    def description(self) -> str:
        """What the benchmark does, in its words."""
        return self.sections[0].group.launches[0].benchmark.description

    @property
    def records(self) -> list[Record]:
        """The records of all sections."""
        return [record for section in self.sections for record in section.group.records]

    @cached_property
    def definitions(self) -> dict[str, str]:
        """What the names of its metrics and facts mean, in the benchmark's words."""
        meanings: dict[str, str] = {}
        for start in (launch for section in self.sections for launch in section.group.launches):
            for metric in start.metrics.values():
                name = labelled(metric.label, metric.unit)
                meanings[name] = f"{metric.definition} ({metric.better} is better)"
            for fact in start.facts.values():
                meanings[fact.label] = fact.definition
        return {name: text for name, text in meanings.items() if text}

    @cached_property
    def ceilings(self) -> dict[str, str]:
        """How each was measured; of one that differs by size, how it was the first time."""
        methods: dict[str, str] = {}
        for record in self.records:
            for ceiling in record.ceilings:
                part = f"{ceiling.part}: " if ceiling.part else ""
                methods.setdefault(f"{part}{ceiling.name}", ceiling.method)
        return methods


def cards(records: Sequence[Record]) -> tuple[list[Card], list[str]]:
    """In the order in which benchmarks are met, and what was left out, in sentences."""
    all_groups = groups(over_launches(records))
    by_name: dict[str, list[Group]] = {}
    for group in all_groups[:_MOST_SECTIONS]:
        by_name.setdefault(group.benchmark, []).append(group)
    printed: set[tuple[str, str]] = set()
    result = [_card(number, *entry, printed) for number, entry in enumerate(by_name.items(), 1)]
    left_out = f"shown are the first {_MOST_SECTIONS} of {len(all_groups):,} groups of records"
    return result, [left_out] if len(all_groups) > _MOST_SECTIONS else []


def _card(number: int, name: str, groups: Sequence[Group], printed: set[tuple[str, str]]) -> Card:
    words = _WORDS.sub("-", name.lower())[:40].strip("-")
    card_id = f"benchmark-{number}-{words}".rstrip("-")
    numbered = enumerate(groups, start=1)
    sections = [_section(f"{card_id}-{place}", group, printed) for place, group in numbered]
    scaling = [thing for problem in scalings(groups) for thing in _shown(scaling_tables(problem))]
    return Card(name, card_id, sections, scaling)


def _section(name: str, group: Group, printed: set[tuple[str, str]]) -> Section:
    shown, left_out = group, ""
    if len(group.records) > _MOST_RECORDS:
        shown = Group(group.records[:_MOST_RECORDS], group.is_sweep)
        rows = plural(len(group.records), "record")
        left_out = f"The first {_MOST_RECORDS} of {rows} are shown; all are in the raw records."
    words = report_lines(shown.records, printed)  # and thereby not among the tables
    tables = islice(group_tables(shown, _WIDE, printed), 1, None)  # the first is the title
    return Section(name, group, list(_shown(tables)), words, left_out)


def _shown(things: Iterable[Thing]) -> Iterator[Thing]:
    """Without empty lines around others, and without lines that are all empty."""
    for thing in things:
        if isinstance(thing, Table):
            yield thing
            continue
        texts = ["".join(text for text, _ in line).strip() for line in thing.lines]
        full = [number for number, text in enumerate(texts) if text]
        if full:
            yield Lines(thing.lines[full[0] : full[-1] + 1])
