"""A report as one page: with its pictures, its style, its script and its records within it."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
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
from commlens.render.report.table import MOST_COLUMNS, PageTable
from commlens.render.table import Table

_LONGEST_TEXT = 2000  # characters
_MOST_LINES = 200  # of a block
_MOST_ROWS = 500  # of a table
_MOST_PICTURES = 16  # of a card
_MOST_RECORDS = 50_000  # of a file: that of more is larger, and to pack it takes its time
_COARSE: Any = {"path.simplify_threshold": 0.5}  # points, by which a long curve may be elsewhere
_OWN = ("report.js", "report.css")
_MOST_BYTES = 12_000_000  # of the records in the page, packed: what mail takes


class Picture(NamedTuple):
    """An SVG element with its title."""

    title: str
    svg: Markup


class Pictures:
    """Draws each when the page comes to it; no two have an id in common."""

    def __init__(self, tell: Tell) -> None:
        self.left_out: list[str] = []
        self.classes: dict[str, str] = {}  # of their styles
        self._tell = tell
        self._number = 0

    def add(self, figure: Any, title: str) -> Picture:
        """Turns a figure into SVG."""
        self._number += 1
        self._tell(f"drawing {title}")
        return Picture(title, Markup(inline_svg(figure, f"p{self._number}", title, self.classes)))

    @contextmanager
    def left_out_if_too_high(self, card: Card) -> Iterator[None]:
        """What cannot be drawn is left out of the page, which has its tables."""
        try:
            yield
        except CommlensError:
            self.left_out.append(f"{card.benchmark}: its pictures would be too high")

    def of_card(self, card: Card) -> dict[str, list[Picture]]:
        """By the name of the section; of several sections by that of the card."""
        measured = [record for record in card.records if record.measured]
        chosen, left_out = plot.select(measured, lambda _: 0.0)
        self.left_out += [f"{card.benchmark}: {text}" for text in left_out]
        sections = {id(one): own.name for own in card.sections for one in own.group.records}
        found: dict[str, list[Picture]] = {}
        for number, (panel, figure) in enumerate(plot.draw_singly(chosen) if chosen else ()):
            if number == _MOST_PICTURES:
                self.left_out.append(f"{card.benchmark}: drawn are the first {number} pictures")
                break
            name = sections[id(panel.group.records[0])] if panel.group else card.name
            found.setdefault(name, []).append(self.add(figure, panel.title))
        return found

    def timelines(self, card: Card) -> list[Picture]:
        """Draws the timelines of a card, below each other, as one picture, if it has any."""
        timed = [record for record in card.records if record.timeline]
        chosen, _ = plot.select(timed, lambda _: 0.0)
        figure, missing = plot.draw_timelines(chosen, with_head=False) if chosen else (None, 0)
        if missing:
            self.left_out.append(f"{card.benchmark}: left out {plural(missing, 'timeline')}")
        title = f"{card.benchmark}: one operation, step by step"
        return [] if figure is None else [self.add(figure, title)]


class Data(NamedTuple):
    """A file of records, as a link."""

    kind: str
    name: str
    what: str
    url: Markup


def to_html(report: Report, tell: Tell = lambda _: None) -> str:
    """The page. `tell` is told of each picture before it is drawn."""
    pictures = Pictures(tell)
    by_card: dict[str, dict[str, list[Picture]]] = {card.name: {} for card in report.cards}
    timelines: list[Picture] = []
    with plot.styled(), matplotlib.rc_context(_COARSE):
        for card in report.cards:
            with pictures.left_out_if_too_high(card):
                by_card[card.name] = pictures.of_card(card)
        for card in report.cards:
            with pictures.left_out_if_too_high(card):
                timelines += pictures.timelines(card)
        profiles = [
            (
                profile_id(number),
                " ".join(own.command),
                [pictures.add(one, "profile") for one in plot.draw_profile_singly(own)],
                list(profile_things(own)),
            )
            for number, own in enumerate(report.profiles)
        ]
    data, missing = _data(report)
    script, style = (_environment().get_template(name).render().strip() for name in _OWN)
    style = "\n".join([style, *(f".{own} {{ {rule} }}" for rule, own in pictures.classes.items())])
    return _environment().get_template("report.html.j2").render(
        report=report,
        pictures=by_card,
        timelines=timelines,
        profiles=profiles,
        data=data,
        problem_lines=[[(problem, "")] for problem in report.loaded.problems],
        left_out=[*report.left_out, *pictures.left_out, *missing],
        script=Markup(script),
        style=Markup(style),
        policy=_policy(script, style),
        version=commlens.__version__,
    )  # fmt: skip


def _data(report: Report) -> tuple[list[Data], list[str]]:
    """A link for each file, and a sentence for each that is too large."""
    found, missing = [], []
    room = _MOST_BYTES
    for name, loaded in report.sources:
        url = None
        if not loaded.dropped and len(loaded.records) <= _MOST_RECORDS:
            url = pack(encoded(loaded.launches, loaded.records, loaded.profiles), room)
        if url is None:
            missing.append(f"{name} is too large to be in this page: send it beside it")
            continue
        room -= len(url)
        counts = ((len(loaded.records), "record"), (len(loaded.profiles), "profile"))
        what = ", ".join(plural(count, noun) for count, noun in counts if count)
        found.append(
            Data(RECORDS, name, f"{what}, {format_bytes(round(len(url), -2))}", Markup(url))
        )
    for name, text in report.examined.texts:
        if url := pack([text.encode()], room):
            room -= len(url)
            found.append(Data(DOCTOR, name, "what doctor found", Markup(url)))
    return found, missing


def _policy(script: str, style: str) -> str:
    """Nothing is fetched, and no other script and style than ours has any effect."""
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}';"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )


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
