"""`commlens trace`: what is in the trace of a program."""

from __future__ import annotations

import re
from pathlib import Path

import click

from commlens.base.errors import CommlensError, Status
from commlens.base.terminal import console, echo
from commlens.cli import option
from commlens.cli.group import CommandGroup
from commlens.model.start import ranges_of

_file = click.argument("file", type=option.path)


def _ranks(text: str) -> set[int] | None:
    if not re.fullmatch(r"\d{1,7}(-\d{1,7})?(,\d{1,7}(-\d{1,7})?)*", text, re.ASCII):
        return None
    return {rank for first, last in ranges_of(text) for rank in range(first, last + 1)} or None


def _nanoseconds(text: str) -> int | None:
    match = re.fullmatch(r"\d{1,9}(\.\d+)?", text, re.ASCII)
    return round(float(text) * 1e9) if match else None


_time = option.value(_nanoseconds, "write a time in seconds, as in 12.5")


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
    """Show what is in a trace: ranks, calls, bytes, loops, communicators, the memory of a replay,
    and what a replay does not execute.

    \b
    Example:
      commlens trace info program.clt
    """
    from commlens.profile.traces import container, summary
    from commlens.render.terminal import print_things
    from commlens.render.trace_tables import trace_things

    content = container.read(file)
    memory = _memory_of_replay(file, len(content.ranks))
    things = trace_things(content, summary.summarize(content), file, memory)
    print_things(console(), things)


def _memory_of_replay(file: Path, ranks: int) -> float | None:
    """Bytes of the messages of the rank that has most; None where the native program is missing or
    does not replay the trace."""
    from commlens.jobs.native import find_native

    words = ["replay", "--trace", str(file), "--allow-partial"]
    try:
        return find_native().memory_bytes(ranks, words)
    except CommlensError:
        return None


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
        raise CommlensError("export to what? write --tit FOLDER or --otf2 FOLDER")
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
@click.argument("output", type=option.path)
@click.option(
    "--ranks",
    metavar="LIST",
    callback=option.value(_ranks, "write ranks, as in 0-3,8"),
    help="The ranks that are kept, as in 0-3,8; they are numbered anew.  [default: all]",
)
@click.option(
    "--from",
    "begin",
    metavar="SECONDS",
    callback=_time,
    default="0",
    help="Where the part begins, after MPI_Init.",
)
@click.option(
    "--to",
    "end",
    metavar="SECONDS",
    callback=_time,
    help="Where it ends.  [default: where the trace ends]",
)
def cut(file: Path, output: Path, ranks: set[int] | None, begin: int, end: int | None) -> None:
    """Write a part of a trace as a trace: some of its ranks, or some of its time.

    A message or a collective is kept with the calls of all its ranks, or not at all, so that a
    replay of the part waits for nothing that is missing.

    \b
    Examples:
      commlens trace cut program.clt step.clt --from 10 --to 12.5
      commlens trace cut program.clt four.clt --ranks 0-3
    """
    from commlens.base import outputs
    from commlens.profile.traces import container
    from commlens.profile.traces.choice import Window
    from commlens.profile.traces.collect import KIND
    from commlens.profile.traces.cut import cut as part_of

    if end is not None and end <= begin:
        raise CommlensError(f"--to {end * 1e-9:g}: write a time after --from {begin * 1e-9:g}")
    outputs.check(output, KIND, "OUTPUT", [file])
    part = part_of(container.read(file), ranks, Window(begin, end))
    outputs.write(output, container.written(part), KIND, "OUTPUT")
    echo(f"trace:    {output}")


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
