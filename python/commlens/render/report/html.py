"""A report as one page: with its pictures, its style, its script and its records within it."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, zip_longest
from typing import Any, NamedTuple

import matplotlib
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

import commlens
from commlens.base.errors import CommlensError
from commlens.base.text import format_bytes, plural, printable_lines
from commlens.model.embedded import DOCTOR, RECORDS, encoded, pack
from commlens.model.reading import Tell
from commlens.render import plots as plot
from commlens.render.profile_tables import profile_things
from commlens.render.report.cards import Card
from commlens.render.report.content import Report, profile_id
from commlens.render.report.svg import inline_svg
from commlens.render.reroute_tables import reroute_things
from commlens.render.table import Cells, Table

_LONGEST_TEXT = 2000  # characters
_MOST_LINES = 200  # of a block
_MOST_ROWS = 500  # of a table
_MOST_PICTURES = 16  # of a card
_MOST_RECORDS = 50_000  # of a file: that of more is larger, and to pack it takes its time
_COARSE: Any = {"path.simplify_threshold": 0.5}  # points, by which a long curve may be elsewhere
_ASSETS = ("report.js", "report.css")
MOST_COLUMNS = 32  # which the page's style can name
_COMMON_STYLES = ("left", "dim", "green")
_LONG = 44  # characters
_OFTEN = 4  # times that the long texts of a column stand there
_MOST_BYTES = 12_000_000  # of the records in the page, packed: what mail takes


class Cell(NamedTuple):
    """A cell of the page."""

    text: str
    style: str  # words: beside those of its column


class PageTable(NamedTuple):
    """A table as a page has it: what all cells of a column have in common is said once.

    `style` has `left2 dim3`, where the second column is flush left and the third is dim.
    """

    heads: Sequence[Sequence[str]]  # the lines of each
    style: str
    rows: Sequence[Sequence[Cell]]
    notes: Mapping[str, str]  # the marks that stand in it for long texts, by these

    @classmethod
    def of(cls, table: Table[Any], most_rows: int) -> PageTable:
        """The first rows of a table."""
        notes: dict[str, str] = {}
        style: list[str] = []
        columns = []
        for number, column in enumerate(table.columns, start=1):
            left = ["left"] * column.left
            rows = range(len(column.texts))
            styles = [[*column.style_of(row).split(), *left] for row in rows]
            common = [word for word in _COMMON_STYLES if all(word in words for words in styles)]
            common = common if number <= MOST_COLUMNS else []
            style += [f"{word}{number}" for word in common]
            rest = [[word for word in words if word not in common] for words in styles[:most_rows]]
            columns.append(list(_cells(column, rest, notes)))
        heads = [column.head.split("\n") for column in table.columns]
        cells = list(zip_longest(*columns, fillvalue=Cell("", "")))
        return cls(heads, " ".join(style), cells, notes)


def _cells(column: Cells, styles: Sequence[list[str]], notes: dict[str, str]) -> Iterator[Cell]:
    long = [text for text in column.texts[: len(styles)] if len(text) > _LONG]
    is_noted = len(long) >= _OFTEN * len(set(long))
    for row, (text, style) in enumerate(zip(column.texts, styles)):
        style = [*style, *["again"] * column.is_again(row)]
        if len(text) > _LONG and is_noted:
            text = notes.setdefault(text, f"[{len(notes) + 1}]")
        elif len(text) > _LONG:
            style.append("long")
        yield Cell(text, " ".join(style))


class Pictures:
    """All pictures of a page, as SVG elements; no two have an id in common."""

    def __init__(self, report: Report, tell: Tell) -> None:
        self.by_card: dict[str, dict[str, list[Markup]]] = {card.name: {} for card in report.cards}
        self.timelines: list[tuple[str, Markup]] = []  # with their titles
        self.left_out: list[str] = []
        self.classes: dict[str, str] = {}  # of their styles
        self._tell = tell
        self._number = 0
        for draw in (self._draw_card, self._draw_timelines):
            for card in report.cards:
                try:
                    draw(card)
                except CommlensError:  # the page has its tables
                    self.left_out.append(f"{card.benchmark}: its pictures would be too high")
        self.of_profiles = [
            [self._svg(figure, "profile") for figure in plot.draw_profile_singly(profile)]
            for profile in report.profiles
        ]

    def _svg(self, figure: Any, title: str) -> Markup:
        self._number += 1
        self._tell(f"drawing {title}")
        return Markup(inline_svg(figure, f"p{self._number}", title, self.classes))

    def _draw_card(self, card: Card) -> None:
        """By the name of the section; of several sections by that of the card."""
        measured = [record for record in card.records if record.measured]
        chosen, left_out = plot.select(measured, lambda _: 0.0)
        self.left_out += [f"{card.benchmark}: {text}" for text in left_out]
        sections = {
            id(record): section.name
            for section in card.sections
            for record in section.group.records
        }
        by_section: dict[str, list[Markup]] = {}
        for number, (panel, figure) in enumerate(plot.draw_singly(chosen) if chosen else ()):
            if number == _MOST_PICTURES:
                self.left_out.append(f"{card.benchmark}: drawn are the first {number} pictures")
                break
            name = sections[id(panel.group.records[0])] if panel.group else card.name
            by_section.setdefault(name, []).append(self._svg(figure, panel.title))
        self.by_card[card.name] = by_section

    def _draw_timelines(self, card: Card) -> None:
        """Below each other, as one picture, if the card has any."""
        timed = [record for record in card.records if record.timeline]
        chosen, _ = plot.select(timed, lambda _: 0.0)
        figure, missing = plot.draw_timelines(chosen, with_head=False) if chosen else (None, 0)
        if missing:
            self.left_out.append(f"{card.benchmark}: left out {plural(missing, 'timeline')}")
        if figure is not None:
            title = f"{card.benchmark}: one operation, step by step"
            self.timelines.append((title, self._svg(figure, title)))


def to_html(report: Report, tell: Tell = lambda _: None) -> str:
    """The page. `tell` is told of each picture before it is drawn."""
    with plot.styled(), matplotlib.rc_context(_COARSE):
        pictures = Pictures(report, tell)
    data, missing = _data(report)
    script, style = (_environment().get_template(name).render().strip() for name in _ASSETS)
    rules = (f".{name} {{ {rule} }}" for rule, name in pictures.classes.items())
    style = "\n".join([style, *rules])
    # Nothing is fetched, and no other script and style than ours has any effect.
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}';"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )
    return _environment().get_template("report.html.j2").render(
        report=report,
        pictures=pictures,
        profiles=[
            (profile_id(number), " ".join(profile.command), svgs, list(profile_things(profile)))
            for number, (profile, svgs) in enumerate(zip(report.profiles, pictures.of_profiles))
        ],
        reroutes=[
            (f"reroute-{number}", " ".join(reroute.command), list(reroute_things(reroute)))
            for number, reroute in enumerate(report.reroutes, start=1)
        ],
        data=data,
        problem_lines=[[(problem, "")] for problem in report.loaded.problems],
        left_out=[*report.left_out, *pictures.left_out, *missing],
        script=Markup(script),
        style=Markup(style),
        policy=policy,
        version=commlens.__version__,
    )  # fmt: skip


def _data(report: Report) -> tuple[list[tuple[str, str, str, Markup]], list[str]]:
    """A link for each file: its kind, its name, what it has, and the file itself; and a sentence
    for each that is too large."""
    links, missing = [], []
    room = _MOST_BYTES
    for name, loaded in report.sources:
        url = None
        if not loaded.dropped and len(loaded.records) <= _MOST_RECORDS:
            others = chain(loaded.profiles, loaded.reroutes)
            url = pack(encoded(loaded.launches, loaded.records, others), room)
        if url is None:
            missing.append(f"{name} is too large to be in this page: send it beside it")
            continue
        room -= len(url)
        counts = (
            (len(loaded.records), "record"),
            (len(loaded.profiles), "profile"),
            (len(loaded.reroutes), "rerouted program"),
        )
        contents = ", ".join(plural(count, noun) for count, noun in counts if count)
        contents = f"{contents}, {format_bytes(round(len(url), -2))}"
        links.append((RECORDS, name, contents, Markup(url)))
    for name, text in report.examined.texts:
        if url := pack([text.encode()], room):
            room -= len(url)
            links.append((DOCTOR, name, "what doctor found", Markup(url)))
    return links, missing


def _hash(text: str) -> str:
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("commlens.render.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_plain,
    )
    environment.filters.update(
        bytes=format_bytes,
        code=_code,
        plural=plural,
        table=lambda table: PageTable.of(table, _MOST_ROWS),
    )
    environment.tests["table"] = lambda thing: isinstance(thing, Table)
    environment.globals.update(most_lines=_MOST_LINES, most_columns=MOST_COLUMNS)
    return environment


def _code(text: str) -> Markup:
    """What stands between two backticks as code."""
    pieces = str(_plain(text)).split("`")
    marked = [
        Markup("<code>{}</code>").format(piece) if number % 2 else escape(piece)
        for number, piece in enumerate(pieces)
    ]
    return Markup("").join(marked)


def _plain(value: Any) -> Any:
    """No text of a record steers anything, or fills the page."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    text = printable_lines(value)
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]} …"
