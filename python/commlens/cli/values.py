"""Values on the command line, whose mistakes are said as all others are: option, value and cure.

Each is a callback of an option of click.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from commlens.errors import CommlensError
from commlens.launch.options import whole_number

_LONGEST = 40  # letters of a value that a message repeats


def count(most: int) -> Callable[..., Any]:
    """A whole number from 1 on."""

    def convert(_: click.Context, option: click.Parameter, text: str | None) -> int | None:
        if text is None:
            return None
        number = whole_number(text)
        if number is None or not 1 <= number <= most:
            raise _mistake(option, text, f"write a whole number from 1 to {most:,}")
        return number

    return convert


def word(words: Sequence[str]) -> Callable[..., Any]:
    """One of several."""

    def convert(_: click.Context, option: click.Parameter, text: str) -> str:
        if text not in words:
            raise _mistake(option, text, f"write {', '.join(words[:-1])} or {words[-1]}")
        return text

    return convert


def folder(_: click.Context, option: click.Parameter, text: str) -> Path:
    if not text:
        raise _mistake(option, text, "name a folder")
    return Path(text)


def _mistake(option: click.Parameter, text: str, cure: str) -> CommlensError:
    name = max(option.opts, key=len)
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    return CommlensError(f"{name} {shown or repr('')}: {cure}")
