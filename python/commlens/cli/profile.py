"""`commlens profile`: where an MPI program's time goes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from commlens.terminal import echo

if TYPE_CHECKING:
    from commlens.profile.record import Profile


@click.command(
    context_settings={"allow_interspersed_args": False}, options_metavar="[OPTIONS] [--]"
)
@click.option(
    "--callsites",
    is_flag=True,
    help="Also tell from which function and line each function was called.",
)
@click.option(
    "--waiting",
    is_flag=True,
    help="Time how long collectives wait for the last rank: by a barrier before each, which "
    "changes the run.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("results"),
    show_default=True,
    help="Folder for the record.",
)
@click.argument(
    "program",
    nargs=-1,
    required=True,
    type=click.UNPROCESSED,
    metavar="LAUNCHER... PROGRAM...",
)
@click.pass_context
def profile(
    context: click.Context, callsites: bool, waiting: bool, out: Path, program: tuple[str, ...]
) -> None:
    """Run an MPI program, unmodified, and show where its time goes: time, imbalance, calls and
    bytes of each function.

    The program keeps its standard streams, and its exit status is that of this command.

    \b
    Examples:
      commlens profile -- mpirun -n 4 ./program
      commlens profile --callsites --out profiles -- srun -n 64 ./program input.txt
    """
    from commlens.profile import run as profiling

    outcome = profiling.run(program, out, with_call_sites=callsites, with_waiting=waiting)
    if outcome.profile is not None:
        print_profile(outcome.profile)
    if outcome.profile is not None and outcome.file is not None:
        echo(f"\nrecord:   {outcome.file}")
        if picture := profiling.draw(outcome.profile, outcome.file):
            echo(f"picture:  {picture}")
    context.exit(outcome.status)


def print_profile(profile: Profile) -> None:
    from commlens.profile.table import profile_lines

    for line in profile_lines(profile):
        echo(line)
