"""`commlens profile`: where an MPI program's time goes."""

from __future__ import annotations

from pathlib import Path

import click

from commlens.base.errors import CommlensError
from commlens.base.terminal import console, echo
from commlens.cli import option

_MAX_CALL_DEPTH = 8  # of the profiling library


@click.command(
    context_settings={"allow_interspersed_args": False}, options_metavar="[OPTIONS] [--]"
)
@click.option(
    "--callsites",
    is_flag=True,
    help="Also show from which function and line each function was called.",
)
@option.number(
    "--call-depth",
    "Distinguish call sites by N callers, 1 to 8: the function that calls MPI, the one that calls "
    "that, and so on. Implies --callsites; above 1 each call walks the stack, which takes "
    "microseconds.",
    _MAX_CALL_DEPTH,
)
@click.option(
    "--waiting",
    is_flag=True,
    help="Separate waiting from transferring: time how long collectives wait for the last rank and "
    "receives for their message, by a barrier or a probe before each, which changes the run.",
)
@click.option(
    "--regions",
    is_flag=True,
    help='Time the regions between MPI_Pcontrol(1, "name") and MPI_Pcontrol(-1, "name"), or '
    "MPI_Pcontrol(N) and MPI_Pcontrol(-N).",
)
@click.option(
    "--trace",
    type=option.path,
    metavar="FILE",
    help="Also write the sequence of the MPI calls, with their parameters and times, to this file; "
    "`commlens trace` shows what is in it.",
)
@click.option(
    "--exact-times",
    is_flag=True,
    help="Keep the time of each call in the trace, not only the mean of each place of the program: "
    "a few bytes per call.",
)
@option.all_functions
@option.reference
@click.option(
    "--plot/--no-plot",
    "with_plot",
    default=None,
    help="Draw a picture beside the record, which takes seconds.  [default: on a terminal]",
)
@option.out(help="Folder for the record.")
@option.program
@click.pass_context
def profile(
    context: click.Context,
    callsites: bool,
    call_depth: int | None,
    waiting: bool,
    regions: bool,
    trace: Path | None,
    exact_times: bool,
    every: bool,
    reference: str | None,
    with_plot: bool | None,
    out: Path,
    program: tuple[str, ...],
) -> None:
    """Run an MPI program, unmodified, and show where its time goes: time, imbalance, calls and
    bytes of each function, and what to change.

    The program keeps its standard streams, and its exit status is that of this command. A -- after
    the launcher's options says that the program follows.

    \b
    Examples:
      commlens profile -- mpirun -n 4 ./program
      commlens profile --callsites --out profiles -- srun -n 64 ./program input.txt
      commlens profile --trace program.clt -- mpirun -n 4 ./program
    """
    from commlens.profile import run as profiling
    from commlens.render.profile_tables import profile_things
    from commlens.render.published_profile import published_profile
    from commlens.render.terminal import print_things

    if exact_times and trace is None:
        raise CommlensError("--exact-times is for a trace; add --trace FILE")
    beside = published_profile(reference) if reference else None
    options = profiling.ProfileOptions(
        call_depth=call_depth or int(callsites),
        with_waiting=waiting,
        with_regions=regions,
        trace=trace,
        exact_times=exact_times,
    )
    outcome = profiling.run(program, out, options)
    for number, record in enumerate(outcome.profiles):
        if number:
            echo("")
        print_things(console(), profile_things(record, every, beside))
    if outcome.file is not None:
        echo(f"\nrecord:   {outcome.file}")
        if console().is_terminal if with_plot is None else with_plot:
            from commlens.render.plots import plot_beside

            for picture in plot_beside(outcome.profiles, outcome.file):
                echo(f"picture:  {picture}")
    for path in outcome.traces:
        echo(f"trace:    {path}")
    context.exit(outcome.status)
