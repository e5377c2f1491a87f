"""The command `commlens`, and `python -m commlens`."""

import signal


def main() -> None:
    """Until the command can say so itself, an interrupt ends it without a word."""
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


if __name__ == "__main__":
    main()
