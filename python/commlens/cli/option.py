"""Options of the command line that several commands have: how jobs are launched, where their
records go; and values, whose mistakes are reported as all others are: option, value and fix."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from commlens.base.errors import CommlensError
from commlens.base.text import enumerated, shown, whole_number
from commlens.jobs.launchers import CHOICES
from commlens.jobs.spec import MOST_RANKS, JobSpec, Options, parse_environment

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
Callback = Callable[[click.Context, click.Parameter, Any], Any]
_LONGEST = 40  # characters of a value that a message repeats


def path(text: str) -> Path:
    """The type of arguments and options that name a file or a folder: an empty text, of a variable
    that is not set, would be the folder at hand."""
    if not text.strip():
        raise CommlensError(f"{shown(text)} names no file and no folder; write a name")
    return Path(text)


def value(read: Callable[[str], Any], fix: str, words: Sequence[str] = ()) -> Callback:
    """A callback of an option: what `read` makes of its text; None is a mistake, which `fix` puts
    right. `words`: all values that there are, for completion."""

    def convert(_: click.Context, option: click.Parameter, text: str | None) -> Any:
        parsed = None if text is None else read(text)
        if text is not None and parsed is None:
            raise CommlensError(f"{max(option.opts, key=len)} {shown(text, _LONGEST)}: {fix}")
        return parsed

    setattr(convert, "words", words)  # noqa: B010
    return convert


def _percent(text: str) -> float | None:
    """`5%` or `5` as a fraction, 0.05."""
    match = re.fullmatch(r"(\d{1,3}(?:\.\d{1,9})?)%?", text, re.ASCII)
    return float(match[1]) / 100 if match and float(match[1]) <= 100 else None


def _seconds(text: str) -> float | None:
    """In `90s`, `10m`, `2h` or `90`."""
    match = re.fullmatch(r"(\d{1,9}(?:\.\d+)?)([smh]?)", text, re.ASCII)
    factors = {"": 1, "s": 1, "m": 60, "h": 3600}
    return float(match[1]) * factors[match[2]] or None if match else None


def _bytes(text: str) -> int | None:
    """`4096`, `8K` or `1G` (binary), as the native program reads them."""
    match = re.fullmatch(r"(\d{1,15})([KMGT]?)", text, re.ASCII)
    return int(match[1]) << (10 * " KMGT".index(match[2] or " ")) if match else None


def _words(_: click.Context, option: click.Parameter, text: str) -> list[str]:
    """The words of a text, as a shell would split it."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise CommlensError(f"{option.opts[0]} {text!r}: {str(error).lower()}") from None


percent = value(_percent, "write a percentage from 0 to 100, as in 5%")
bytes_ = value(_bytes, "write a number of bytes, as in 4096, 8K or 1G (binary)")
duration = value(_seconds, "write a time, as in 90s, 10m or 2h")


def word(words: Sequence[str]) -> Callback:
    """A callback for one of several words."""
    fix = f"write {enumerated(words, 'or')}"
    return value(lambda text: text if text in words else None, fix, words)


def count(most: int, least: int = 1) -> Callback:
    """A callback for a whole number from `least` to `most`."""

    def read(text: str) -> int | None:
        number = whole_number(text)
        return number if number is not None and least <= number <= most else None

    return value(read, f"write a whole number from {least} to {most:,}")


def number(
    name: str, help_text: str, most: int = MOST_RANKS, default: str | None = None
) -> Decorator:
    """An option with a whole number from 1 to `most`."""
    return click.option(
        name, metavar="N", callback=count(most), default=default, help=help_text,
        show_default=default is not None,
    )  # fmt: skip


ranks = click.option(
    "-n", "--ranks", metavar="N", callback=count(MOST_RANKS),
    help="Number of ranks.  [default: that of the job, else one per GPU, at least 2]",
)  # fmt: skip
launcher = click.option(
    "--launcher", metavar="NAME", callback=word(CHOICES), default="auto", show_default=True,
    help=f"Starts the ranks: {', '.join(CHOICES)}.",
)  # fmt: skip
launcher_arguments = click.option(
    "--launcher-args", default="", metavar="TEXT", callback=_words,
    help="More options for the launcher, as one text.",
)  # fmt: skip
all_functions = click.option(
    "--all", "every", is_flag=True,
    help="Of a profile, also show the functions that take less than 0.1% of the time each.",
)  # fmt: skip
every_finding = click.option(
    "--findings", metavar="WORD", callback=value({"worst": False, "all": True}.get,
    "write worst or all", ("worst", "all")), default="worst", show_default=True,
    help="Which findings are shown: the ten worst, or all.",
)  # fmt: skip
reference = click.option(
    "--reference", metavar="NAME", help="Put a published profile beside a profile: cp2k-fft."
)
variables = partial(click.option, "--env", "variables", multiple=True, metavar="NAME=VALUE")
out = partial(
    click.option, "--out", metavar="FOLDER", default="results", show_default=True,
    callback=value(lambda text: Path(text) if text.strip() else None, "name a folder"),
)  # fmt: skip

program = click.argument(
    "program", nargs=-1, required=True, type=click.UNPROCESSED, metavar="LAUNCHER... PROGRAM...",
)  # fmt: skip


def given(context: click.Context, names: Iterable[str]) -> list[str]:
    """Of some options, named as their parameters, those that the command line has: `--ranks`."""
    return [
        max(option.opts, key=len)
        for option in context.command.params
        if option.name in names
        and context.get_parameter_source(option.name) is ParameterSource.COMMANDLINE
    ]


def form(names: Sequence[str]) -> Decorator:
    """`--format`, of which the first is the default."""
    return click.option(
        "--format", "form", metavar="NAME", callback=word(names), default=names[0],
        show_default=True, help=f"{', '.join(names)}.",
    )  # fmt: skip


def spec(
    benchmark: str,
    options: Options,
    variables: Sequence[str] = (),
    launcher_args: Sequence[str] = (),
    **numbers: int | None,
) -> JobSpec:
    """The job that a command's options name, of which one that is not given is None."""
    given: Any = {name: number for name, number in numbers.items() if number is not None}
    environment = parse_environment(variables)
    return JobSpec(
        benchmark, options, environment=environment, launcher_arguments=launcher_args, **given
    )
