"""What is done now, on a terminal: a million records take a minute to read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Callable

from rich.console import Console

from commlens.base.text import printable


@contextmanager
def telling() -> Iterator[Callable[[str], None]]:
    """Gives a function that says what is done now, on one line of the standard error, which is
    there from its first call until all is done. A file gets nothing."""
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield lambda _: None
        return
    status = console.status("")

    def tell(what: str) -> None:
        status.update(printable(what)[:70].replace("[", "("))
        status.start()

    try:
        yield tell
    finally:
        status.stop()
