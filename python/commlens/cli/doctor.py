"""`commlens doctor`: what is wrong with this machine, its MPI library and its settings."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commlens.base.errors import CommlensError, Status, reason, say
from commlens.base.terminal import console, echo
from commlens.cli import values
from commlens.jobs import launchers
from commlens.render.doctor_document import FILE

if TYPE_CHECKING:
    from commlens.compare.proof import Proof
    from commlens.findings.behaviour import Plan
    from commlens.jobs.native import Native
    from commlens.machine.machine import Machine

_HELP = """Look for what makes communication slow or wrong on this machine: its MPI library, kernel,
hardware, limits and settings; and run short benchmarks. Nothing on the machine is changed.

PROGRAM is one whose MPI library is to be looked at; by default the native program of commlens.

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
@click.argument("program", required=False, type=click.Path(path_type=Path))
@click.option(
    "--nodes",
    metavar="N",
    callback=values.count(_MOST_NODES),
    help="Look at so many nodes, through the launcher.  [default: this one, without a launcher]",
)
@click.option(
    "--launcher", metavar="NAME", callback=values.word(launchers.CHOICES), default="auto",
    show_default=True, help="As in run.",
)  # fmt: skip
@click.option(
    "--launcher-args",
    default="",
    metavar="TEXT",
    help="As in run. Settings in them (-x, --mca) count as set.",
)
@click.option("--no-runs", is_flag=True, help="Start no benchmark.")
@click.option(
    "--prove", is_flag=True, help="Try each fix that is a setting: measure without it and with it."
)
@click.option(
    "--format", "form", metavar="NAME", callback=values.word(["text", "json"]), default="text",
    show_default=True, help="text, json.",
)  # fmt: skip
@click.option(
    "--out",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help=f"Keep the records of short runs there, and {FILE}.  [default: nothing is kept]",
)
def doctor(
    program: Path | None,
    nodes: int | None,
    launcher: str,
    launcher_args: str,
    no_runs: bool,
    prove: bool,
    form: str,
    out: Path | None,
) -> None:
    from commlens.findings import behaviour
    from commlens.findings.behaviour import Behaviour, Plan
    from commlens.findings.examination import examine
    from commlens.render.doctor import Progress, as_json, print_findings, print_machines
    from commlens.tuning.prove import prove_all

    if program is not None and not program.is_file():
        raise CommlensError(f"{program}: there is no such program; name its file")
    plan = Plan(launcher, values.words("--launcher-args", launcher_args), nodes, out)
    native, why_not = _native()
    machines = _machines(program, native, plan)

    def observe() -> Behaviour:
        if no_runs:
            return Behaviour(why_none="no job was started (--no-runs)")
        return behaviour.observe(native, plan) if native else Behaviour(why_none=why_not)

    terminal = console()
    if form == "text":
        print_machines(machines, terminal)
    tell = Progress(terminal) if form == "text" else lambda _: None
    examination = examine(machines, observe, tell, nodes=nodes or 1)
    runs = examination.view.behaviour
    interrupted = runs.interrupted if runs else 0
    proofs: dict[int, Proof] = {}
    if prove and native and not interrupted:
        interrupted = prove_all(examination, native, plan, proofs, say)
    if interrupted:
        say(f"interrupted by {signal.Signals(interrupted - 128).name}")
    if form == "json":
        echo(as_json(examination, proofs))
    else:
        print_findings(examination, proofs, terminal)
    if out is not None:
        _keep(out, as_json(examination, proofs))
    sys.exit(interrupted or (Status.FAILED if examination.has_problem else Status.OK))


def _machines(program: Path | None, native: Native | None, plan: Plan) -> list[Machine]:
    """One a node: this one, or those that the launcher reaches."""
    from commlens.findings import nodes as other_nodes
    from commlens.machine.machine import look
    from commlens.machine.system import ThisSystem

    looked_at = str(program.resolve()) if program else str(native.path) if native else ""
    arguments = plan.launcher_arguments
    if plan.nodes is not None:
        return other_nodes.look(plan.nodes, plan.launcher, arguments, native, looked_at)
    environment = dict(os.environ)
    if arguments and native:
        chosen = launchers.choose(plan.launcher, native)
        environment.update(launchers.variables_set_by(arguments, chosen.launcher))
    return [look(ThisSystem(environment), looked_at)]


def _native() -> tuple[Native | None, str]:
    """The native program, or why there is none."""
    from commlens.jobs.native import find_native

    try:
        return find_native(os.environ), ""
    except CommlensError as error:
        return None, str(error)


def _keep(out: Path, text: str) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / FILE).write_text(f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise CommlensError(f"--out {out}: {FILE} cannot be written ({reason(error)})") from None
    say(f"{out / FILE} was written")
