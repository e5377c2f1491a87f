"""The command `commlens`: reads the command line and hands on."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

import commlens
from commlens import launchers, suite
from commlens import show as tables
from commlens.errors import CommlensError, Status
from commlens.native import find_native
from commlens.profile_record import Profile
from commlens.profile_show import profile_lines
from commlens.records import load
from commlens.run import Runner, Settings, say
from commlens.text import plural

_RUN_HELP = """Run BENCHMARK, or a suite of benchmarks, on several ranks.

BENCHMARK is a name from `commlens list`, the name of a suite (`quick`), or a YAML file of your own. Every option that
is not listed here goes to the benchmark; `commlens run BENCHMARK --help` shows those.

\b
Examples:
  commlens run quick
  commlens run latency --memory host
  commlens run allreduce --ranks 4 --bytes 8:1G --transport mpi,staged
  commlens run allreduce --scaling 1,2,4,8

\b
A suite is a list of benchmarks with their options:
  name: mine
  runs:
    - benchmark: allreduce
      options: {count: 1000000, repeat: 10, memory: host}
    - benchmark: message-rate
      ranks: 4
      options: {pairs: 2}
"""


@click.group(context_settings={"help_option_names": ["--help", "-h"]})
@click.version_option(commlens.__version__, prog_name="commlens")
def command() -> None:
    """Measure what communication costs on this machine, and how far that is from what the machine can do.

    \b
    Examples:
      commlens list
      commlens run quick
      commlens run latency --memory host
      commlens show results
      commlens plot results/latency-*.jsonl --out latency.png
    """


@command.command(
    help=_RUN_HELP,
    context_settings={"ignore_unknown_options": True},
    add_help_option=False,
    options_metavar="[OPTIONS] [OPTIONS OF THE BENCHMARK]",
)
@click.argument("benchmark", required=False)
@click.option(
    "-n",
    "--ranks",
    type=click.IntRange(1, launchers.MOST_RANKS),
    help="Ranks to start.  [default: one a GPU, at least 2]",
)
@click.option(
    "--scaling",
    metavar="RANKS,...",
    help="Run on each of these numbers of ranks in turn, and show what more ranks bring.",
)
@click.option(
    "--launcher", type=click.Choice(launchers.CHOICES), default="auto", show_default=True, help="Starts the ranks."
)
@click.option("--launcher-args", default="", metavar="TEXT", help="More options for the launcher, as one text.")
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("results"), show_default=True, help="Folder for the records."
)
@click.option("--dry-run", is_flag=True, help="Print the command line and run nothing.")
@click.option("--no-probe", is_flag=True, help="Do not try first, in a job of its own, whether MPI takes GPU memory.")
@click.option("--help", "-h", "show_help", is_flag=True, help="Show this message, and the options of BENCHMARK.")
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def run(
    context: click.Context,
    benchmark: str | None,
    ranks: int | None,
    scaling: str | None,
    launcher: str,
    launcher_args: str,
    out: Path,
    dry_run: bool,
    no_probe: bool,
    show_help: bool,
    options: tuple[str, ...],
) -> None:
    if show_help:
        click.echo(context.get_help())
        if benchmark and not suite.is_suite(benchmark):
            native = find_native()
            click.echo(f"\nOptions of {native.benchmark(benchmark).name}:\n\n{native.help(benchmark)}")
        return
    if benchmark is None:
        raise CommlensError("run what? name a benchmark or a suite: `commlens list` shows them")
    if benchmark.startswith("-"):
        raise CommlensError(
            f"'{benchmark}' stands where the benchmark must: write `commlens run BENCHMARK {benchmark} ...`"
        )
    counts = _scaling(scaling, ranks, benchmark) if scaling is not None else None
    settings = Settings(ranks, launcher, _words(launcher_args), out, dry_run, use_probe=not no_probe)
    wanted = suite.load(benchmark) if suite.is_suite(benchmark) else None
    runner = Runner(find_native(), settings)
    if counts:
        context.exit(runner.run_scaling(benchmark, options, counts))
    context.exit(runner.run_suite(wanted, options) if wanted else runner.run_benchmark(benchmark, options))


def _scaling(text: str, ranks: int | None, benchmark: str) -> list[int]:
    """The numbers of ranks in `1,2,4`. Raises CommlensError for what is none, or cannot go with the other words."""
    if ranks is not None:
        raise CommlensError(
            f"--scaling {text} beside --ranks {ranks}: both say on how many ranks; leave one of them out"
        )
    if suite.is_suite(benchmark):
        raise CommlensError(
            f"--scaling {text}: {benchmark} is a suite; name a single benchmark, or run the suite without"
        )
    if not text:
        raise CommlensError("--scaling '': name numbers of ranks, as in 1,2,4,8")
    counts: list[int] = []
    for word in text.split(","):
        if not (word.isascii() and word.isdecimal()) or not 1 <= int(word) <= launchers.MOST_RANKS:
            raise CommlensError(
                f"--scaling {text}: '{word}' is no number of ranks; "
                f"write whole numbers from 1 to {launchers.MOST_RANKS:,} as in 1,2,4,8"
            )
        if int(word) in counts:
            raise CommlensError(f"--scaling {text}: {word} stands there twice; leave one of them out")
        counts.append(int(word))
    return counts


def _words(launcher_arguments: str) -> list[str]:
    try:
        return shlex.split(launcher_arguments)
    except ValueError as error:
        raise CommlensError(f"--launcher-args {launcher_arguments!r}: {str(error).lower()}") from None


@command.command("list")
def list_() -> None:
    """Show the benchmarks, the suites, and what this build has.

    \b
    Example:
      commlens list
    """
    native = find_native()
    about = native.about
    console = _console()
    _print_names(console, "Benchmarks", {entry.name: entry.description for entry in native.benchmarks.values()})
    _print_names(console, "Suites", {name: suite.load(name).description for name in suite.shipped()})
    gpus = f" ({plural(about.gpus, 'GPU')} here)" if about.backend != "host" else ""
    _print_names(
        console,
        "This build",
        {
            "program": f"{native.path}, version {about.version}",
            "backend": about.backend + gpus,
            "transports": ", ".join(about.transports),
            "MPI": about.mpi,
            "formats": ", ".join(about.formats),
        },
    )


def _print_names(console: Console, title: str, lines: dict[str, str]) -> None:
    table = Table.grid(padding=(0, 3, 0, 0))
    for name, description in lines.items():
        table.add_row(Text(f"  {name}", style="cyan"), Text(description))
    console.print(Text(title, style="bold"), table, "", sep="\n")


@command.command()
@click.argument("records", nargs=-1, required=True, type=click.Path(path_type=Path))
def show(records: tuple[Path, ...]) -> None:
    """Show RECORDS, files or folders of them, as tables.

    \b
    Examples:
      commlens show results
      commlens show monday.jsonl tuesday.jsonl
    """
    loaded = load(records)
    if loaded.records or not loaded.profiles:
        tables.show(loaded.records, _console())
    for run_profile in loaded.profiles:
        _print_profile(run_profile)
    _report(loaded.problems)
    if not loaded.records and not loaded.profiles and not loaded.problems:
        raise CommlensError(f"there is no record in {', '.join(map(str, records))}")
    sys.exit(Status.FAILED if loaded.problems else Status.OK)


@command.command()
@click.argument("records", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Picture to write: .png, .svg or .pdf.")
def plot(records: tuple[Path, ...], out: Path) -> None:
    """Draw RECORDS, files or folders of them, against size; and how far the parts of an operation overlap.

    Profiles are drawn as time by function, bytes by peer and sizes of messages. Beside other records they get a picture
    of their own, NAME-profiles where --out has NAME.

    \b
    Examples:
      commlens plot results --out all.png
      commlens plot monday.jsonl tuesday.jsonl --out both.pdf
    """
    from commlens import plot as pictures  # here, as loading matplotlib takes longer than many a command

    pictures.check_ending(out)
    loaded = load(records)
    written = []
    left_out = 0
    if loaded.records or not loaded.profiles:
        left_out = len(loaded.records) - pictures.plot(loaded.records, out)
        written.append(out)
    if loaded.profiles:
        written.append(out.with_stem(f"{out.stem}-profiles") if written else out)
        pictures.plot_profiles(loaded.profiles, written[-1])
    _report(loaded.problems)
    if left_out:
        say(f"left out {plural(left_out, 'record')}, failed or skipped; `commlens show` has the reasons")
    for picture in written:
        click.echo(picture)
    sys.exit(Status.FAILED if loaded.problems else Status.OK)


@command.command("profile", context_settings={"allow_interspersed_args": False}, options_metavar="[OPTIONS] [--]")
@click.option("--callsites", is_flag=True, help="Also tell from which function and line each function was called.")
@click.option(
    "--waiting",
    is_flag=True,
    help="Time how long collectives wait for the last rank: by a barrier before each, which changes the run.",
)
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("results"), show_default=True, help="Folder for the record."
)
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED, metavar="LAUNCHER... PROGRAM...")
@click.pass_context
def profile_(context: click.Context, callsites: bool, waiting: bool, out: Path, program: tuple[str, ...]) -> None:
    """Run an MPI program, unmodified, and show where its time goes: time, imbalance, calls and bytes of each function.

    The program keeps its standard streams, and its exit status is that of this command.

    \b
    Examples:
      commlens profile -- mpirun -n 4 ./program
      commlens profile --callsites --out profiles -- srun -n 64 ./program input.txt
    """
    from commlens import profile as profiling

    outcome = profiling.run(program, out, with_call_sites=callsites, with_waiting=waiting)
    if outcome.profile is not None:
        _print_profile(outcome.profile)
    if outcome.profile is not None and outcome.file is not None:
        click.echo(f"\nrecord:   {outcome.file}")
        if picture := profiling.draw(outcome.profile, outcome.file):
            click.echo(f"picture:  {picture}")
    context.exit(outcome.status)


def _print_profile(run_profile: Profile) -> None:
    for line in profile_lines(run_profile):
        click.echo(line)


def _report(problems: list[str]) -> None:
    for problem in problems:
        say(problem)


def _console() -> Console:
    return tables.console()


def main() -> None:
    """The entry point: every error that the user can put right is one line, with the exit status that belongs to it."""
    try:
        status = command.main(prog_name="commlens", standalone_mode=False)
        sys.exit(status if isinstance(status, int) else Status.OK)
    except CommlensError as error:
        say(str(error))
        sys.exit(error.status)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help() if error.ctx else "")
        sys.exit(Status.USAGE)
    except click.ClickException as error:
        say(error.format_message())
        sys.exit(Status.USAGE)
    except click.Abort:
        sys.exit(128 + signal.SIGINT)
    except BrokenPipeError:
        # The reader has left; Python would complain once more when it flushes on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(Status.FAILED)
