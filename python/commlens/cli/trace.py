"""`commlens trace`: what is in the trace of a program."""

from __future__ import annotations

from pathlib import Path

import click

from commlens.base.errors import Status
from commlens.base.terminal import console, echo
from commlens.cli import option
from commlens.cli.group import CommandGroup

_file = click.argument("file", type=option.path)


@click.group(cls=CommandGroup)
def trace() -> None:
    """Show and check the trace of a program, which `commlens profile --trace` has written.

    \b
    Examples:
      commlens profile --trace program.clt -- mpirun -n 4 ./program
      commlens trace info program.clt
    """


@trace.command()
@_file
def info(file: Path) -> None:
    """Show what is in a trace: ranks, calls, bytes, loops, and what a replay does not execute.

    \b
    Example:
      commlens trace info program.clt
    """
    from commlens.profile.traces import container, summary
    from commlens.render.terminal import print_things
    from commlens.render.trace_tables import trace_things

    content = container.read(file)
    print_things(console(), trace_things(content, summary.summarize(content), file))


@trace.command()
@_file
@click.option(
    "--tit",
    type=option.path,
    metavar="FOLDER",
    help="As SimGrid's replay reads it: `smpirun -replay FOLDER/trace.tit` simulates it.",
)
@click.option(
    "--otf2",
    type=option.path,
    metavar="FOLDER",
    help="An OTF2 archive, as Vampir and otf2-print read it. Needs the Python module otf2.",
)
def export(file: Path, tit: Path | None, otf2: Path | None) -> None:
    """Write a trace in the format of another tool.

    \b
    Examples:
      commlens trace export program.clt --tit simulated
      commlens trace export program.clt --otf2 archive
    """
    from commlens.base import outputs
    from commlens.profile.traces import container, otf2_archive
    from commlens.profile.traces import tit as simgrid

    if tit is None and otf2 is None:
        raise click.UsageError("name a format: --tit FOLDER or --otf2 FOLDER")
    content = container.read(file)
    if tit is not None:
        actions = outputs.Kind("a trace for SimGrid", r"\A(\d+ init\n|/)")
        listed = simgrid.export(
            content, tit, lambda path, text: outputs.write(path, text, actions, "--tit")
        )
        echo(f"trace:    {listed}")
    if otf2 is not None:
        echo(f"trace:    {otf2_archive.export(content, otf2)}")


@trace.command()
@_file
@click.pass_context
def check(context: click.Context, file: Path) -> None:
    """Say what is missing in a trace. The exit status is 1 where something is.

    \b
    Example:
      commlens trace check program.clt
    """
    from commlens.profile.traces import container, summary

    lines = [*summary.problems(container.read(file))]
    for line in lines or ["whole"]:
        echo(f"{file}: {line}")
    context.exit(Status.FAILED if lines else Status.OK)
