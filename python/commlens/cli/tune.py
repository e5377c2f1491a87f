"""`commlens tune`: the settings with which a benchmark is fastest here."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from commlens.base.errors import CommlensError
from commlens.base.outputs import reserve
from commlens.base.terminal import echo
from commlens.cli import option
from commlens.cli.replay import ranks_of
from commlens.jobs.native import find_native
from commlens.jobs.session import Session, Settings
from commlens.jobs.spec import Options

_HELP = """Find the settings of the MPI library, of UCX, of NCCL and of the launcher with which
BENCHMARK is fastest here.

The default is measured first, then each value of each setting alone, then the best ones together.
The winner and the default are measured again, interleaved; where that is a tie, nothing is
recommended.
Settings that crash, hang or give wrong results are shown as such. Every option that is not listed
here goes to the benchmark: sizes, memory and transports (`commlens run BENCHMARK --help`).

\b
Examples:
  commlens tune latency --memory host
  commlens tune latency --from device --to device --bytes 1,4M
  commlens tune allreduce --bytes 80M --budget 10m --space library
  commlens tune latency --matrix gpudirect
  commlens tune allreduce --bytes 8:64M:x8 --by-size
  commlens tune allreduce --space my-settings.yaml --dry-run
  commlens tune --replay program.clt
  commlens tune --resume results/tune-latency-20260102-030405
  commlens run latency --settings results/tune-latency-20260102-030405/best.env

Exit status: 0; 1 where the budget has ended before anything was compared with the default; 4 where
nothing could be decided, or where a matrix cannot be measured here.
"""

_OF_RESUMED = {"resume", "budget", "launches", "dry_run"}  # all else is as it was begun


@click.command(
    help=_HELP,
    context_settings={"ignore_unknown_options": True},
    options_metavar="[OPTIONS] [OPTIONS OF THE BENCHMARK]",
)
@click.argument("benchmark", required=False)
@click.option(
    "--budget", metavar="TIME", callback=option.duration, default="10m", show_default=True,
    help="How long it may take: 90s, 10m, 2h.",
)  # fmt: skip
@click.option(
    "--space", "spaces", metavar="NAME", multiple=True, default=("curated",), show_default=True,
    help="Which settings: curated, library (beside those, all that the installed libraries list),"
    " or a YAML file; may be given several times.",
)  # fmt: skip
@option.number(
    "--launches",
    "Launches of the winner and of the default at the end: fewer than 5 decide little.",
    100,
    "5",
)
@click.option("--by-size", is_flag=True, help="Tune small, medium and large sizes separately.")
@click.option("--matrix", metavar="NAME", help="Measure a named table of settings instead.")
@click.option(
    "--replay", type=option.path, metavar="FILE",
    help="Tune for the program of this trace: the benchmark replay on as many ranks.",
)  # fmt: skip
@click.option("--resume", metavar="FOLDER", help="Go on with the search in this folder.")
@option.ranks
@option.variables(help="Set a variable for all launches; it is then not varied.")
@option.launcher
@option.launcher_arguments
@option.out(help="Folder for the folder of this search.")
@click.option("--dry-run", is_flag=True, help="Print what would be tried and run nothing.")
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def tune(
    context: click.Context,
    /,
    benchmark: str | None,
    budget: float,
    spaces: tuple[str, ...],
    launches: int,
    by_size: bool,
    matrix: str | None,
    replay: Path | None,
    resume: str | None,
    launcher: str,
    out: Path,
    dry_run: bool,
    options: tuple[str, ...],
    **job: Any,  # its ranks, variables ...
) -> None:
    """Runs the command; its help is _HELP."""
    if resume is not None:
        if benchmark is not None:
            raise CommlensError(
                f"--resume {resume}: the search has its benchmark and options; leave out"
                f" '{benchmark}'"
            )
        if used := option.given(context, context.params.keys() - _OF_RESUMED):
            raise CommlensError(
                f"--resume {resume}: the search goes on as it was begun; leave out"
                f" {next(iter(options), used[0])}"
            )
        from commlens.tuning import command, plan

        made = plan.resumed(option.path(resume))
        if dry_run:
            command.show_plan(made, budget)
            return
        session = Session(find_native(), _settings(made.launcher, out))
        sys.exit(command.tune(session, made, Path(resume), budget, launches))
    if replay is not None:
        benchmark, options = _of_replay(replay, benchmark, options)
        job["ranks"] = job["ranks"] or ranks_of(replay)
    if benchmark is None or benchmark.startswith("-"):
        raise CommlensError("tune what? name a benchmark: `commlens list` shows them")
    from commlens.tuning import command, plan

    session = Session(find_native(), _settings(launcher, out))
    name = session.native.benchmark(benchmark).name
    entry = option.spec(name, Options.parse(options), **job)
    if matrix is not None:
        if by_size or dry_run or spaces != ("curated",):
            raise CommlensError(
                f"--matrix {matrix} measures the settings that it names: leave out --space,"
                " --by-size and --dry-run"
            )
        from commlens.tuning.matrix import measure

        sys.exit(measure(session, entry, matrix, out, budget, launches))
    for space in spaces:
        option.path(space)  # as a word, or as the name of a file
    made = plan.planned(session, entry, launcher, spaces, by_size=by_size)
    if dry_run:
        command.show_plan(made, budget)
        return
    folder = reserve(out, f"tune-{made.job.benchmark}")
    made.save(folder)
    echo(f"search: {folder}")
    sys.exit(command.tune(session, made, folder, budget, launches))


def _of_replay(
    trace: Path, first: str | None, options: tuple[str, ...]
) -> tuple[str, tuple[str, ...]]:
    """The benchmark and its options; `first`: of the words that are not options of this command."""
    if first is not None and not first.startswith("-"):
        raise CommlensError(f"--replay {trace}: that is the benchmark; leave out '{first}'")
    return "replay", ("--trace", str(trace), *filter(None, [first]), *options)


def _settings(launcher: str, out: Path) -> Settings:
    """A start that fails is a result; so GPU memory needs no probe, and nothing else is said."""
    return Settings(launcher, out, use_probe=False, silent=True)
