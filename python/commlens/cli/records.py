"""`commlens show`, `plot` and `report`: records as tables, as pictures and as a page; and what the
commands that read records have in common."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from commlens.api.records import Records, check_any, read, refuse_published
from commlens.base import outputs
from commlens.base.errors import CommlensError, Status, say
from commlens.base.terminal import console, echo
from commlens.base.text import printable
from commlens.cli import option
from commlens.compare.history.store import check_there, path_of
from commlens.model import load_each
from commlens.model.reading import Loaded, Room

if TYPE_CHECKING:
    from commlens.render.plots import Drawn

_records = click.argument("records", nargs=-1, required=True, type=option.path)


@contextmanager
def without_collections() -> Iterator[None]:
    """A collection looks at each of a hundred thousand records, and finds no garbage."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def telling() -> Iterator[Callable[[str], None]]:
    """Gives a function that reports what is done now, on one line of the standard error, which is
    there from its first call until all is done. A file gets nothing."""
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield lambda _: None
        return
    status = console.status("")

    def tell(step: str) -> None:
        status.update(printable(step)[:70].replace("[", "("))
        status.start()

    try:
        yield tell
    finally:
        status.stop()


def load_any(paths: Sequence[Path]) -> Records:
    """The records and profiles in files and folders; raises CommlensError where there are none."""
    with without_collections(), telling() as tell:
        records = read(*paths, tell=tell)
        len(records)  # reads them
    return records


def tell_pictures(drawn: Drawn) -> None:
    """Prints what is not in them, and where they are."""
    for left_out in drawn.left_out:
        say(left_out)
    for picture in drawn.pictures:
        echo(picture)


def tell_problems(loaded: Loaded | Records) -> Status:
    """Says what is wrong with lines, and returns the status with which the command ends."""
    for problem in loaded.problems:
        say(problem)
    return Status.FAILED if loaded.problems else Status.OK


@click.command()
@_records
@click.option("--wide", is_flag=True, help="Show all metrics.")
@option.every_finding
@option.all_functions
@option.reference
def show(
    records: tuple[Path, ...],
    wide: bool,
    findings: bool,
    every: bool,
    reference: str | None,
) -> None:
    """Show RECORDS, files or folders of them, as tables, and what they give reason to change.

    \b
    Examples:
      commlens show results
      commlens show monday.jsonl tuesday.jsonl
      commlens show results --findings all
    """
    from commlens.render import show as tables
    from commlens.render.profile_tables import profile_things
    from commlens.render.published_profile import published_profile
    from commlens.render.reroute_tables import reroute_things
    from commlens.render.terminal import print_things

    beside = published_profile(reference) if reference else None
    loaded = load_any(records)
    if beside and not loaded.profiles:
        raise CommlensError(f"--reference {reference}: there is no profile among these records")
    if len(loaded):
        with without_collections():
            tables.show([*loaded], tables.console(), wide, findings)
    for profile in loaded.profiles:
        print_things(console(), profile_things(profile, every, beside))
    for reroute in loaded.reroutes:
        print_things(console(), reroute_things(reroute))
    sys.exit(tell_problems(loaded))


@click.command()
@_records
@click.option(
    "--out",
    type=option.path,
    required=True,
    metavar="PATH",
    help="Picture to write: .png, .svg or .pdf.",
)
def plot(records: tuple[Path, ...], out: Path) -> None:
    """Draw RECORDS, files or folders of them, against size; and how far the parts of an operation
    overlap.

    Timelines are a picture of their own, NAME-timeline where --out has NAME.

    Profiles are drawn as time by function, bytes by peer and sizes of messages. Beside other
    records they get a picture of their own, NAME-profiles.

    \b
    Examples:
      commlens plot results --out all.png
      commlens plot monday.jsonl tuesday.jsonl --out both.pdf
    """
    from commlens.render import plots as pictures

    pictures.check_picture(out)
    profiles_out = out.with_stem(f"{out.stem}-profiles")
    for picture in (out.with_stem(f"{out.stem}-timeline"), profiles_out):
        pictures.check_picture(picture)
    loaded = load_any(records)
    if not (len(loaded) or loaded.profiles):
        raise CommlensError(f"{out}: nothing to draw: a record of `commlens reroute` is a table")
    status = tell_problems(loaded)
    if len(loaded):
        tell_pictures(pictures.plot([*loaded], out))
    if loaded.profiles:
        picture = profiles_out if len(loaded) else out
        tell_pictures(pictures.plot_profiles(loaded.profiles, picture))
    sys.exit(status)


@click.command()
@_records
@click.option(
    "--out",
    type=option.path,
    metavar="FILE",
    help="File to write.  [default: report.html; with --format markdown the standard output]",
)
@click.option(
    "--format",
    "layout",
    metavar="[html|markdown]",
    callback=option.word(("html", "markdown")),
    default="html",
    show_default=True,
    help="A page for a browser, or text for a ticket or a pull request.",
)
@click.option(
    "--store",
    type=option.path,
    metavar="FILE",
    help="Also show what has become slower over time, from this history (`commlens history`).",
)
def report(records: tuple[Path, ...], out: Path | None, layout: str, store: Path | None) -> None:
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
      commlens report results --store history.sqlite
    """
    from commlens.render import report as reports
    from commlens.render.history import table_of_store

    refuse_published(records)
    kind = outputs.PAGE if layout == "html" else outputs.MARKDOWN
    if layout == "html" or out is not None:
        out = out or Path("report.html")
        endings = (".html", ".htm") if layout == "html" else (".md", ".markdown")
        if out.suffix and out.suffix.lower() not in endings:
            raise CommlensError(
                f"--out {out}: a report is HTML, or Markdown with --format markdown: write"
                f" a name that ends in {endings[0]}"
            )
        outputs.check(out, kind, inputs=records)
    if store is not None:
        check_there(path_of(store))
    with without_collections(), telling() as tell:
        with_records, of_doctor = reports.examined(records)
        sources = load_each(with_records, Room(reports.MOST_RECORDS), tell)
        whole = reports.build(sources, of_doctor, tell)
        if not of_doctor.documents:
            check_any(whole.loaded, records)
        if store is not None:
            names = {record.benchmark for record in whole.loaded.records}
            whole = replace(whole, history=table_of_store(path_of(store), names))
        text = reports.to_html(whole, tell) if layout == "html" else reports.to_markdown(whole)
    if out is None:
        echo(text.rstrip("\n"))
    else:
        outputs.write(out, text, kind)
        echo(out)
    sys.exit(tell_problems(whole.loaded))
