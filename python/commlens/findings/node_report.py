"""Prints what this node has, as JSON; with --in-pieces as doctor asks other nodes for it."""

from __future__ import annotations

import os
import sys

import msgspec

from commlens.machine.machine import look
from commlens.machine.system import ThisSystem


def main(words: list[str]) -> None:
    in_pieces = "--in-pieces" in words
    programs = [word for word in words if not word.startswith("-")]
    found = look(ThisSystem(), programs[0] if programs else "")
    if in_pieces:
        from commlens.findings.nodes import pieces

        lines = list(pieces(found, f"{found.host}:{os.getpid()}"))
    else:
        lines = [msgspec.json.encode(found).decode()]
    sys.stdout.writelines(f"{line}\n" for line in lines)


if __name__ == "__main__":
    main(sys.argv[1:])
