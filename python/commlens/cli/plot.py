"""`commlens plot`: records as pictures."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from commlens.cli.records import load_any, tell_pictures, tell_problems


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

    Timelines are a picture of their own, NAME-timeline where --out has NAME.

    Profiles are drawn as time by function, bytes by peer and sizes of messages. Beside other
    records they get a picture of their own, NAME-profiles.

    \b
    Examples:
      commlens plot results --out all.png
      commlens plot monday.jsonl tuesday.jsonl --out both.pdf
    """
    from commlens.render import plots as pictures

    pictures.check_ending(out)
    loaded = load_any(records)
    status = tell_problems(loaded)
    if loaded.records:
        tell_pictures(pictures.plot(loaded.records, out))
    if loaded.profiles:
        picture = out.with_stem(f"{out.stem}-profiles") if loaded.records else out
        tell_pictures(pictures.plot_profiles(loaded.profiles, picture))
    sys.exit(status)
