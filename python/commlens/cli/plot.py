"""`commlens plot`: records as pictures."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from commlens.errors import Status, say
from commlens.records import load
from commlens.text import plural


@click.command()
@click.argument("records", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    help="Picture to write: .png, .svg or .pdf.",
)
def plot(records: tuple[Path, ...], out: Path) -> None:
    """Draw RECORDS, files or folders of them, against size; and how far the parts of an operation
    overlap.

    Profiles are drawn as time by function, bytes by peer and sizes of messages. Beside other
    records they get a picture of their own, NAME-profiles where --out has NAME.

    \b
    Examples:
      commlens plot results --out all.png
      commlens plot monday.jsonl tuesday.jsonl --out both.pdf
    """
    from commlens import plot as pictures  # loading matplotlib takes longer than many a command

    pictures.check_ending(out)
    loaded = load(records)
    written = []
    left_out = 0
    if loaded.records or not loaded.profiles:
        left_out = len(loaded.records) - pictures.plot(loaded.records, out)
        written.append(out)
    if loaded.profiles:
        written.append(out.with_stem(f"{out.stem}-profiles") if written else out)
        pictures.plot_profiles(loaded.profiles, written[-1])
    for problem in loaded.problems:
        say(problem)
    if left_out:
        lines = plural(left_out, "record")
        say(f"left out {lines}, failed or skipped; `commlens show` has the reasons")
    for picture in written:
        click.echo(picture)
    sys.exit(Status.FAILED if loaded.problems else Status.OK)
