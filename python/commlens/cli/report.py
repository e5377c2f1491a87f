"""`commlens report`: records as a page, or as Markdown."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from commlens.base.outputs import write_text
from commlens.base.terminal import echo
from commlens.cli.records import check_any, tell_problems, telling, without_collections
from commlens.model import load_each
from commlens.model.reading import Room


@click.command()
@click.argument("records", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to write.  [default: report.html; with --format markdown the standard output]",
)
@click.option(
    "--format",
    "layout",
    type=click.Choice(["html", "markdown"]),
    default="html",
    show_default=True,
    help="A page for a browser, or text for a ticket or a pull request.",
)
def report(records: tuple[Path, ...], out: Path | None, layout: str) -> None:
    """Write a report of RECORDS, files or folders of them, for somebody who was not there: what was
    found, the machine, every benchmark as pictures and tables, and the command lines.

    What `commlens doctor --out` or `--format json` wrote, doctor.json, may be among RECORDS.

    The page is one file, which loads nothing from a network. It holds the records: `commlens show`,
    `plot` and `report` read them from it.

    \b
    Examples:
      commlens report results
      commlens report monday.jsonl tuesday.jsonl --out both.html
      commlens report results --format markdown
      commlens report results doctor.json
    """
    from commlens.render import report as reports

    with without_collections(), telling() as tell:
        with_records, of_doctor = reports.examined(records)
        sources = load_each(with_records, Room(reports.MOST_RECORDS), tell)
        whole = reports.build(sources, of_doctor, tell)
        if not of_doctor.documents:
            check_any(whole.loaded, records)
        text = reports.to_html(whole, tell) if layout == "html" else reports.to_markdown(whole)
    if layout == "markdown" and out is None:
        echo(text.rstrip("\n"))
    else:
        out = out or Path("report.html")
        write_text(out, out, text)
        echo(out)
    sys.exit(tell_problems(whole.loaded))
