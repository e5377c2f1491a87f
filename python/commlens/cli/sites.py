"""`commlens sites`, `commlens job` and `commlens submit`: machines, and jobs on them."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from commlens.base.errors import CommlensError, say, worst
from commlens.base.terminal import console, echo
from commlens.base.text import whole_number
from commlens.cli import option
from commlens.cli.group import CommandGroup
from commlens.cli.run import check_words
from commlens.jobs.sites import script, site, submit
from commlens.jobs.sites.script import Request
from commlens.render import run_summary
from commlens.render.sites import site_of
from commlens.render.table import Column, Table
from commlens.render.terminal import print_things

_MOST_NODES = 1_000_000
_MOST_MINUTES = 60 * 24 * 365
_DEFAULT_MINUTES = "30"


@click.group(cls=CommandGroup, invoke_without_command=True)
@click.pass_context
def sites(context: click.Context) -> None:
    """Show the machines that commlens knows how to run jobs on, and how well each is tested.

    A site of your own is a YAML file in ~/.config/commlens/sites, or a path (docs/sites.md).

    \b
    Examples:
      commlens sites
      commlens sites show frontier
    """
    if context.invoked_subcommand is not None:
        return
    known = [(name, site.load(name)) for name in site.names()]
    print_things(console(), [Table(_SITES, known)])


@sites.command()
@click.argument("name", metavar="SITE")
def show(name: str) -> None:
    """Show what is known of SITE, and how ranks, GPUs and network adapters of a node belong
    together.

    \b
    Example:
      commlens sites show frontier
    """
    print_things(console(), [site_of(site.load(name))])


def _title(row: tuple[str, site.Site]) -> str:
    """`Frontier (this machine)`"""
    known = row[1]
    return f"{known.title}{' (this machine)' if known.is_here(socket.getfqdn()) else ''}"


_SITES: tuple[Column[tuple[str, site.Site]], ...] = (
    Column("site", lambda row: row[0], left=True, style="cyan"),
    Column("scheduler", lambda row: row[1].scheduler, left=True),
    Column("nodes", lambda row: row[1].most_nodes, format=lambda most: f"to {most}", left=True),
    Column(
        "status",
        lambda row: row[1].status,
        left=True,
        style=lambda row: "green" if row[1].status == "tested" else "",
    ),
    Column("facts of", lambda row: row[1].checked, left=True),
    Column("machine", _title, left=True, wraps=True),
)


def minutes_in(text: str) -> int | None:
    """Minutes in `30`, or in `00:30:00` or `1:30`, which begin with hours; None for other texts."""
    numbers = [number for part in text.split(":") if (number := whole_number(part)) is not None]
    if len(numbers) != text.count(":") + 1 or len(numbers) > 3:
        return None
    hours, minutes, *seconds = numbers if len(numbers) > 1 else (0, *numbers)
    if len(numbers) > 1 and max(minutes, *seconds, 0) > 59:
        return None
    total = hours * 60 + minutes + any(seconds)
    return total if 1 <= total <= _MOST_MINUTES else None


_OF_NEW = ("nodes", "minutes", "account", "queue", "detach", "dry_run")  # a job to be submitted


def _name(context: click.Context, option_: click.Parameter, text: str | None) -> str:
    """Empty where it is not given: an empty text is a variable that is not set."""
    return (
        option.value(lambda word: word.strip() or None, "write a name")(context, option_, text)
        or ""
    )


def _options_of_jobs(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options that `job` and `submit` have in common."""
    time = click.option(
        "--time", "minutes", metavar="MINUTES", default=_DEFAULT_MINUTES, show_default=True,
        callback=option.value(minutes_in, "write minutes (30), or hours and minutes (00:30:00)"),
        help="The job's time limit: 30, or 00:30:00.",
    )  # fmt: skip
    nodes = option.number("--nodes", "Nodes of the job.", _MOST_NODES, "1")
    account, queue = (
        click.option(name, metavar="NAME", callback=_name, default=None, help=help_text)
        for name, help_text in (
            ("--account", "Project that pays."),
            ("--queue", "Not the site's usual one."),
        )
    )
    return nodes(time(account(queue(command))))


@click.command(options_metavar="[OPTIONS]")
@click.argument("name", metavar="SITE")
@_options_of_jobs
@click.argument("words", metavar="-- run BENCHMARK ...", nargs=-1, type=click.UNPROCESSED)
def job(
    name: str, nodes: int, minutes: int, account: str, queue: str, words: tuple[str, ...]
) -> None:
    """Print the batch script of a job on SITE.

    It is complete: change it as you like, and submit it yourself. Where the site takes no job
    without an account and none is named, ACCOUNT stands in its place.

    \b
    Examples:
      commlens job frontier --nodes 2 --time 30 --account CSC262 -- run allreduce bp5
      commlens job generic-slurm -- run quick >job.sh && sbatch job.sh
    """
    chosen = site.load(name)
    is_missing = chosen.account == "required" and not account
    wanted = Request(nodes, minutes, words, "ACCOUNT" if is_missing else account, queue)
    _check(wanted, chosen)
    text = script.render(chosen, wanted)
    if is_missing:
        say(f"--account is missing: write your project's name in place of {wanted.account}")
    echo(text.rstrip("\n"))


@click.command("submit", options_metavar="[OPTIONS]")
@click.argument("name", metavar="SITE", required=False)
@_options_of_jobs
@option.out(help="Folder for the folder of the job.")
@click.option("--detach", is_flag=True, help="Do not wait for the end of the job.")
@click.option("--attach", metavar="JOB", help="Wait for a job that was submitted before.")
@click.option("--dry-run", is_flag=True, help="Print the script and submit nothing.")
@click.argument("words", metavar="-- run BENCHMARK ...", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def submit_(
    context: click.Context,
    name: str | None,
    nodes: int,
    minutes: int,
    account: str,
    queue: str,
    out: Path,
    detach: bool,
    attach: str | None,
    dry_run: bool,
    words: tuple[str, ...],
) -> None:
    """Submit a job on SITE, wait for its end, and show its records.

    Its folder has its script, its log, its exit status and its records. Ctrl-C asks whether to
    cancel it.

    \b
    Examples:
      commlens submit frontier --nodes 2 --time 30 --account CSC262 -- run quick
      commlens submit generic-slurm --detach -- run allreduce
      commlens submit --attach 12345
    """
    if attach is not None:
        if name or words:
            raise CommlensError("--attach: name a job alone; its site and words are known")
        if of_new := option.given(context, _OF_NEW):
            raise CommlensError(f"--attach: the job was submitted before; leave out {of_new[0]}")
        context.exit(_wait(submit.find(attach, out)))
    if name is None:
        raise CommlensError("submit where? name a site: `commlens sites` shows them")
    wanted = Request(nodes, minutes, words, account, queue)
    chosen = site.load(name)
    _check(wanted, chosen)
    if dry_run:
        submit.print_plan(chosen, wanted)
        return
    submitted = submit.submit(chosen, wanted, out)
    echo(f"job {submitted.job} in {submitted.folder}")
    if detach:
        submit.print_attach(submitted)
        return
    context.exit(_wait(submitted))


def _check(wanted: Request, chosen: site.Site) -> None:
    """Raises CommlensError for what the site would refuse, or `commlens run` there."""
    wanted.check(chosen)
    check_words(wanted.words[1:])


def _wait(submitted: submit.Submitted) -> int:
    """Waits for the end of the job, shows its records, and returns the exit status."""
    status, has_ended = submit.wait(submitted)
    return worst([status, run_summary.show_folder(submitted.folder)]) if has_ended else status
