"""`commlens reroute`: a program's collectives of GPU memory through NCCL or RCCL."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from commlens.base import outputs
from commlens.base.errors import CommlensError
from commlens.base.terminal import console, echo
from commlens.base.text import enumerated
from commlens.cli import option
from commlens.model.reroute import REROUTABLE, To

_FUNCTIONS = (*REROUTABLE.collectives, *REROUTABLE.on_request)


def _functions(text: str) -> list[str] | None:
    names = list(dict.fromkeys(text.split(",")))
    return names if set(names) <= set(_FUNCTIONS) else None


@click.command(
    context_settings={"allow_interspersed_args": False}, options_metavar="[OPTIONS] [--]"
)
@click.option(
    "--to",
    metavar="NAME",
    callback=option.word(get_args(To)),
    default="ccl",
    show_default=True,
    help="ccl: NCCL or RCCL; staged: MPI, through pinned host memory.",
)
@click.option(
    "--functions",
    metavar="LIST",
    callback=option.value(
        _functions,
        f"write some of {enumerated([*REROUTABLE.functions, *REROUTABLE.on_request])}, with commas,"
        " non-blocking ones as iallreduce",
        _FUNCTIONS,
    ),
    help="Functions to reroute, as in allreduce,iallreduce; with --to staged also p2p: MPI_Send and"
    " MPI_Recv.  [default: the blocking collectives; with --to staged the non-blocking ones, too]",
)
@click.option(
    "--min-bytes",
    metavar="N",
    callback=option.bytes_,
    default="64K",
    show_default=True,
    help="Reroute calls of N bytes or more: a number, or 8K, 1M, 1G (binary).",
)
@click.option(
    "--verify",
    is_flag=True,
    help="Also make each rerouted call with MPI, and compare the results: the exit status is 1 if"
    " one differs.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Reroute nothing: show which calls would be rerouted, and how long they take in MPI.",
)
@click.option(
    "--report",
    type=option.path,
    metavar="FILE",
    help="Also write the tables to this file, as Markdown.",
)
@option.out(help="Folder for the record.")
@option.program
@click.pass_context
def reroute(
    context: click.Context,
    to: To,
    functions: list[str] | None,
    min_bytes: int,
    verify: bool,
    dry_run: bool,
    report: Path | None,
    out: Path,
    program: tuple[str, ...],
) -> None:
    """Run an MPI program, unmodified, with its collectives of GPU memory through NCCL or RCCL, and
    show what that saved.

    The program keeps its standard streams, and its exit status is that of this command. What cannot
    be rerouted goes through MPI as usual. A -- after the launcher's options says that the program
    follows.

    \b
    Examples:
      commlens reroute --dry-run -- mpirun -n 4 ./program
      commlens reroute -- srun -n 64 ./program input.txt
      commlens reroute --functions allreduce --verify -- mpirun -n 4 ./program
    """
    from commlens.render.reroute_tables import HEADING, reroute_things, to_markdown
    from commlens.render.terminal import print_things
    from commlens.reroute.rank_files import RerouteSettings
    from commlens.reroute.run import run

    if functions is None:
        functions = [*(REROUTABLE.functions if to == "ccl" else REROUTABLE.collectives)]
    if to == "ccl" and (messages := set(functions) & set(REROUTABLE.on_request)):
        raise CommlensError(
            f"--functions {messages.pop()}: add --to staged, as NCCL is given collectives only"
        )
    if verify and dry_run:
        raise CommlensError("--verify: leave it out; with --dry-run there is nothing to compare")
    kind = outputs.Kind("a report of rerouting", rf"\A{HEADING}\n")
    if report is not None:
        outputs.check(report, kind, "--report")
    outcome = run(program, out, RerouteSettings(to, functions, min_bytes, verify, dry_run))
    for number, record in enumerate(outcome.records):
        if number:
            echo("")
        print_things(console(), reroute_things(record))
    if outcome.file is not None:
        echo(f"\nrecord:   {outcome.file}")
        echo(f"library:  {outcome.library}")
    if report is not None and outcome.records:
        outputs.write(report, to_markdown(outcome.records), kind, "--report")
        echo(f"report:   {report}")
    context.exit(outcome.status)
