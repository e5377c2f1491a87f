"""Values on the command line, whose mistakes are reported as all others are: option, value and fix.

Each is a callback of an option of click.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from commlens.base.errors import CommlensError
from commlens.base.text import whole_number

_LONGEST = 40  # characters of a value that a message repeats


def count(most: int) -> Callable[..., Any]:
    """A callback for a whole number from 1 to `most`."""

    def convert(_: click.Context, option: click.Parameter, text: str | None) -> int | None:
        if text is None:
            return None
        number = whole_number(text)
        if number is None or not 1 <= number <= most:
            raise _mistake(option, text, f"write a whole number from 1 to {most:,}")
        return number

    return convert


def word(words: Sequence[str]) -> Callable[..., Any]:
    """A callback for one of several words."""

    def convert(_: click.Context, option: click.Parameter, text: str) -> str:
        if text not in words:
            raise _mistake(option, text, f"write {', '.join(words[:-1])} or {words[-1]}")
        return text

    return convert


def folder(_: click.Context, option: click.Parameter, text: str) -> Path:
    """The folder of this name, which need not exist."""
    if not text:
        raise _mistake(option, text, "name a folder")
    return Path(text)


def percent(_: click.Context, option: click.Parameter, text: str | None) -> float | None:
    """`5%` or `5` as a fraction, 0.05."""
    if text is None:
        return None
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1000:
        raise _mistake(option, text, "write a percentage from 0 to 1000, as in 5%")
    return number / 100


def duration(_: click.Context, option: click.Parameter, text: str) -> float:
    """`90s`, `10m`, `2h` or `90` in seconds."""
    found = re.fullmatch(r"(\d{1,9}(?:\.\d+)?)([smh]?)", text, re.ASCII)
    seconds = float(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[found[2]] if found else 0.0
    if seconds <= 0:
        raise _mistake(option, text, "write a time, as in 90s, 10m or 2h")
    return seconds


def words(_: click.Context, option: click.Parameter, text: str) -> list[str]:
    """The words of a text, as a shell would split it."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise CommlensError(f"{option.opts[0]} {text!r}: {str(error).lower()}") from None


def _mistake(option: click.Parameter, text: str, fix: str) -> CommlensError:
    name = next((name for name in option.opts if name.startswith("--")), option.opts[0])
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    return CommlensError(f"{name} {shown or repr('')}: {fix}")
