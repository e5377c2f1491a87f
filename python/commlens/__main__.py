"""The command `commlens`, and `python -m commlens`."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs


def main() -> None:
    """Until the command can say so itself, an interrupt ends it without a word."""
    sys.unraisablehook = _end_if_interrupted
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from commlens import cli

    try:
        signal.signal(signal.SIGINT, handler)
        cli.main()
    finally:
        # Nothing is left to be said; but after an interruption further ones stay without effect.
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


def _end_if_interrupted(ignored: UnraisableHookArgs) -> None:
    """Python prints and ignores an interrupt in a destructor or in a callback of its imports."""
    if ignored.exc_type is KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.raise_signal(signal.SIGINT)
    sys.__unraisablehook__(ignored)


if __name__ == "__main__":
    main()
