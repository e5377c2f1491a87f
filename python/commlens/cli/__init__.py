"""The command `commlens`: reads the command line and hands on."""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module

import click

import commlens
from commlens.base import terminal
from commlens.base.errors import CommlensError, Status, reason, say, worst
from commlens.cli.group import COMPLETES, CommandGroup

_HELP_OPTIONS = {"help_option_names": ["--help", "-h"]}
_COMMANDS = {  # the module and the name in it, and what the list of commands says
    "build": ("build.build", "Build the native program with this machine's MPI library."),
    "compare": ("compare.compare", "Say what is faster, slower or the same."),
    "completion": ("completion.completion", "Print the completion script of a shell."),
    "doctor": ("doctor.doctor", "Look for what makes communication slow or wrong."),
    "history": ("history.history", "Keep records over time; say what has become slower, and why."),
    "job": ("sites.job", "Print the batch script of a job on a site."),
    "list": ("list.list_", "Show the benchmarks, the suites and published results."),
    "plot": ("records.plot", "Draw records against size or number of ranks."),
    "profile": ("profile.profile", "Run an MPI program and show where its time goes."),
    "replay": ("replay.replay", "Execute the trace of a program, without the program."),
    "report": ("records.report", "Write a report of records."),
    "reroute": ("reroute.reroute", "Run an MPI program with its GPU collectives through NCCL."),
    "run": ("run.run", "Run benchmarks, or a suite of them, on several ranks."),
    "show": ("records.show", "Show records as tables, and what stands out."),
    "sites": ("sites.sites", "Show the machines that jobs can be submitted on."),
    "submit": ("sites.submit_", "Submit a job on a site and show its records."),
    "trace": ("trace.trace", "Show and check the trace of a program's calls."),
    "tune": ("tune.tune", "Find faster settings of the libraries."),
}


def _present_name(name: str) -> str:
    from commlens.jobs.spec import FORMER_NAMES

    return {former: present for present, former in FORMER_NAMES.items()}.get(name, name)


class _Commands(CommandGroup):
    """Imports a command when it is asked for: all of them take most of a second."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*_COMMANDS]  # list is a module here, once it is imported

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, _, name = _COMMANDS[cmd_name][0].partition(".")
        found: click.Command = getattr(import_module(f"commlens.cli.{module}"), name)
        # click keeps a command's help option as its first context had it, which may be without a
        # parent
        settings = {**_HELP_OPTIONS, "token_normalize_func": _present_name}
        found.context_settings = {**settings, **found.context_settings}
        if COMPLETES in os.environ:
            from commlens.cli.completion import equip

            equip(found)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in _COMMANDS.items()])


@click.group(cls=_Commands, context_settings=_HELP_OPTIONS)
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
      commlens history add results
      commlens history show
      commlens report results
      commlens doctor
      commlens submit frontier --nodes 2 --account CSC262 -- run quick
    """


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
        if COMPLETES in os.environ:
            return Status.OK  # who is still writing has made no mistake
        for line in (*error.problems, str(error)):
            say(line)
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
