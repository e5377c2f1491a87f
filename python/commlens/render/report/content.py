"""What a report says, in the order in which it says it: the same for a page and for Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from commlens.base.text import format_days, plural
from commlens.findings import SEVERITIES, Finding, findings, worst_first
from commlens.model import Loaded, Record, Start, Tell, launches_of
from commlens.model.profile import Profile
from commlens.render.report.cards import Card, cards
from commlens.render.report.examined import Examined
from commlens.render.report.launches import launches_table
from commlens.render.report.machine import HostGroup, machines
from commlens.render.table import Table

MOST_RECORDS = 100_000  # that are looked at: half a gigabyte of memory
_MOST_FINDINGS = 200
_MANY_RECORDS = 10_000
_MOST_NAMES = 3
_MOST_PROFILES = 20


@dataclass(frozen=True)
class Link:
    """A place in the page."""

    target: str  # the id of an element of the page
    text: str


@dataclass(frozen=True)
class ReportedFinding:
    """A finding, and where its evidence stands in the report."""

    finding: Finding
    links: Sequence[Link]


@dataclass(frozen=True)
class Conclusion:
    """The findings of one code and fix, the worst first."""

    observations: Sequence[ReportedFinding]

    @property
    def finding(self) -> Finding:
        """The worst."""
        return self.observations[0].finding


@dataclass(frozen=True)
class Report:
    """`sources` are the files by their names, each of them once."""

    sources: Sequence[tuple[str, Loaded]]
    loaded: Loaded  # all of them
    examined: Examined
    profiles: Sequence[Profile]  # those that are shown
    conclusions: Sequence[Conclusion]
    machines: Sequence[HostGroup]
    cards: Sequence[Card]
    launches: Table[Start]
    left_out: Sequence[str] = field(default_factory=list)  # a sentence each

    @property
    def records(self) -> Sequence[Record]:
        """All records that are looked at."""
        return self.loaded.records

    @property
    def problems(self) -> Sequence[str]:
        """What could not be read, in sentences."""
        return self.loaded.problems

    @property
    def title(self) -> str:
        """`2 NVIDIA H200 on vm, Open MPI 5.0.7`"""
        if not self.machines:
            hosts = [document.hosts for document in self.examined.documents]
            return "Profiles" if self.profiles else hosts[0] if hosts else "No records"
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
        times = [start.time for _, one in self.sources for start in one.launches]
        return format_days([*times, *(own.time for own in self.profiles)])

    @property
    def counts(self) -> list[tuple[str, str, str]]:
        """Of what is in it: how many, of what, and what is to say of them."""
        return [
            _count(len(self._findings), "finding", self._severities),
            _count(len(self.cards), "benchmark", self._benchmarks),
            _count(len(self.records) + self.loaded.dropped, "record", self._states),
            _count(len(self.machines), "machine", self._machines),
        ]

    @property
    def _findings(self) -> list[Finding]:
        return [one.finding for own in self.conclusions for one in own.observations]

    @property
    def _severities(self) -> str:
        own = [finding.severity for finding in self._findings]
        counts = ((severity, own.count(severity)) for severity in SEVERITIES)
        return ", ".join(plural(count, severity) for severity, count in counts if count)

    @property
    def _benchmarks(self) -> str:
        names = [card.benchmark for card in self.cards]
        more = [f"{len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else []
        return ", ".join([*names[:_MOST_NAMES], *more])

    @property
    def _states(self) -> str:
        states = [record.status for record in self.records]
        words = (f"{states.count(state):,} {state}" for state in ("failed", "skipped"))
        found = [word for word in words if not word.startswith("0 ")] or ["all passed"]
        if self.loaded.dropped:
            found.append(f"{len(states):,} looked at")
        return ", ".join(found) if states else ""

    @property
    def _machines(self) -> str:
        count = sum(len(one.launches) for one in self.machines)
        return plural(count, "launch")


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
    for _, one in sources:
        loaded.extend(one)
    count = len(loaded.records)
    if count > _MANY_RECORDS:
        tell(f"looking at {count:,} records")
    own_cards, left_out = cards(loaded.records)
    if loaded.dropped:
        text = f"looked at are {count:,} of {count + loaded.dropped:,} records, the first in the"
        left_out.append(f"{text} files and those that failed: name fewer files")
    found = _with_those_of_doctor(findings(loaded.records, loaded.profiles), examined)
    profiles = loaded.profiles[:_MOST_PROFILES]
    for what, shown, there in (
        ("findings", _MOST_FINDINGS, len(found)),
        ("profiles", _MOST_PROFILES, len(loaded.profiles)),
    ):
        if there > shown:
            left_out.append(f"shown are the first {shown} of {there:,} {what}")
    all_launches = _with_records(loaded)
    table, more = launches_table(all_launches)
    own_machines, unseen = machines(all_launches, loaded.records)
    return Report(
        sources=_named_once(sources),
        loaded=loaded,
        examined=examined,
        profiles=profiles,
        conclusions=_conclusions(found[:_MOST_FINDINGS], own_cards, profiles),
        machines=own_machines,
        cards=own_cards,
        launches=table,
        left_out=[*left_out, *more, *unseen],
    )


def _with_those_of_doctor(own: Sequence[Finding], examined: Examined) -> list[Finding]:
    """The worst first. What doctor found in records that are here too is said once."""
    said = {(one.code, one.sentence) for one in own}
    others = (one for document in examined.documents for one in document.found)
    new = {(one.code, one.sentence): one for one in others}
    return sorted([*own, *(new[one] for one in new if one not in said)], key=worst_first)


def _with_records(loaded: Loaded) -> list[Start]:
    """Starts in files, each once, those without records too."""
    return list({(start.start, start.time): start for start in loaded.launches}.values())


def _named_once(sources: Sequence[tuple[str, Loaded]]) -> list[tuple[str, Loaded]]:
    """Files of two folders may have one name: the second is `name-2.jsonl`."""
    taken: set[str] = set()
    numbers: dict[str, int] = {}
    found = []
    for name, loaded in sources:
        stem, dot, ending = name.rpartition(".")
        free = name
        while free in taken:
            numbers[name] = number = numbers.get(name, 1) + 1
            free = f"{stem}-{number}{dot}{ending}" if dot else f"{name}-{number}"
        taken.add(free)
        found.append((free, loaded))
    return found


def _conclusions(
    found: Sequence[Finding], own_cards: Sequence[Card], profiles: Sequence[Profile]
) -> list[Conclusion]:
    sections = {
        id(record): (card, section)
        for card in own_cards
        for section in card.sections
        for merged in section.group.records
        for record in launches_of(merged)
    }
    pages = {id(own): Link(profile_id(number), "profile") for number, own in enumerate(profiles)}
    by_kind: dict[tuple[str, str], list[ReportedFinding]] = {}
    for finding in found:
        evidence = finding.evidence
        places = (sections[id(one)] for one in evidence.records if id(one) in sections)
        links = [Link(own.name, f"{card.benchmark}: {own.title}") for card, own in places]
        if id(evidence.profile) in pages:
            links.append(pages[id(evidence.profile)])
        shown = ReportedFinding(finding, list(dict.fromkeys(links))[:_MOST_NAMES])
        by_kind.setdefault((finding.code, finding.fix), []).append(shown)
    return [Conclusion(own) for own in by_kind.values()]


def profile_id(number: int) -> str:
    """The id of the element of a profile."""
    return f"profile-{number + 1}"
