"""What the commands that read records have in common."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from commlens.base.errors import CommlensError, Status, say
from commlens.base.terminal import echo
from commlens.base.text import printable
from commlens.model import load
from commlens.model.reading import Loaded

if TYPE_CHECKING:
    from commlens.render.plots import Drawn


@contextmanager
def without_collections() -> Iterator[None]:
    """A collection looks at each of a hundred thousand records, and finds no garbage."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def telling() -> Iterator[Callable[[str], None]]:
    """Gives a function that reports what is done now, on one line of the standard error, which is
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


def load_any(paths: Sequence[Path]) -> Loaded:
    """The records and profiles in files and folders; raises CommlensError where there are none."""
    with without_collections(), telling() as tell:
        loaded = load(paths, tell)
    check_any(loaded, paths)
    return loaded


def check_any(loaded: Loaded, paths: Sequence[Path]) -> None:
    """Raises CommlensError where there is no record and no profile."""
    if not loaded.records and not loaded.profiles:
        tell_problems(loaded)
        status = Status.FAILED if loaded.problems else Status.USAGE
        raise CommlensError(f"there is no record in {', '.join(map(str, paths))}", status)


def tell_pictures(drawn: Drawn) -> None:
    """Prints what is not in them, and where they are."""
    for left_out in drawn.left_out:
        say(left_out)
    for picture in drawn.pictures:
        echo(picture)


def tell_problems(loaded: Loaded) -> Status:
    """Says what is wrong with lines, and returns the status with which the command ends."""
    for problem in loaded.problems:
        say(problem)
    return Status.FAILED if loaded.problems else Status.OK
