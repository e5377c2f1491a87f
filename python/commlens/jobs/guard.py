"""Ends a job whose command was killed: nobody else is left then who would."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress

# Its standard input ends when the command does, however that happens. Then all processes that have
# the mark in their environment are asked to end; those that do not are killed.
_SCRIPT = r"""
mark=$1
marked() {
  grep -ls -- "$mark" /proc/[0-9]*/environ | tr -dc '0-9\n'
}
read -r _
kill -TERM $(marked)
for second in 1 2 3; do
  [ -n "$(marked)" ] || exit
  sleep 1
done
kill -KILL $(marked)
"""


@contextmanager
def guard(mark: str) -> Iterator[None]:
    """Within, the processes on this machine with `mark` in their environment do not outlive this
    one."""
    process = subprocess.Popen(
        ["/bin/sh", "-c", _SCRIPT, "commlens-guard", mark],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # a signal to the command's group does not reach it
    )
    try:
        yield
    finally:
        process.kill()
        process.wait()
        with suppress(OSError):
            if process.stdin is not None:
                process.stdin.close()
