"""Which picture is being drawn, on a terminal: a report of many records takes a minute."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Callable

from rich.console import Console

from commlens.text import printable


@contextmanager
def telling() -> Iterator[Callable[[str], None]]:
    """Gives a function that says what is done now, on one line of the standard error that goes when
    all is done. A file gets nothing."""
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status("reading records") as status:
        yield lambda what: status.update(f"drawing {printable(what)[:60]}".replace("[", "("))
