"""`commlens show`: records as tables."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from commlens.errors import CommlensError, Status, say
from commlens.records import load


@click.command()
@click.argument("records", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--wide", is_flag=True, help="Show all metrics.")
def show(records: tuple[Path, ...], wide: bool) -> None:
    """Show RECORDS, files or folders of them, as tables.

    \b
    Examples:
      commlens show results
      commlens show monday.jsonl tuesday.jsonl
    """
    from commlens import show as tables
    from commlens.cli.profile import print_profile

    loaded = load(records)
    if loaded.records or not loaded.profiles:
        tables.show(loaded.records, tables.console(), wide=wide)
    for profile in loaded.profiles:
        print_profile(profile)
    for problem in loaded.problems:
        say(problem)
    if not loaded.records and not loaded.profiles and not loaded.problems:
        raise CommlensError(f"there is no record in {', '.join(map(str, records))}")
    sys.exit(Status.FAILED if loaded.problems else Status.OK)
