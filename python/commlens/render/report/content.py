"""What a report says, in the order in which it says it: the same for a page and for Markdown."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import NamedTuple

from commlens.base.text import format_days, plural
from commlens.compare.history.trends import Trend
from commlens.findings import SEVERITIES, Finding, findings, worst_first
from commlens.model import Start, launches_of
from commlens.model.profile import Profile
from commlens.model.reading import Loaded, Tell
from commlens.model.reroute import Reroute
from commlens.render.doctor import Examined
from commlens.render.report.cards import Card, cards
from commlens.render.report.machine import HostGroup, machines
from commlens.render.table import Column, Table

MOST_RECORDS = 100_000  # that are looked at: half a gigabyte of memory
_MOST_FINDINGS = 200
_MANY_RECORDS = 10_000
_MOST_NAMES = 3
_MOST_PROFILES = 20  # and as many rerouted programs
_MOST_LAUNCHES = 200


class Link(NamedTuple):
    """A place in the page."""

    target: str  # the id of an element of the page
    text: str


class ReportedFinding(NamedTuple):
    """A finding, and where its evidence stands in the report."""

    finding: Finding
    links: Sequence[Link]


@dataclass(frozen=True)
class Report:
    """`sources` are the files by their names, each of them once."""

    sources: Sequence[tuple[str, Loaded]]
    loaded: Loaded  # all of them
    examined: Examined
    profiles: Sequence[Profile]  # those that are shown
    reroutes: Sequence[Reroute]
    conclusions: Sequence[Sequence[ReportedFinding]]  # of one code and fix, the worst first
    machines: Sequence[HostGroup]
    cards: Sequence[Card]
    launches: Table[Start]
    left_out: Sequence[str] = field(default_factory=list)  # a sentence each
    history: Table[Trend] | None = None  # of the benchmarks that it has

    @property
    def title(self) -> str:
        """`2 NVIDIA H200 on vm, Open MPI 5.0.7`"""
        if not self.machines:
            hosts = [document.hosts for document in self.examined.documents]
            programs = "Profiles" if self.profiles else "Rerouted programs"
            is_of_programs = self.profiles or self.reroutes
            return programs if is_of_programs else hosts[0] if hosts else "No records"
        titles = [machine.title for machine in self.machines]
        others = len(titles) - 1
        if not others:
            return titles[0]
        alike = len(set(titles)) == 1
        more = f"{len(titles)} machines alike" if alike else f"and {plural(others, 'more machine')}"
        return f"{titles[0]}, {more}"

    @property
    def days(self) -> str:
        """`2026-11-21 to 2026-11-22`"""
        times = [start.time for _, loaded in self.sources for start in loaded.launches]
        runs = (run.time for runs in (self.profiles, self.reroutes) for run in runs)
        return format_days([*times, *runs])

    @property
    def counts(self) -> list[tuple[str, str, str]]:
        """Of what is in it: how many, of what, and what is to say of them."""
        severities = [entry.finding.severity for entries in self.conclusions for entry in entries]
        worst = (plural(severities.count(name), name) for name in SEVERITIES if name in severities)
        names = [card.benchmark for card in self.cards]
        more = [f"{len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else []
        launches = sum(len(machine.launches) for machine in self.machines)
        count = len(self.loaded.records) + self.loaded.dropped
        return [
            _count(len(severities), "finding", ", ".join(worst)),
            _count(len(names), "benchmark", ", ".join([*names[:_MOST_NAMES], *more])),
            _count(count, "record", self._states),
            _count(len(self.machines), "machine", plural(launches, "launch")),
        ]

    @property
    def _states(self) -> str:
        states = [record.status for record in self.loaded.records]
        unusual = (state for state in ("failed", "skipped") if state in states)
        words = [f"{states.count(state):,} {state}" for state in unusual] or ["all passed"]
        if self.loaded.dropped:
            words.append(f"{len(states):,} looked at")
        return ", ".join(words) if states else ""


def _count(number: int, noun: str, words: str) -> tuple[str, str, str]:
    count, name = plural(number, noun).split(" ")
    return f"{int(count):,}", name, words


def build(
    sources: Sequence[tuple[str, Loaded]],
    examined: Examined | None = None,
    tell: Tell = lambda _: None,
) -> Report:
    """`examined` is what doctor wrote; `tell` is told what is done now."""
    examined = examined or Examined()
    loaded = Loaded(problems=list(examined.problems))
    for _, source in sources:
        loaded.extend(source)
    count = len(loaded.records)
    if count > _MANY_RECORDS:
        tell(f"looking at {count:,} records")
    all_cards, left_out = cards(loaded.records)
    if loaded.dropped:
        text = f"looked at are {count:,} of {count + loaded.dropped:,} records, the first in the"
        left_out.append(f"{text} files and those that failed: name fewer files")
    listed = findings(loaded.records, loaded.profiles)
    # What doctor found in records that are here too is said once.
    said = {(finding.code, finding.sentence) for finding in listed}
    others = (entry.finding for document in examined.documents for entry in document.findings)
    new = {(finding.code, finding.sentence): finding for finding in others}
    listed = sorted([*listed, *(new[key] for key in new if key not in said)], key=worst_first)
    profiles = loaded.profiles[:_MOST_PROFILES]
    # Of launches in several files each once, those without records too.
    all_launches = list({(start.start, start.time): start for start in loaded.launches}.values())
    for kind, shown, there in (
        ("findings", _MOST_FINDINGS, len(listed)),
        ("profiles", _MOST_PROFILES, len(loaded.profiles)),
        ("rerouted programs", _MOST_PROFILES, len(loaded.reroutes)),
        ("launches", _MOST_LAUNCHES, len(all_launches)),
    ):
        if there > shown:
            left_out.append(f"shown are the first {shown} of {there:,} {kind}")
    by_time = sorted(all_launches, key=lambda start: start.time)
    host_groups, unseen = machines(all_launches, loaded.records)
    return Report(
        sources=_named_once(sources),
        loaded=loaded,
        examined=examined,
        profiles=profiles,
        reroutes=loaded.reroutes[:_MOST_PROFILES],
        conclusions=_conclusions(listed[:_MOST_FINDINGS], all_cards, profiles),
        machines=host_groups,
        cards=all_cards,
        launches=Table(_LAUNCHES, by_time[:_MOST_LAUNCHES]),
        left_out=[*left_out, *unseen],
    )


def _settings(start: Start) -> str:
    """The variables that change how bytes travel, as they stand before the command."""
    settings = start.settings_of_transport.items()
    return " ".join(f"{name}={shlex.quote(value)}" for name, value in settings)


_LAUNCHES: tuple[Column[Start], ...] = (
    Column("time", lambda start: start.time, left=True),
    Column("benchmark", lambda start: start.benchmark.name, left=True),
    Column("ranks", lambda start: start.ranks, format="{:,}".format),
    Column("settings", _settings, left=True),
    Column("command of each rank", lambda start: shlex.join(start.command), left=True),
)


def _named_once(sources: Sequence[tuple[str, Loaded]]) -> list[tuple[str, Loaded]]:
    """Files of two folders may have one name: the second is `name-2.jsonl`."""
    named: dict[str, Loaded] = {}
    numbers: Counter[str] = Counter()
    for name, loaded in sources:
        path, free = PurePath(name), name
        while free in named:
            numbers[name] += 1
            free = f"{path.stem}-{numbers[name] + 1}{path.suffix}"
        named[free] = loaded
    return list(named.items())


def _conclusions(
    listed: Sequence[Finding], all_cards: Sequence[Card], profiles: Sequence[Profile]
) -> list[list[ReportedFinding]]:
    sections = {
        id(record): link
        for card in all_cards
        for section in card.sections
        for link in (Link(section.name, f"{card.benchmark}: {section.title}"),)
        for merged in section.group.records
        for record in launches_of(merged)
    }
    numbered = enumerate(profiles)
    pages = {id(profile): Link(profile_id(number), "profile") for number, profile in numbered}
    by_kind: dict[tuple[str, str], list[ReportedFinding]] = {}
    for finding in listed:
        evidence = finding.evidence
        links = [sections[id(record)] for record in evidence.records if id(record) in sections]
        if id(evidence.profile) in pages:
            links.append(pages[id(evidence.profile)])
        shown = ReportedFinding(finding, list(dict.fromkeys(links))[:_MOST_NAMES])
        by_kind.setdefault((finding.code, finding.fix), []).append(shown)
    return list(by_kind.values())


def profile_id(number: int) -> str:
    """The id of the element of a profile."""
    return f"profile-{number + 1}"
