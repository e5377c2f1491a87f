"""What other nodes have: each is asked once, through the launcher.

`python -m commlens.findings.nodes` is what the launcher starts on each node: it prints what this
node has, as JSON, or with --in-pieces in the lines that `assemble` reads.
"""

from __future__ import annotations

import base64
import os
import re
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from commlens.base.errors import CommlensError, Status
from commlens.jobs import launchers, process
from commlens.jobs.messages import first_sentence
from commlens.jobs.native import Native
from commlens.machine import machine
from commlens.machine.machine import Machine
from commlens.machine.system import System

_LIMIT_S = 60.0
_PIECE = 800  # characters: launchers mix lines of ranks, and longer ones in their middle
_LINE = re.compile(r"commlens-machine (\S+) (\d+)/(\d+) (\S+)")
_SOURCES = Path(__file__).resolve().parents[2]


def pieces(node: Machine, name: str) -> Iterator[str]:
    """A machine as short lines, each with the name of the node and its number."""
    text = base64.b85encode(zlib.compress(msgspec.json.encode(node))).decode()
    parts = [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]
    for number, part in enumerate(parts, start=1):
        yield f"commlens-machine {name} {number}/{len(parts)} {part}"


def assemble(output: str) -> list[Machine]:
    """The machines whose lines are all there, by host."""
    by_name: dict[str, dict[int, str]] = {}
    counts: dict[str, int] = {}
    for name, number, count, part in _LINE.findall(output):
        by_name.setdefault(name, {})[int(number)] = part
        counts[name] = int(count)
    whole = [parts for name, parts in by_name.items() if len(parts) == counts[name]]
    texts = ["".join(parts[number] for number in sorted(parts)) for parts in whole]
    data = [zlib.decompressobj().decompress(base64.b85decode(text), 2**24) for text in texts]
    machines = [msgspec.json.decode(document, type=Machine) for document in data]
    return sorted(machines, key=lambda node: node.host)


def look(
    count: int, launcher: str, arguments: Sequence[str], native: Native | None, program: str
) -> list[Machine]:
    """The machines of so many nodes, as ranks see them that are launched so. Raises CommlensError
    where none answers, or the launcher cannot be started."""
    if native is None:
        raise CommlensError(
            f"--nodes {count}: the native program is missing, whose launcher is used"
        )
    chosen = launchers.choose(launcher, native)
    words = [sys.executable, "-m", "commlens.findings.nodes", "--in-pieces", program]
    python_path = os.environ.get("PYTHONPATH", "")
    # The package need not be installed there; the folder is that of a shared file system.
    environment = {"PYTHONPATH": os.pathsep.join(filter(None, [str(_SOURCES), python_path]))}
    command = [*chosen.start(count, count, environment, arguments), *words]
    output, error = _run(command, environment)
    machines = assemble(output)
    if not machines:
        said = first_sentence(error.splitlines()) or "it wrote nothing"
        raise CommlensError(
            f"--nodes {count}: no node answered through {chosen.program} ({said})", Status.FAILED
        )
    return machines


def _run(command: Sequence[str], environment: Mapping[str, str]) -> tuple[str, str]:
    with process.signals_listed() as requests:
        outcome, output, error = process.run_within(
            command, {**os.environ, **environment}, requests, _LIMIT_S
        )
    if outcome.interrupted:
        raise CommlensError("interrupted while nodes were asked", 128 + outcome.interrupted)
    if outcome.ended_because:
        raise CommlensError(f"nodes did not answer within {_LIMIT_S:g} s", Status.FAILED)
    return output, error


def main(words: Sequence[str]) -> None:
    """Prints what this node has; a word without dashes is the program whose libraries matter."""
    programs = [word for word in words if not word.startswith("-")]
    node = machine.look(System(), programs[0] if programs else "")
    if "--in-pieces" in words:
        lines = list(pieces(node, f"{node.host}:{os.getpid()}"))
    else:
        lines = [msgspec.json.encode(node).decode()]
    sys.stdout.writelines(f"{line}\n" for line in lines)


if __name__ == "__main__":
    main(sys.argv[1:])
