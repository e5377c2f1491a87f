#!/usr/bin/env python3
"""Whether the replay of a program has the program's profile.

    tools/replay_equality.py -- mpirun -n 2 ./program

Profiles the program and traces it, profiles one replay of the trace, and compares: of each function
that is replayed, its calls by rank, their bytes and sizes, and the sizes of the communicators; and
the messages between ranks. Of functions that commlens-bench calls by itself too only the calls are
compared. Prints what differs, then a line of counts; the exit status is 1 where something does.
COMMLENS_BENCH names commlens-bench where it is not on the PATH.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from commlens.profile.traces import container
from commlens.profile.traces.trace import Trace

Record = dict[str, Any]
REPLAY = "replay --gaps none --transport mpi --timing each --repeat 1 --warmup 0 --allow-partial"
NOTHING_ELSE = "--no-validate --no-ceilings --no-parts"


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    launcher = "mpirun --oversubscribe -n {ranks}"
    parser.add_argument("--launcher", default=launcher, help="of the replay [%(default)s]")
    parser.add_argument("command", nargs="+", help="the program with its launcher")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "program.clt"
        program = profiled(folder / "program", ["--trace", str(file)], options.command)
        trace = container.read(file)
        words = options.launcher.format(ranks=trace.header["ranks"]).split()
        words += [os.environ.get("COMMLENS_BENCH", "commlens-bench"), *REPLAY.split()]
        words += ["--trace", str(file), *NOTHING_ELSE.split()]
        replay = profiled(folder / "replay", ["--regions"], words)
        size = file.stat().st_size
    return compare(trace, size, program, replay)


def profiled(folder: Path, options: list[str], command: list[str]) -> Record:
    """The record. Ends this program where the command fails."""
    words = [sys.executable, "-m", "commlens", "profile", "--out", str(folder), *options, "--"]
    done = subprocess.run([*words, *command], stdout=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed: exit status {done.returncode}")
    (file,) = folder.glob("*.jsonl")
    return dict(json.loads(file.read_text()))


def compare(trace: Trace, size: int, program: Record, replay: Record) -> int:
    """Prints; the exit status."""
    functions = (own.partition(" ") for own in trace.functions)
    is_replayed = {name for name, _, letters in functions if letters}
    wanted = {own["name"]: own for own in program["functions"] if own["name"] in is_replayed}
    (region,) = (own for own in replay["regions"] if own["name"] == "replay")
    inside = {own["name"]: own for own in region["functions"]}
    every = {own["name"]: own for own in replay["functions"]}
    differing, partly = 0, 0
    for name in sorted({*wanted, *inside}):
        lines = [*differences(wanted.get(name, {}), inside.get(name, {}), every.get(name, {}))]
        differing += bool(lines)
        partly += every.get(name, {}).get("calls") != inside.get(name, {}).get("calls")
        for line in lines:
            print(f"{name}: {line}")
    same_peers = program["peers"] == replay["peers"]
    if not same_peers:
        print(f"messages between ranks: {program['peers']}, in the replay {replay['peers']}")
    calls = sum(sum(own["calls"]) for own in wanted.values())
    rows = len({*wanted, *inside})
    print(
        f"{trace.header['ranks']} ranks, {calls} calls, trace of {size} bytes: "
        f"{rows - differing} of {rows} functions are equal ({partly} by their calls alone), "
        f"the messages between ranks are {'equal' if same_peers else 'not'}"
    )
    return int(differing > 0 or not same_peers)


def differences(program: Record, inside: Record, every: Record) -> Iterator[str]:
    """What differs in a function; regions have no bytes, so these are of the whole replay."""
    if program.get("calls") != inside.get("calls"):
        yield f"calls {program.get('calls')}, in the replay {inside.get('calls')}"
    elif every["calls"] == inside["calls"]:
        for field in ("bytes", "communicators", "sizes"):
            if program[field] != every[field]:
                yield f"{field} {program[field]}, in the replay {every[field]}"


if __name__ == "__main__":
    sys.exit(main())
