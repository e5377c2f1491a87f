"""The command `commlens`: reads the command line and hands on."""

from __future__ import annotations

import os
import signal
import sys

import click

import commlens
from commlens.cli.list import list_
from commlens.cli.plot import plot
from commlens.cli.profile import profile
from commlens.cli.run import run
from commlens.cli.show import show
from commlens.errors import CommlensError, Status, say


@click.group(context_settings={"help_option_names": ["--help", "-h"]})
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
    """


for _subcommand in (list_, run, show, plot, profile):
    command.add_command(_subcommand)


def main() -> None:
    """The entry point: every error that the user can put right is one line, with the exit status
    that belongs to it."""
    try:
        status = command.main(prog_name="commlens", standalone_mode=False)
        sys.exit(status if isinstance(status, int) else Status.OK)
    except CommlensError as error:
        say(str(error))
        sys.exit(error.status)
    except click.ClickException as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # which click has since 8.2
            context = getattr(error, "ctx", None)
            click.echo(context.get_help() if context else "")
        else:
            say(error.format_message())
        sys.exit(Status.USAGE)
    except click.Abort:
        sys.exit(128 + signal.SIGINT)
    except BrokenPipeError:
        # The reader has left; Python would complain once more when it flushes on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(Status.FAILED)
