"""`commlens show`: records as tables."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from commlens.cli.records import load_any, tell_problems, without_collections


@click.command()
@click.argument("records", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--wide", is_flag=True, help="Show all metrics.")
@click.option(
    "--findings",
    "every_finding",
    is_flag=True,
    help="Show every finding, not the worst of each kind alone.",
)
def show(records: tuple[Path, ...], wide: bool, every_finding: bool) -> None:
    """Show RECORDS, files or folders of them, as tables, and what they give reason to change.

    \b
    Examples:
      commlens show results
      commlens show monday.jsonl tuesday.jsonl
      commlens show results --findings
    """
    from commlens.cli.profile import print_profile
    from commlens.render import show as tables

    loaded = load_any(records)
    if loaded.records:
        with without_collections():
            tables.show(loaded.records, tables.console(), wide, every_finding)
    for profile in loaded.profiles:
        print_profile(profile)
    sys.exit(tell_problems(loaded))
