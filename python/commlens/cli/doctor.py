"""`commlens doctor`: what is wrong with this machine, its MPI library and its settings."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from commlens.base import outputs
from commlens.base.errors import CommlensError, Status, say
from commlens.base.terminal import console, echo
from commlens.cli import option
from commlens.render.doctor import FILE

if TYPE_CHECKING:
    from commlens.compare.verdicts import Proof

_HELP = """Look for what makes communication slow or wrong on this machine: its MPI library, kernel,
hardware, limits and settings; and run short benchmarks. Nothing on the machine is changed.

PROGRAM is one whose MPI library is to be looked at; by default the native program of commlens.
Settings in --launcher-args (-x, --mca) count as set.

\b
Examples:
  commlens doctor
  commlens doctor ./my-application
  commlens doctor --nodes 2 --launcher srun
  commlens doctor --prove

Exit status: 0 where there is no problem, or 1.
"""
_MOST_NODES = 100_000


@click.command(help=_HELP)
@click.argument("program", required=False, type=option.path)
@option.number(
    "--nodes",
    "Number of nodes to check, through the launcher.  [default: this one, without a launcher]",
    _MOST_NODES,
)
@option.launcher
@option.launcher_arguments
@click.option("--no-runs", is_flag=True, help="Start no benchmark.")
@click.option(
    "--prove", is_flag=True, help="Try each fix that is a setting: measure without it and with it."
)
@option.every_finding
@option.form(("text", "json"))
@click.option(
    "--out",
    metavar="FOLDER",
    type=option.path,
    help=f"Keep the records of short runs there, and {FILE}.  [default: nothing is kept]",
)
def doctor(
    program: Path | None,
    nodes: int | None,
    launcher: str,
    launcher_args: list[str],
    no_runs: bool,
    prove: bool,
    findings: bool,
    form: str,
    out: Path | None,
) -> None:
    """Examines the machine, prints what is found, and exits with a status."""
    from commlens.findings.behaviour import Plan
    from commlens.findings.examination import examine_program
    from commlens.jobs.spec import JobSpec
    from commlens.render.doctor import Progress, as_json, print_findings
    from commlens.tuning.prove import prove_all

    if program is not None and not program.is_file():
        raise CommlensError(f"{program}: there is no such program; name its file")
    if out is not None:
        outputs.check(out / FILE, outputs.EXAMINATION)
    plan = Plan(launcher, JobSpec(launcher_arguments=launcher_args, nodes=nodes or 0), out)
    terminal = console() if form == "text" else Console(quiet=True)
    progress = Progress(terminal)
    examination = examine_program(
        program, plan, with_runs=not no_runs, begin=progress.begin, tell=progress.add
    )
    proofs: dict[int, Proof] = {}
    interrupted, native = examination.interrupted, examination.native
    if prove and native and not interrupted:
        interrupted = prove_all(examination, native, plan, proofs, say)
    if interrupted:
        say(f"interrupted by {signal.Signals(interrupted - 128).name}")
    print_findings(examination, proofs, terminal, every=findings)
    if form == "json":
        echo(as_json(examination, proofs))
    if out is not None:
        outputs.write(out / FILE, f"{as_json(examination, proofs)}\n", outputs.EXAMINATION)
        say(f"{out / FILE} was written")
    sys.exit(interrupted or (Status.FAILED if examination.has_problem else Status.OK))
