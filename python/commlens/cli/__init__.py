"""The command `commlens`: reads the command line and hands on."""

from __future__ import annotations

import signal
import sys
from contextlib import suppress

import click

import commlens
from commlens.base import terminal
from commlens.base.errors import CommlensError, Status, reason, say, worst
from commlens.cli.compare import compare
from commlens.cli.doctor import doctor
from commlens.cli.list import list_
from commlens.cli.profile import profile
from commlens.cli.records import plot, report, show
from commlens.cli.run import run
from commlens.cli.sites import job, sites, submit_
from commlens.cli.tune import tune
from commlens.jobs.spec import FORMER_NAMES

_PRESENT_NAMES = {former: name for name, former in FORMER_NAMES.items()}  # of options


class _Group(click.Group):
    """Refuses an option that is given twice, of which click itself takes the last."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, found, rest = super().resolve_command(ctx, args)
        if found is not None:
            context = click.Context(found, ctx, name, **found.context_settings)
            with suppress(click.UsageError):  # of which the command itself complains
                _, _, given = found.make_parser(context).parse_args([*rest])
                _refuse_twice(given)
        return name, found, rest


def _refuse_twice(given: list[click.Parameter]) -> None:
    for option in given:
        is_single = isinstance(option, click.Option) and not (option.multiple or option.is_flag)
        if is_single and given.count(option) > 1:
            raise CommlensError(
                f"{max(option.opts, key=len)} is given twice; leave one of them out"
            )


@click.group(
    cls=_Group,
    context_settings={
        "help_option_names": ["--help", "-h"],
        "token_normalize_func": lambda name: _PRESENT_NAMES.get(name, name),
    },
)
@click.version_option(commlens.__version__, prog_name="commlens")
def command() -> None:
    """Measure what communication costs on this machine, and how far that is from what the machine
    can do.

    \b
    Examples:
      commlens list
      commlens run quick
      commlens run latency --memory host
      commlens show results
      commlens plot results/latency-*.jsonl --out latency.png
      commlens compare before.jsonl after.jsonl
      commlens tune allreduce --bytes 80M
      commlens report results
      commlens doctor
      commlens submit frontier --nodes 2 --account CSC262 -- run quick
    """


_SUBCOMMANDS = (
    list_, run, show, plot, compare, tune, report, profile, doctor, sites, job, submit_,
)  # fmt: skip
for _subcommand in _SUBCOMMANDS:
    # click keeps a command's help option as its first context had it, which may be without a parent
    _subcommand.context_settings = {**command.context_settings, **_subcommand.context_settings}
    command.add_command(_subcommand)


def main() -> None:
    """The entry point."""
    with terminal.standard_output() as output:
        status = _status()
    if isinstance(output.error, BrokenPipeError):  # the reader has left: that is no news to it
        status = worst([status, Status.FAILED])
    elif output.error is not None:
        say(f"the standard output cannot be written: {reason(output.error)}")
        status = worst([status, Status.FAILED])
    sys.exit(status)


def _status() -> int:
    """Runs the command: every error that the user can put right is one line, with the exit status
    that belongs to it."""
    try:
        status = command.main(prog_name="commlens", standalone_mode=False)
        return status if isinstance(status, int) else Status.OK
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else Status.OK
    except CommlensError as error:
        say(str(error))
        return error.status
    except click.ClickException as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # which click has since 8.2
            context = getattr(error, "ctx", None)
            terminal.echo(context.get_help() if context else "")
        else:
            say(error.format_message())
        return Status.USAGE
    except click.Abort:
        say("interrupted by SIGINT")
        return 128 + signal.SIGINT
    except MemoryError:
        say("out of memory (see `ulimit -v` and the memory limit of the job)")
        return Status.FAILED
    except OSError as error:
        say(f"{error.filename}: {reason(error)}" if error.filename else reason(error))
        return Status.FAILED
