"""Options of the command line that several commands have: how jobs are launched, and where their
records go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from commlens.cli import values
from commlens.jobs.launchers import CHOICES
from commlens.jobs.spec import MOST_RANKS, JobSpec, Options, parse_environment

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
_AS_IN_RUN = "As in run."


def number(
    name: str, help_text: str, most: int = MOST_RANKS, default: str | None = None
) -> Decorator:
    """An option with a whole number from 1 to `most`."""
    return click.option(
        name,
        metavar="N",
        callback=values.count(most),
        default=default,
        show_default=default is not None,
        help=help_text,
    )


def spec(
    benchmark: str,
    options: Options,
    variables: Sequence[str] = (),
    launcher_args: Sequence[str] = (),
    **numbers: Any,
) -> JobSpec:
    """The job that a command's options name, of which one that is not given is None."""
    given = {name: number for name, number in numbers.items() if number is not None}
    environment = parse_environment(variables)
    return JobSpec(
        benchmark, options, environment=environment, launcher_arguments=launcher_args, **given
    )


def ranks(help_text: str = _AS_IN_RUN) -> Decorator:
    """`--ranks`, the number of ranks."""
    return click.option(
        "-n", "--ranks", metavar="N", callback=values.count(MOST_RANKS), help=help_text
    )


def variables(help_text: str) -> Decorator:
    """`--env`, variables of all ranks."""
    return click.option("--env", "variables", multiple=True, metavar="NAME=VALUE", help=help_text)


def launcher(help_text: str = _AS_IN_RUN) -> Decorator:
    """`--launcher`, the name of a launcher, or auto."""
    return click.option(
        "--launcher",
        metavar="NAME",
        callback=values.word(CHOICES),
        default="auto",
        show_default=True,
        help=help_text,
    )


def launcher_arguments(help_text: str = _AS_IN_RUN) -> Decorator:
    """`--launcher-args`, as a list of words."""
    return click.option(
        "--launcher-args", default="", metavar="TEXT", callback=values.words, help=help_text
    )


def out(help_text: str) -> Decorator:
    """`--out`, a folder that need not exist."""
    return click.option(
        "--out",
        metavar="FOLDER",
        callback=values.folder,
        default="results",
        show_default=True,
        help=help_text,
    )
