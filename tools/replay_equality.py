#!/usr/bin/env python3
"""Whether the replay of a program has the program's profile.

    tools/replay_equality.py [--out FILE --name NAME] -- mpirun -n 2 ./program

Profiles the program and traces it, profiles one replay of the trace, and compares: of each function
that is replayed, its calls and bytes by rank, the sizes of its messages and those of its
communicators; and the messages between ranks. Of functions that commlens-bench calls by itself too,
calls and bytes are compared. Messages between ranks are not compared for a program whose one-sided
calls are not replayed. Prints what differs, then a line of counts, which `--out` adds to a file;
the exit status is 1 where something differs. COMMLENS_BENCH names commlens-bench where it is not on
the PATH.
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
    parser.add_argument("--out", type=Path, help="add the counts to this JSON file")
    parser.add_argument("--name", default="", help="of the program, with its version, in that file")
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
        counts = {"program": options.name, "command": options.command}
        counts |= {"trace_bytes": file.stat().st_size, **compared(trace, program, replay)}
    print(
        f"{counts['ranks']} ranks, {counts['calls']} calls, trace of {counts['trace_bytes']} bytes:"
        f" {counts['equal']} of {counts['functions']} functions are equal"
        f" ({counts['without_sizes']} by calls and bytes alone), the messages between ranks are"
        f" {counts['messages']}"
    )
    if options.out:
        before = json.loads(options.out.read_text()) if options.out.exists() else []
        options.out.write_text(json.dumps([*before, counts], indent=1) + "\n")
    return int(counts["equal"] < counts["functions"] or counts["messages"] == "different")


def profiled(folder: Path, options: list[str], command: list[str]) -> Record:
    """The record. Ends this program where the command fails."""
    words = [sys.executable, "-m", "commlens", "profile", "--out", str(folder), *options, "--"]
    done = subprocess.run([*words, *command], stdout=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed: exit status {done.returncode}")
    (file,) = folder.glob("*.jsonl")
    return dict(json.loads(file.read_text()))


def compared(trace: Trace, program: Record, replay: Record) -> Record:
    """What is equal; prints what is not."""
    functions = [own.partition(" ") for own in trace.functions]
    is_replayed = {name for name, _, letters in functions if letters}
    wanted = {own["name"]: own for own in program["functions"] if own["name"] in is_replayed}
    (region,) = (own for own in replay["regions"] if own["name"] == "replay")
    inside = {own["name"]: own for own in region["functions"]}
    every = {own["name"]: own for own in replay["functions"]}
    names = sorted({*wanted, *inside})
    differing, without_sizes = 0, 0
    for name in names:
        lines = [*differences(wanted.get(name, {}), inside.get(name, {}), every.get(name, {}))]
        differing += bool(lines)
        without_sizes += every.get(name, {}).get("calls") != inside.get(name, {}).get("calls")
        for line in lines:
            print(f"{name}: {line}")
    return {
        "ranks": trace.header["ranks"],
        "calls": sum(sum(own["calls"]) for own in wanted.values()),
        "functions": len(names),
        "equal": len(names) - differing,
        "without_sizes": without_sizes,
        "messages": messages(program, replay, is_replayed),
        "not_replayed": sorted(name for name, _, letters in functions if not letters),
    }


def differences(program: Record, inside: Record, every: Record) -> Iterator[str]:
    """What differs in a function; regions have no sizes, so these are of the whole replay."""
    for field in ("calls", "bytes"):
        if program.get(field) != inside.get(field):
            yield f"{field} {program.get(field)}, in the replay {inside.get(field)}"
    if program and every.get("calls") == inside.get("calls"):
        for field in ("communicators", "sizes"):
            if program[field] != every[field]:
                yield f"{field} {program[field]}, in the replay {every[field]}"


def messages(program: Record, replay: Record, is_replayed: set[str]) -> str:
    """A profile has one sum of all messages between ranks, with those of one-sided calls."""
    if program["peers"] == replay["peers"]:
        return "equal"
    others = (own for own in program["functions"] if own["name"] not in is_replayed)
    if any(sum(own["bytes"]) for own in others):
        return "not compared"
    print(f"messages between ranks: {program['peers']}, in the replay {replay['peers']}")
    return "different"


if __name__ == "__main__":
    sys.exit(main())
