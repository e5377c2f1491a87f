"""Records as a report: one page, or Markdown, for somebody who was not there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from jinja2 import Environment, PackageLoader, StrictUndefined

from commlens.findings import Finding
from commlens.render.doctor import Examined, examined
from commlens.render.markdown import escaped, paragraphs, prose, table_lines
from commlens.render.profile_tables import time_table
from commlens.render.report.content import MOST_RECORDS, Report, build
from commlens.render.report.html import to_html
from commlens.render.reroute_tables import reroute_things
from commlens.render.table import Line, Table, Thing

__all__ = ["MOST_RECORDS", "Examined", "Report", "build", "examined", "to_html", "to_markdown"]
_MOST_ROWS = 100  # of a table
_MOST_LINES = 60  # of a block
_LONGEST_SENTENCE = 2000  # characters


def to_markdown(report: Report) -> str:
    """The report as Markdown, for a ticket or a pull request: without pictures."""
    environment = Environment(
        loader=PackageLoader("commlens.render.report"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        text=partial(escaped, longest=_LONGEST_SENTENCE),
        prose=partial(prose, longest=_LONGEST_SENTENCE),
        observed=_observed,
        thing=_thing,
        block=_block,
        time_table=time_table,
        reroute_things=reroute_things,
    )
    text = environment.get_template("report.md.j2").render(report=report)
    return text.rstrip("\n") + "\n"


def _observed(finding: Finding) -> str:
    """What was found, and the lines that show it."""
    quotes = "; ".join(map(str, finding.evidence.quotes))
    return f"{finding.sentence} ({quotes})" if quotes else finding.sentence


def _thing(thing: Thing) -> str:
    if isinstance(thing, Table):
        return "\n".join(table_lines(thing, _MOST_ROWS))
    return _block(thing.lines)


def _block(lines: Sequence[Line]) -> str:
    return "\n".join(paragraphs(lines, _MOST_LINES))
