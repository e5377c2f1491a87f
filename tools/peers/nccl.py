#!/usr/bin/env python3
"""The programs of nccl-tests in the place of commlens-bench, for `commlens compare --run`.

    NCCL_TESTS_HOME=FOLDER commlens compare --run allreduce --ranks 2 \\
        --a COMMLENS_BENCH=tools/peers/nccl.py --b COMMLENS_BENCH=tools/peers/own.py --launches 7 \\
        -- --bytes 8:4M --memory device --transport ccl --batches 1 --repeat 1000 --warmup 100

NCCL_TESTS_HOME is the folder with all_reduce_perf and the others, built with MPI
(build-nccl-tests.sh makes it): a rank has one GPU, that of its number on the node. Where a launcher
shows each rank a single GPU, set NCCL_TESTS_DEVICE=0.

Operations with a block per rank take --size-of array: nccl-tests rounds its sizes down to multiples
of 16 bytes per rank. sendrecv_perf sends to the next rank and receives from the one before, as
`shift` does. Reductions but for allreduce are compared out of place only.

Both sides make the same calls of NCCL N times on a stream, without a CUDA graph (-G 0) or a wait
(-z 0) between the calls, and wait once (-m 1). The clock runs from a barrier to the end of that
wait, and the slowest rank counts (-a 3). nccl-tests prints the mean over all N calls, as commlens
has it with --batches 1, in two decimals: 0.1% of 6 us. It always measures out of place and in
place; --out-of-place chooses what is taken. --no-validate turns off the checks of both.

What differs:

- nccl-tests goes through a buffer of the largest size, call by call; commlens stays at its
  beginning. So sizes of a start are either all at most 4M, which stay in the L2 cache, or all at
  least 256M, which do not, or a single one.
- It warms up every size, out of place, before it measures the first one, and makes one more call
  before each measurement. commlens warms up each size before it measures it.
- It waits with cudaStreamQuery and ncclCommGetAsyncError interleaved, commlens with
  cudaStreamSynchronize: once in N calls.
- Its buffers are of ncclMemAlloc, those of commlens of cudaMalloc. Neither are registered (-R 0).
- Built with NCCL 2.28 or later, it asks for the NVLink-centric scheduling of blocks, which NCCL has
  for GPUs since Blackwell; NCCL_NVLINK_UTIL_CENTRIC_SCHED_ENABLE=1 gives it to both sides.
- It checks one call that it does not time; commlens checks those that it times.

NCCL 2.28 has calls for alltoall, gather and scatter, which nccl-tests takes where it was built with
it; commlens sends and receives in a group, which works with every NCCL.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import count
from math import log2

from adaptor import Figures, Peer, Plan, Request, main, program_in, size_in, sizes_in

from commlens.base.errors import CommlensError, Status
from commlens.model import Value
from commlens.model.results import Harness, Validation

_NAME = "nccl-tests"
_OPTIONS = ("bytes", "dtype", "repeat", "batches", "warmup", "transport", "memory", "timing")


@dataclass(frozen=True)
class Program:
    """A program of nccl-tests, and what commlens's benchmark is like."""

    name: str
    reduces: bool = False
    of_blocks: bool = False  # sizes are of a block, or, with --size-of array, of all blocks
    in_place: bool | None = None  # by default; None: there is no choice
    is_rooted: bool = False


_PROGRAMS = {
    "allreduce": Program("all_reduce_perf", reduces=True, in_place=True),
    "reduce": Program("reduce_perf", reduces=True, in_place=False, is_rooted=True),
    "broadcast": Program("broadcast_perf", in_place=True, is_rooted=True),
    "reduce-scatter": Program("reduce_scatter_perf", reduces=True, of_blocks=True, in_place=False),
    "allgather": Program("all_gather_perf", of_blocks=True, in_place=False),
    "gather": Program("gather_perf", of_blocks=True, in_place=False, is_rooted=True),
    "scatter": Program("scatter_perf", of_blocks=True, in_place=False, is_rooted=True),
    "alltoall": Program("alltoall_perf", of_blocks=True, in_place=False),
    "shift": Program("sendrecv_perf"),
}
_TYPES = {
    "i8": "int8",
    "u8": "uint8",
    "i32": "int32",
    "i64": "int64",
    "f16": "half",
    "bf16": "bfloat16",
    "f32": "float",
    "f64": "double",
}
_BYTES = {"i8": 1, "u8": 1, "i32": 4, "i64": 8, "f16": 2, "bf16": 2, "f32": 4, "f64": 8}
_BLOCK = 16  # bytes, of which a rank's block is a multiple
_BITS = {"f32": (24, 128), "f64": (53, 1024), "i32": (31, 31)}  # of the significand, of the range
_FIXED = ("-g", "1", "-t", "1", "-m", "1", "-z", "0", "-G", "0", "-R", "0", "-a", "3")
_CACHED = 4 << 20  # two buffers are in the L2 cache of any GPU since A100
_UNCACHED = 256 << 20
_SINGLE_MEAN = "nccl-tests prints one mean over all calls, so write --batches 1 --repeat N"

# nccl-tests version 2.19.6 nccl-headers=22809 nccl-library=22809
_VERSION = re.compile(
    r"# nccl-tests version (\d[\w.]{0,20}).* nccl-library=(\d{1,2})(\d\d)(\d\d)\s*", re.ASCII
)
#  Rank  0 Group  0 Pid   4711 on      node1 device  0 [0000:00:06] NVIDIA H200
_RANK = re.compile(r"#\s+Rank\s+\d+ (?:Group +0 )? *Pid ", re.ASCII)
# size, count, type, operation, root; time, bandwidths and wrong elements out of place, and in place
_COLUMNS = r"\s+(\d{1,9}(?:\.\d{1,6})?)\s+\S+\s+\S+\s+(\d[\d.e+]{0,12}|N/A)"
_CASE = r"(\d{1,15})\s+\d{1,15}\s+\w+\s+(?:sum|none)\s+-?\d{1,6}"
_ROW = re.compile(_CASE + 2 * _COLUMNS, re.ASCII)


def plan(request: Request) -> Plan:
    asked = _PROGRAMS[request.benchmark]
    request.only(*_OPTIONS, *_options_of(asked))
    request.needed("transport", "write --transport ccl")
    request.needed("batches", _SINGLE_MEAN)
    request.fixed(timing="batch", batches="1")
    repeat = size_in(request.needed("repeat", _SINGLE_MEAN))
    warmup = size_in(request.needed("warmup", "write it, so that both sides have as many"))
    sizes = _sizes(request)
    dtype = _type_of(request, repeat)
    fix = "tools/peers/build-nccl-tests.sh builds it"
    program = program_in("NCCL_TESTS_HOME", asked.name, fix)
    factor = sizes[1] // sizes[0] if len(sizes) > 1 else 2
    words = ["-b", sizes[0], "-e", sizes[-1], "-f", factor, "-n", repeat, "-w", warmup]
    if asked.reduces:
        words += ["-o", "sum"]
    checks = "0" if "no-validate" in request.options else "1"
    return Plan(
        command=[str(program), *map(str, words), "-d", _TYPES[dtype], "-c", checks, *_FIXED],
        harness=Harness(timing="batch", repeat=repeat, warmup=warmup, batches=1),
        operation=request.benchmark,
        cases=len(sizes),
        read=partial(_figures, request, dtype, sizes),
        versions=_versions,
    )


def _options_of(asked: Program) -> Iterator[str]:
    if asked.in_place is not None:
        yield from ("in-place", "out-of-place")
    if asked.of_blocks:
        yield "size-of"


def _sizes(request: Request) -> list[int]:
    """Raises CommlensError for sizes that nccl-tests does not have, or not as commlens has them."""
    if _PROGRAMS[request.benchmark].of_blocks and request.options.text("size-of") != "array":
        raise CommlensError(f"--size-of is missing, for {_NAME}: write --size-of array")
    text = request.needed("bytes", "name the sizes, as in 8:4M")
    sizes = sorted(set(sizes_in(text)))
    factor = sizes[1] // sizes[0] if len(sizes) > 1 else 2
    if sizes != [sizes[0] * factor**power for power in range(len(sizes))]:
        fix = f"{_NAME} multiplies the size by a whole number; write such as 8:2M:x4"
        raise CommlensError(f"--bytes {text}: {fix}")
    least = _BLOCK * request.ranks
    if _PROGRAMS[request.benchmark].of_blocks and any(size % least for size in sizes):
        fix = f"{_NAME} has blocks of {_BLOCK} bytes; write multiples of {least}"
        raise CommlensError(f"--bytes {text}: {fix}")
    if len(sizes) > 1 and sizes[0] < _UNCACHED and sizes[-1] > _CACHED:
        fix = (
            f"{_NAME} goes through a buffer of the largest size, which the L2 cache holds or not; "
            "write sizes up to 4M, sizes from 256M, or a single one"
        )
        raise CommlensError(f"--bytes {text}: {fix}")
    return sizes


def _type_of(request: Request, repeat: int) -> str:
    """Raises CommlensError for another type, and for more sums in place than commlens times at
    once: it then fills the array again."""
    asked = _PROGRAMS[request.benchmark]
    dtype = request.options.text("dtype") or ("f64" if asked.reduces else "u8")
    if dtype not in _TYPES:
        raise CommlensError(f"--dtype {dtype}: for {_NAME} write one of: {', '.join(_TYPES)}")
    if not (asked.reduces and _in_place(request)):
        return dtype
    if request.benchmark != "allreduce" or dtype not in _BITS:
        raise CommlensError(f"--in-place: not compared with {_NAME}; write --out-of-place")
    most = exact_sums(dtype, request.ranks)
    if repeat > most:
        exact = f"{most} sums of {dtype} in place are exact on {request.ranks} ranks"
        fix = "write at most so many, or --out-of-place"
        raise CommlensError(f"--repeat {repeat}: {exact}; {fix}")
    return dtype


def exact_sums(dtype: str, ranks: int) -> int:
    """In place, as commlens has it by default."""
    if ranks == 1:
        return sys.maxsize
    significand, most = _BITS[dtype]
    odd = ranks // (ranks & -ranks)
    first = log2(36 * ranks)
    return next(
        sums
        for sums in count(1)
        if first + sums * log2(odd) >= significand or first + sums * log2(ranks) >= most
    )


def _in_place(request: Request) -> bool:
    """Of which columns the times are."""
    if "in-place" in request.options or "out-of-place" in request.options:
        return "in-place" in request.options
    return _PROGRAMS[request.benchmark].in_place or False


def _versions(line: str) -> Mapping[str, str]:
    """With that of NCCL as commlens-bench says it."""
    version = _VERSION.fullmatch(line)
    if not version:
        return {}
    tests, *nccl = version.groups()
    return {_NAME: tests, "ccl": f"NCCL {'.'.join(str(int(number)) for number in nccl)}"}


def _figures(
    request: Request, dtype: str, sizes: Iterable[int], lines: Iterable[str]
) -> Iterator[Figures]:
    """Of these sizes, each once. NCCL may say something in lines of its own (NCCL_DEBUG). Raises
    CommlensError for any other output."""
    program = _PROGRAMS[request.benchmark].name
    wanted, ranks = set(sizes), 0
    for line in lines:
        ranks += _RANK.match(line) is not None
        if not line[:1].isdecimal():
            continue
        row = _ROW.fullmatch(line)
        if row is None:
            said = f"{program} has printed '{line[:80]}', which is no size with its times"
            raise CommlensError(said, Status.FAILED)
        if ranks != request.ranks:
            fix = "build it with MPI, as tools/peers/build-nccl-tests.sh does"
            said = f"{program} has run on {ranks} of {request.ranks} ranks: {fix}"
            raise CommlensError(said, Status.FAILED)
        size = int(row[1])
        if size in wanted:
            wanted.remove(size)
            time, wrong = row.groups()[3:5] if _in_place(request) else row.groups()[1:3]
            yield _of_size(request, dtype, size, time, wrong)


def _of_size(request: Request, dtype: str, size: int, time: str, wrong: str) -> Figures:
    """From a time in us and the number of wrong elements. Raises CommlensError for wrong ones."""
    asked = _PROGRAMS[request.benchmark]
    if float(time) == 0:
        raise CommlensError(f"{asked.name} has printed 0 us for {size} bytes", Status.FAILED)
    if wrong not in ("0", "N/A"):
        said = f"{asked.name} has found {wrong} wrong elements in arrays of {size} bytes"
        raise CommlensError(said, Status.FAILED)
    bytes_ = size // request.ranks if asked.of_blocks else size
    elements = size // _BYTES[dtype]
    parameters: dict[str, Value] = {
        "count": bytes_ // _BYTES[dtype],
        "bytes": bytes_,
        "dtype": dtype,
    }
    if asked.in_place is not None:
        parameters["in_place"] = _in_place(request)
    if asked.is_rooted:
        parameters["root"] = 0
    figures = Figures(parameters, [1e-6 * float(time)], {})
    if wrong == "N/A":
        return figures
    checked = elements * request.ranks
    passed = Validation(status="passed", checks=1, elements=checked, message="")
    return figures._replace(validation=passed)


if __name__ == "__main__":
    main(Peer(_NAME, tuple(_PROGRAMS), plan, transport="ccl", memories=("device",)))
