#!/usr/bin/env python3
"""Programs of other projects and commlens interleaved: the tables of docs/measuring.md and of
docs/gather-scatter-measured.md.

    tools/peers/measure.py OUT [--launches 15] [--only osu|osu-device|gslib|nccl]
                           [--benchmarks NAME...] [--ranks N...] [--env NAME=VALUE]

Needs COMMLENS_BENCH and an otherwise idle machine. Writes OUT/peers-NAME.json: a list of what
`commlens compare --format json` says, each with its command line. Without --only osu and gslib;
with --benchmarks and --ranks only these; with --env both sides have this variable, and the command
line too.

osu, gslib: needs OSU_HOME and GSLIB_HOME (build-osu.sh, build-gslib.sh). About 10 minutes with
7 launches.

osu-device: needs OSU_HOME with programs that were built for CUDA, a CUDA-aware MPI and two GPUs.

nccl: needs NCCL_TESTS_HOME (build-nccl-tests.sh) and two GPUs: every operation of floats and of
bfloat16. A launch takes about 4 s, most of it the start: 17 minutes with 3 launches.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import interpreter  # noqa: F401
from adaptor import sizes_in
from osu import repetitions

TOP = Path(__file__).resolve().parent.parent.parent
ON_HOST = ["--memory", "host", "--transport", "mpi", "--no-ceilings"]
ON_GPUS = ["--memory", "device", "--transport", "ccl", "--no-ceilings"]

SMALL_AND_LARGE = ("1:8K", "16K:4M")
OSU = (
    *(
        (name, sizes, "")
        for name in ("latency", "bandwidth", "bidirectional-bandwidth")
        for sizes in SMALL_AND_LARGE
    ),
    ("allreduce", "4:8K", "--dtype f32 --out-of-place"),
    ("allreduce", "16K:4M", "--dtype f32 --out-of-place"),
    *(
        (name, sizes, "")
        for name in (
            *("put-latency", "get-latency", "accumulate-latency", "get-accumulate-latency"),
            *("put-bandwidth", "get-bandwidth", "put-bidirectional-bandwidth"),
        )
        for sizes in SMALL_AND_LARGE
    ),
    ("fetch-and-op-latency", "", ""),
    ("compare-and-swap-latency", "", ""),
)
GSLIB = ((20, 7), (12, 7), (24, 3), (40, 1))  # elements in each direction per rank, and their order

# Through a GPU-aware MPI.
OSU_DEVICE = (
    ("latency", "1:4M", 200, 20, ""),
    ("bandwidth", "1:4M", 20, 2, ""),
    ("allreduce", "4:4M", 100, 10, "--dtype f32 --out-of-place"),
    ("allgather", "1:1M", 100, 10, "--out-of-place"),
    ("reduce-scatter", "4:1M", 100, 10, "--dtype f32"),
    ("broadcast", "1:1M", 100, 10, ""),
    ("reduce", "4:1M", 100, 10, "--dtype f32 --out-of-place"),
    ("alltoall", "1:1M", 100, 10, ""),
)

# Sizes that can be in one start (nccl.py says why), with their repetitions and warm-ups.
NCCL_SIZES = (("{least}:4M", 200, 20), ("64M", 50, 5), ("256M:1G", 10, 2))
NCCL = {
    **dict.fromkeys(("allreduce", "reduce"), ("--out-of-place", "f32", "bf16")),
    "reduce-scatter": ("--size-of array", "f32", "bf16"),
    "broadcast": ("--out-of-place", "f32", "bf16"),
    "allgather": ("--size-of array --out-of-place", "f32", "bf16"),
    "alltoall": ("--size-of array", "f32", "bf16"),
    "shift": ("", "f32", "bf16"),
}


def osu() -> Iterator[list[str]]:
    for benchmark, sizes, extra in OSU:
        swept = f"--bytes {sizes}" if sizes else ""
        repeat, warmup = repetitions(benchmark, max(sizes_in(sizes)) if sizes else 0)
        options = f"{swept} --batches 1 --repeat {repeat} --warmup {warmup} {extra}"
        yield [benchmark, "--ranks", "2", "--", *options.split(), *ON_HOST]


def gslib() -> Iterator[list[str]]:
    for edge, order in GSLIB:
        for ranks in (1, 2):
            mesh = f"--elements {ranks * edge},{edge},{edge} --order {order}"
            options = f"{mesh} --mode pairwise --repeat 15 --warmup 3"
            yield ["gather-scatter", "--ranks", str(ranks), "--", *options.split(), *ON_HOST]


def osu_device() -> Iterator[list[str]]:
    for benchmark, sizes, repeat, warmup, extra in OSU_DEVICE:
        options = f"--bytes {sizes} --batches 1 --repeat {repeat} --warmup {warmup} {extra}"
        on_gpus = ("--memory", "device", *ON_HOST[2:])
        yield [benchmark, "--ranks", "2", "--", *options.split(), *on_gpus]


def nccl() -> Iterator[list[str]]:
    for benchmark, (extra, *types) in NCCL.items():
        least = 32 if "size-of" in extra else 8
        for dtype in types:
            for sizes, repeat, warmup in NCCL_SIZES:
                swept = f"--bytes {sizes.format(least=least)} --dtype {dtype} {extra}"
                options = f"{swept} --batches 1 --repeat {repeat} --warmup {warmup}"
                yield [benchmark, "--ranks", "2", "--", *options.split(), *ON_GPUS]


PEERS = {
    "osu": osu,
    "osu-device": osu_device,
    "gslib": gslib,
    "nccl": nccl,
}
WITHOUT_GPUS = ("osu", "gslib")


def compared(peer: str, launches: int, env: list[str], run: list[str]) -> dict[str, object] | None:
    """None: it failed, which it says."""
    at = run.index("--")
    adaptor = peer.partition("-")[0]
    command = [
        *("compare", "--run", *run[:at], "--a", f"COMMLENS_BENCH=tools/peers/{adaptor}.py"),
        *(
            "--b",
            "COMMLENS_BENCH=tools/peers/own.py",
            "--launches",
            str(launches),
            "--format",
            "json",
        ),
        *run[at:],
    ]
    shown = [*env, "commlens", *command]
    print(*shown, file=sys.stderr, flush=True)
    done = subprocess.run(
        [sys.executable, "-m", "commlens", *command],
        cwd=TOP,
        env={**os.environ, **dict(setting.split("=", 1) for setting in env)},
        stdout=subprocess.PIPE,
        check=False,
    )
    if done.returncode:
        print(f"commlens compare has ended with status {done.returncode}", file=sys.stderr)
        return None
    return {"command": shown, **json.loads(done.stdout)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--launches", type=int, default=15)
    parser.add_argument("--only", choices=PEERS)
    parser.add_argument("--benchmarks", nargs="+", default=[])
    parser.add_argument("--ranks", nargs="+", default=[])
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name in [options.only] if options.only else WITHOUT_GPUS:
        path, documents = options.out / f"peers-{name}.json", []
        for run in PEERS[name]():
            if options.benchmarks and run[0] not in options.benchmarks:
                continue
            if options.ranks and run[run.index("--ranks") + 1] not in options.ranks:
                continue
            document = compared(name, options.launches, options.env, run)
            if document is None:
                failed += 1
                continue
            documents.append(document)
            path.write_text(json.dumps(documents, indent=1) + "\n", encoding="utf-8")
    if failed:
        sys.exit(f"{failed} comparisons failed; the others are in {options.out}")


if __name__ == "__main__":
    main()
