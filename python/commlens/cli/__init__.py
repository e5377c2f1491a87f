"""The command `commlens`: reads the command line and hands on."""

from __future__ import annotations

import signal
import sys

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


@click.group(
    context_settings={
        "help_option_names": ["--help", "-h"],
        "token_normalize_func": lambda name: _PRESENT_NAMES.get(name, name),
    }
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
    except OSError as error:
        say(f"{error.filename}: {reason(error)}" if error.filename else reason(error))
        return Status.FAILED
