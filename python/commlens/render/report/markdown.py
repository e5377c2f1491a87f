"""A report as Markdown, for a ticket or a pull request: what the page says, without pictures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from commlens.findings import Finding
from commlens.render.markdown import escaped, paragraphs, prose, table_lines
from commlens.render.profile_tables import time_table
from commlens.render.report.cards import Card
from commlens.render.report.content import Conclusion, Report
from commlens.render.report.machine import HostGroup
from commlens.render.table import Lines, Table, Thing

_MOST_ROWS = 100  # of a table
_MOST_LINES = 60  # of a block
_LONGEST_SENTENCE = 2000  # characters


def to_markdown(report: Report) -> str:
    """Returns the report as Markdown."""
    return "\n".join(_lines(report)).rstrip("\n") + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield f"# {_text(report.title)}"
    yield ""
    yield _text(report.days)
    yield ""
    for number, what, words in report.counts:
        yield f"- **{number}** {what}{f' ({_text(words)})' if words else ''}"
    yield ""
    yield "## What was found"
    yield ""
    yield from _listed("", [document.summary for document in report.examined.documents])
    for conclusion in report.conclusions:
        yield from _conclusion(conclusion)
    if not report.conclusions:
        yield "The rules found nothing to change in these records."
        yield ""
    yield from _listed("### Not everything could be read", report.problems)
    if report.machines:
        yield "## The machine"
        yield ""
    for machine in report.machines:
        yield from _machine(machine)
    for card in report.cards:
        yield from _card(card)
    yield from _profiles(report)
    yield "## How it was made"
    yield ""
    yield from table_lines(report.launches, _MOST_ROWS)
    yield ""
    yield from _listed("### What is not shown", report.left_out)


def _conclusion(conclusion: Conclusion) -> Iterator[str]:
    finding = conclusion.finding
    yield f"**{finding.severity}: {_text(finding.subject)}** (`{finding.code}`)"
    yield ""
    yield from _listed("", [_observed(one.finding) for one in conclusion.observations])
    yield f"What to do: {prose(finding.fix, _LONGEST_SENTENCE)}"
    yield ""


def _observed(finding: Finding) -> str:
    """What was found, and the lines that show it."""
    quotes = "; ".join(map(str, finding.evidence.quotes))
    return f"{finding.sentence} ({quotes})" if quotes else finding.sentence


def _machine(machine: HostGroup) -> Iterator[str]:
    yield f"### {_text(machine.title)}"
    yield ""
    yield from _listed("What is unusual:", machine.unusual)
    pairs = [*machine.software, *machine.settings]
    pairs += [("link", text) for text in machine.links.values()]
    yield from _listed("", [f"{name}: {text}" for name, text in pairs])
    yield from _listed("Notes:", machine.notes)


def _card(card: Card) -> Iterator[str]:
    yield f"## {_text(card.benchmark)}"
    yield ""
    yield _text(card.description)
    yield ""
    for one in card.scaling:
        yield from _thing(one)
    for section in card.sections:
        yield f"### {_text(section.title)}"
        yield ""
        for one in section.things:
            yield from _thing(one)
        if section.words:
            yield from _thing(Lines(section.words))
        if section.left_out:
            yield section.left_out
            yield ""
    if card.definitions:
        yield "<details><summary>What the values mean</summary>"
        yield ""
        yield from _listed("", [f"{one.name}: {one.text}" for one in card.definitions])
        yield "</details>"
        yield ""


def _thing(one: Thing) -> Iterator[str]:
    if isinstance(one, Table):
        yield from table_lines(one, _MOST_ROWS)
    else:
        yield from paragraphs(one, _MOST_LINES)
    yield ""


def _profiles(report: Report) -> Iterator[str]:
    for profile in report.profiles:
        yield f"## Profile of {_text(' '.join(profile.command))}"
        yield ""
        yield from table_lines(time_table(profile), _MOST_ROWS)
        yield ""


def _listed(head: str, texts: Sequence[str]) -> Iterator[str]:
    if not texts:
        return
    if head:
        yield head
        yield ""
    yield from (f"- {prose(text, _LONGEST_SENTENCE)}" for text in texts)
    yield ""


def _text(text: str) -> str:
    return escaped(text, _LONGEST_SENTENCE)
