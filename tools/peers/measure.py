#!/usr/bin/env python3
"""OSU's programs, gslib and commlens in turns: tables of docs/measuring.md, docs/gather-scatter.md.

    tools/peers/measure.py OUT [--starts 15] [--only osu|gslib]

Needs OSU_HOME and GSLIB_HOME (build-osu.sh, build-gslib.sh), COMMLENS_BENCH, and an otherwise idle
machine: about 10 minutes with 7 starts. Writes OUT/peers-osu.json and OUT/peers-gslib.json: a list
of what `commlens compare --format json` says, each with its command line.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
COMMON = ["--memory", "host", "--transport", "mpi", "--no-ceilings"]

# Sizes with as many repetitions and warm-ups as OSU's programs have by default.
OSU = (
    ("latency", "1:8K", 10000, 100, ""),
    ("latency", "16K:4M", 1000, 10, ""),
    ("bandwidth", "1:8K", 100, 10, ""),
    ("bandwidth", "16K:4M", 20, 2, ""),
    ("bidirectional-bandwidth", "1:8K", 100, 10, ""),
    ("bidirectional-bandwidth", "16K:4M", 20, 2, ""),
    ("allreduce", "4:8K", 1000, 100, "--dtype f32 --out-of-place"),
    ("allreduce", "16K:1M", 100, 10, "--dtype f32 --out-of-place"),
)
GSLIB = ((20, 7), (12, 7), (24, 3), (40, 1))  # elements in each direction per rank, and their order


def osu() -> Iterator[list[str]]:
    for benchmark, sizes, repeat, warmup, own in OSU:
        options = f"--bytes {sizes} --batches 1 --repeat {repeat} --warmup {warmup} {own}"
        yield [benchmark, "--ranks", "2", "--", *options.split(), *COMMON]


def gslib() -> Iterator[list[str]]:
    for edge, order in GSLIB:
        for ranks in (1, 2):
            mesh = f"--elements {ranks * edge},{edge},{edge} --order {order}"
            options = f"{mesh} --mode pairwise --repeat 15 --warmup 3"
            yield ["gather-scatter", "--ranks", str(ranks), "--", *options.split(), *COMMON]


PEERS = {"osu": osu, "gslib": gslib}


def compared(peer: str, starts: int, run: list[str]) -> dict[str, object]:
    at = run.index("--")
    command = [
        *("compare", "--run", *run[:at], "--a", f"COMMLENS_BENCH=tools/peers/{peer}.py"),
        *("--b", "", "--starts", str(starts), "--format", "json", *run[at:]),
    ]
    print("commlens", *command, file=sys.stderr, flush=True)
    done = subprocess.run(
        [sys.executable, "-m", "commlens", *command], cwd=TOP, stdout=subprocess.PIPE, check=False
    )
    if done.returncode:
        sys.exit(f"commlens compare has ended with status {done.returncode}")
    return {"command": ["commlens", *command], **json.loads(done.stdout)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--starts", type=int, default=15)
    parser.add_argument("--only", choices=PEERS)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name in [options.only] if options.only else PEERS:
        documents = [compared(name, options.starts, run) for run in PEERS[name]()]
        path = options.out / f"peers-{name}.json"
        path.write_text(json.dumps(documents, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
