"""`commlens replay`: executes the trace of a program, without the program."""

from __future__ import annotations

from pathlib import Path

import click

from commlens.base.errors import CommlensError
from commlens.cli import option


@click.command(
    context_settings={"ignore_unknown_options": True}, options_metavar="[OPTIONS OF run]"
)
@click.argument("file", type=option.path)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="")
def replay(file: Path, words: tuple[str, ...]) -> None:
    """Execute the MPI calls of a program from its trace, on as many ranks as the program had, and
    measure how long they take. The program itself is not needed. Another number of ranks
    (--ranks) requires a trace that `commlens trace info` calls uniform.

    It is the benchmark `replay` of `commlens run`, whose options this command takes, too: --env,
    --launches, --launcher, --memory. --gaps selects what is executed between the calls: `cpu`, a
    busy loop of the CPU time that the program used there; `wall`, one of the wall time; `none`,
    nothing, which measures communication alone. --transport says what carries the messages: `mpi`,
    `staged`, or `ccl` and `peer` for collectives. `commlens run replay --help` lists the rest.

    \b
    Examples:
      commlens profile --trace program.clt -- mpirun -n 4 ./program
      commlens replay program.clt
      commlens replay program.clt --transport mpi,staged,ccl --memory device
      commlens replay program.clt --gaps none --env OMPI_MCA_btl=self,tcp --launches 5
    """
    from commlens.cli.run import run

    if str(file).startswith("-"):
        raise CommlensError(f"{file}: name the trace first, as in: commlens replay FILE {file}")
    ranks = ranks_of(file)
    has_ranks = any(word.partition("=")[0] in ("--ranks", "-n") for word in words)
    more = [] if has_ranks or ranks is None else ["--ranks", str(ranks)]
    with run.make_context("run", ["replay", "--trace", str(file), *more, *words]) as context:
        run.invoke(context)


def ranks_of(file: Path) -> int | None:
    """Those of the trace, if it says how many."""
    from commlens.profile.traces import container

    ranks = container.read(file).header.get("ranks")
    return ranks if isinstance(ranks, int) else None
