"""`commlens run`: a benchmark, several launches or numbers of ranks of it, several, or a suite."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

import click

from commlens.api.running import keep_records, run_jobs
from commlens.base.errors import CommlensError, Status, say, worst
from commlens.base.terminal import echo
from commlens.base.text import shown, whole_number
from commlens.cli import option
from commlens.jobs import suite
from commlens.jobs.native import find_native
from commlens.jobs.run import Ran
from commlens.jobs.session import Settings
from commlens.jobs.sites import site
from commlens.jobs.spec import MOST_LAUNCHES, MOST_RANKS, JobSpec, Options, resolve
from commlens.render import run_summary

_HELP = """Run each BENCHMARK, or a suite of benchmarks, on several ranks.

BENCHMARK is a name from `commlens list`, the name of a suite (`quick`), or a YAML file of your own.
Every option that is not listed here goes to the benchmarks; `commlens run BENCHMARK --help` shows
those. In a suite, benchmarks of pairs take two of the --ranks for each pair.

\b
Examples:
  commlens run quick
  commlens run latency --memory host
  commlens run allreduce bp5 --nodes 2 --ranks-per-node 8
  commlens run allreduce --ranks 4 --bytes 8:1G --transport mpi,staged
  commlens run allreduce --scaling 1,2,4,8
  commlens run bp5 --site frontier --nodes 2
  commlens run latency --launches 5 --env UCX_TLS=self,sm
  commlens run latency --settings best.env
  commlens run allreduce --wait-for-quiet 5m
  commlens run latency --launches 3 --keep

\b
A suite is a list of benchmarks with their options, and how they are launched:
  name: mine
  runs:
    - benchmark: allreduce
      options: {count: 1000000, repeat: 10, memory: host}
    - benchmark: message-rate
      ranks: 4
      options: {pairs: 2}
      environment: {OMPI_MCA_pml: ob1}
      launcher_args: --bind-to core
      launches: 3
"""


@click.command(
    help=_HELP,
    context_settings={"ignore_unknown_options": True},
    add_help_option=False,
    options_metavar="[OPTIONS] [OPTIONS OF THE BENCHMARK]",
)
@click.argument("benchmark", required=False, metavar="BENCHMARK...")
@option.ranks
@option.number("--nodes", "Nodes to spread the ranks over.  [default: all of the allocation]")
@option.number("--ranks-per-node", "Ranks per node; a benchmark of pairs takes two ranks per pair.")
@click.option(
    "--scaling",
    metavar="RANKS,...",
    help="Run on each of these numbers of ranks, and show speed-up and efficiency.",
)
@option.number(
    "--launches",
    "How often to launch the whole job: launches differ more than samples.  [default: 1]",
    MOST_LAUNCHES,
)
@option.variables(help="Set an environment variable for all ranks; may be given several times.")
@click.option(
    "--settings",
    "settings_file",
    metavar="FILE",
    help="Settings that `commlens tune` has found: its best.env, or a file of exports of your own.",
)
@option.launcher
@option.launcher_arguments
@click.option(
    "--site",
    "site_name",
    metavar="NAME",
    help="Launch as on this machine (`commlens sites`), whose modules are loaded already.",
)
@click.option(
    "--wait-for-quiet",
    metavar="TIME",
    callback=option.duration,
    help="Wait up to this time, such as 5m, before each launch until other programs leave the cores"
    " of this machine idle, and its GPUs if the build uses them; skip the launch, with exit status"
    " 1, if they do not.",
)
@option.out(help="Folder for the records.")
@click.option(
    "--keep",
    is_flag=True,
    help="Add the records to the history too (`commlens history`), as a site's `keep: true` does.",
)
@click.option("--wide", is_flag=True, help="Show all metrics in the tables at the end.")
@click.option(
    "--dry-run", is_flag=True,
    help="Print the command line and an estimate of the run time from earlier records in --out; run"
    " nothing.",
)  # fmt: skip
@click.option(
    "--no-probe",
    is_flag=True,
    help="Do not try first, in a job of its own, whether MPI takes GPU memory.",
)
@click.option(
    "--help",
    "-h",
    "show_help",
    is_flag=True,
    help="Show this message, and the options of BENCHMARK.",
)
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def run(
    context: click.Context,
    /,
    benchmark: str | None,
    scaling: str | None,
    settings_file: str | None,
    launcher: str,
    site_name: str | None,
    wait_for_quiet: float | None,
    out: Path,
    keep: bool,
    wide: bool,
    dry_run: bool,
    no_probe: bool,
    show_help: bool,
    options: tuple[str, ...],
    **job: Any,  # its ranks, variables ...
) -> None:
    """Runs benchmarks or a suite; _HELP is the help."""
    if show_help:
        _show_help(context, benchmark)
        return
    names, words = _benchmarks(benchmark, options)
    given = option.spec("", Options.parse(words), **job)
    _check_ranks(given)
    counts = _scaling(scaling, given.ranks or given.ranks_per_node, names)
    overrides = given if settings_file is None else _job_of(settings_file).overridden_by(given)
    of_site = site.load(site_name) if site_name is not None else None
    keeps = keep or (of_site is not None and of_site.keep)
    settings = Settings(
        launcher,
        out,
        dry_run,
        use_probe=not no_probe,
        tables_follow=wide or not (len(names) > 1 or suite.is_suite(names[0])),
        quiet_within_s=wait_for_quiet or 0,
    )
    ran = run_jobs(names, overrides, settings, counts=counts, of_site=of_site, keeps=keeps)
    if ran is None:
        return  # a dry run
    kept = _keep(ran, of_site) if keeps else Status.OK
    run_summary.print_rows(ran)
    if ran.interruption is None and ran.folder is not None:
        run_summary.print_suite(ran, overrides.options, wide=wide)
    elif ran.interruption is None and counts:
        run_summary.print_scaling(ran)
    elif ran.interruption is None:
        run_summary.print_run(ran, wide=wide)
    context.exit(worst([ran.status, kept]))


def _job_of(settings_file: str) -> JobSpec:
    from commlens.tuning import fix

    change = fix.read(Path(settings_file))
    return JobSpec("", change.options, 0, change.environment, change.launcher_arguments)


def _keep(ran: Ran, of_site: site.Site | None) -> int:
    """Adds the records to the history, those of a run that was interrupted too."""
    if not ran.records:
        return Status.OK
    try:
        say(str(keep_records(ran, of_site)))
    except CommlensError as error:  # the records are in their files, and are shown
        say(str(error))
        return Status.FAILED
    return Status.OK


def check_words(words: Sequence[str]) -> None:
    """Raises CommlensError for a command line of `commlens run` that is wrong on every machine; as
    far as the native program is here to say so."""
    with run.make_context("run", [*words]) as context:
        given = context.params
    names, more = _benchmarks(given["benchmark"], given["options"])
    spec = option.spec("", Options.parse(more), given["variables"], ranks=given["ranks"])
    is_single = len(names) == 1 and not suite.is_suite(names[0])
    try:
        native = find_native()
        native.benchmarks  # noqa: B018 (asks it)
    except CommlensError:
        return
    if is_single:
        jobs = [JobSpec(names[0]).overridden_by(spec)]
    else:
        jobs, _ = suite.overridden(suite.of_names(names).entries, spec, native)
    resolve(jobs, native)


def _show_help(context: click.Context, benchmark: str | None) -> None:
    echo(context.get_help())
    if benchmark and not suite.is_suite(benchmark):
        native = find_native()
        name = native.benchmark(benchmark).name
        echo(f"\nOptions of {name}:\n\n{native.help(name)}")


def _benchmarks(first: str | None, words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The names of benchmarks, and the words after them, which are their options."""
    if first is None:
        raise CommlensError("run what? name a benchmark or a suite: `commlens list` shows them")
    if first.startswith("-"):
        raise CommlensError(
            f"'{first}' stands where the benchmark must: write `commlens run BENCHMARK {first} ...`"
        )
    more = list(takewhile(lambda word: not word.startswith("-"), words))
    return [first, *more], list(words[len(more) :])


def _check_ranks(job: JobSpec) -> None:
    """Raises CommlensError for numbers that cannot go together."""
    if job.ranks and job.ranks_per_node:
        raise CommlensError(
            f"--ranks-per-node {job.ranks_per_node} beside --ranks {job.ranks}: both say how many"
            " ranks; leave one of them out"
        )
    if 0 < job.ranks < job.nodes:
        raise CommlensError(
            f"--nodes {job.nodes} with --ranks {job.ranks}: a node needs a rank at least"
        )


def _scaling(text: str | None, ranks: int, names: Sequence[str]) -> list[int]:
    """The numbers of ranks in `1,2,4`. Raises CommlensError for what is none, or cannot go with
    the other words."""
    if text is None:
        return []
    words = text.split(",")
    counts = [whole_number(word) or 0 for word in words]
    wrong = [word for word, count in zip(words, counts) if not 1 <= count <= MOST_RANKS]
    mistake = ""
    if ranks:
        mistake = f" beside --ranks {ranks}: both say on how many ranks; leave one of them out"
    elif len(names) > 1 or suite.is_suite(names[0]):
        fact = f"{names[0]} is a suite" if len(names) == 1 else f"{len(names)} benchmarks are named"
        mistake = f": {fact}; name a single benchmark, or run without"
    elif wrong:
        fix = f"write whole numbers from 1 to {MOST_RANKS:,} as in 1,2,4,8"
        mistake = f": '{wrong[0][:20]}' is no number of ranks; {fix}"
    elif len(set(counts)) < len(counts):
        twice = next(count for count in counts if counts.count(count) > 1)
        mistake = f": {twice} stands there twice; leave one of them out"
    if mistake:
        raise CommlensError(f"--scaling {shown(text, 80)}{mistake}")
    return counts
