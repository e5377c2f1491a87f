#!/usr/bin/env python3
"""OSU's micro-benchmarks in the place of commlens-bench, for `commlens compare --run`.

    OSU_HOME=FOLDER commlens compare --run latency \\
        --a COMMLENS_BENCH=tools/peers/osu.py --b COMMLENS_BENCH=tools/peers/own.py --launches 7 \\
        -- --bytes 1:8K:x8 --memory host --transport mpi --batches 1 --repeat 10000 --warmup 100

OSU_HOME is the folder with OSU's programs; build-osu.sh makes one.
OSU prints the mean over all repetitions of a size. So does commlens with --batches 1: one sample a
start. Write as many repetitions as OSU has by default: 10,000 round trips up to 8 KiB and 1,000
above.

Its programs for collectives have a barrier after each operation, outside the timed region, where
commlens times operations back to back. They are run with -f: each rank has its mean over the
repetitions, and the largest of these is taken, as commlens takes the slowest rank. They have one
buffer for input and one for output: write --out-of-place for allreduce, and --dtype f32 or i32
where a reduction has f64. Sizes of reduce-scatter are of the whole array there, and of a block
here: with 2 ranks --bytes 4:4M is compared with OSU's 8:8M.

The neighborhood programs have a periodic grid of one dimension, on 3 ranks or more: write
--dimensions 1 --periodic. In more dimensions OSU has diagonal ranks as neighbors, too, which MPI's
Cartesian topologies do not.

With --memory device and programs that were built for CUDA (build-osu.sh) the buffers are on GPUs. A
rank takes the GPU of its number on the node.

The one-sided programs are asked for the same window and synchronization as commlens. Their
accumulates are of --dtype u8 (MPI_CHAR there), i32 or f32; osu_get_acc_latency's of u8 alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from adaptor import Figures, Peer, Plan, Request, main, program_in, size_in, sizes_in

from commlens.base.errors import CommlensError, Status
from commlens.model.results import Harness

_NAME = "OSU micro-benchmarks"
_PAIRS = {
    "latency": "osu_latency",
    "bandwidth": "osu_bw",
    "bidirectional-bandwidth": "osu_bibw",
}
_COLLECTIVES = {
    "broadcast": "osu_bcast",
    "reduce": "osu_reduce",
    "allreduce": "osu_allreduce",
    "reduce-scatter": "osu_reduce_scatter_block",
    "reduce-scatterv": "osu_reduce_scatter",
    "allgather": "osu_allgather",
    "allgatherv": "osu_allgatherv",
    "gather": "osu_gather",
    "gatherv": "osu_gatherv",
    "scatter": "osu_scatter",
    "scatterv": "osu_scatterv",
    "alltoall": "osu_alltoall",
    "alltoallv": "osu_alltoallv",
    "alltoallw": "osu_alltoallw",
    "neighbor-allgather": "osu_neighbor_allgather",
    "neighbor-allgatherv": "osu_neighbor_allgatherv",
    "neighbor-alltoall": "osu_neighbor_alltoall",
    "neighbor-alltoallv": "osu_neighbor_alltoallv",
    "neighbor-alltoallw": "osu_neighbor_alltoallw",
}
_ONE_SIDED = {
    "put-latency": "osu_put_latency",
    "get-latency": "osu_get_latency",
    "accumulate-latency": "osu_acc_latency",
    "get-accumulate-latency": "osu_get_acc_latency",
    "fetch-and-op-latency": "osu_fop_latency",
    "compare-and-swap-latency": "osu_cas_latency",
    "put-bandwidth": "osu_put_bw",
    "get-bandwidth": "osu_get_bw",
    "put-bidirectional-bandwidth": "osu_put_bibw",
}
_PROGRAMS = {**_PAIRS, **_COLLECTIVES, **_ONE_SIDED}
_REDUCTIONS = ("reduce", "allreduce", "reduce-scatter", "reduce-scatterv")
_OF_WHOLE_ARRAY = ("reduce-scatter", "reduce-scatterv")
_IN_PLACE_OR_NOT = (
    *("reduce", "allreduce", "reduce-scatter", "reduce-scatterv"),
    *("allgather", "allgatherv", "gather", "gatherv", "scatter", "scatterv"),
    *("alltoall", "alltoallv", "alltoallw"),
)
_ROOTED = ("broadcast", "reduce", "gather", "gatherv", "scatter", "scatterv")
_TYPES = {"f32": "mpi_float", "i32": "mpi_int"}  # of reductions, of 4 bytes
_OF_ELEMENT = ("fetch-and-op-latency", "compare-and-swap-latency")
# What commlens does by default, of the benchmarks that have a type.
_ATOMIC = {
    "accumulate-latency": "u8",
    "get-accumulate-latency": "u8",
    **dict.fromkeys(_OF_ELEMENT, "i32"),
}
_ATOMIC_TYPES = {"u8": ("mpi_char", 1), "i32": ("mpi_int", 4), "f32": ("mpi_float", 4)}
_ACTIVE = ("fence", "pscw")
_SMALL = 8192  # bytes, up to which OSU's programs have more repetitions
_WINDOW = 64  # messages: OSU's own, and commlens's
_OPERATIONS = {
    "latency": "round trip",
    "bandwidth": f"window of {_WINDOW} messages",
    "bidirectional-bandwidth": f"window of {_WINDOW} messages each way",
}
# Of the programs of neighbors.
_ABOUT_GRID = re.compile(r"Dimensions size = [\d ]{1,99}|Time took to create [ -~]{1,99}", re.ASCII)
_VERSION = re.compile(r"#.* v(\d[\w.]{0,20})\s*", re.ASCII)  # OSU MPI Latency Test v7.4
_NUMBER = r"\d{1,15}(?:\.\d{1,9})?"
_LINE = re.compile(rf"(\d{{1,15}})\s+({_NUMBER})", re.ASCII)
# size, mean over the ranks, least, largest, repetitions
_FULL_LINE = re.compile(rf"(\d{{1,15}})\s+{_NUMBER}\s+{_NUMBER}\s+({_NUMBER})\s+\d+", re.ASCII)
_SINGLE_MEAN = "OSU prints one mean over all repetitions, so write --batches 1 --repeat N"


def plan(request: Request) -> Plan:
    extra: tuple[str, ...] = ("dtype", "out-of-place") if request.benchmark in _COLLECTIVES else ()
    if request.benchmark in _PAIRS:
        extra = ("call",)
    if request.benchmark in _ONE_SIDED:
        extra = ("window-creation", "synchronization", "dtype")
    if _is_of_neighbors(request):
        extra = ("dtype", "dimensions", "periodic")
    request.only("bytes", "repeat", "batches", "warmup", "transport", "memory", "timing", *extra)
    request.needed("batches", _SINGLE_MEAN)
    request.fixed(timing="batch", batches="1")
    repeat = size_in(request.needed("repeat", _SINGLE_MEAN))
    warmup = size_in(request.needed("warmup", "write it, so that both sides have as many"))
    if request.benchmark in _OF_ELEMENT:
        sizes = {_ATOMIC_TYPES[_atomic_type(request)][1]}
    else:
        sizes = set(sizes_in(request.needed("bytes", "name the sizes, as in 8:4M:x8")))
    factor = request.ranks if request.benchmark in _OF_WHOLE_ARRAY else 1
    least, most = min(sizes), max(sizes)
    if not sizes <= {least << power for power in range(61)}:
        text = request.options.text("bytes")
        raise CommlensError(f"--bytes {text}: OSU doubles the size; write such as 1,8,64 or 8:4M")
    asked = [*_of_collective(request), *_of_one_sided(request), *_of_memory(request)]
    name = _program(request)
    program = program_in("OSU_HOME", name, "tools/peers/build-osu.sh builds it")
    range_ = f"{factor * least}:{factor * most}"
    command = [str(program), "-m", range_, "-i", str(repeat), "-x", str(warmup)]
    return Plan(
        command=[*command, *asked],
        harness=Harness(timing="batch", repeat=repeat, warmup=warmup, batches=1),
        operation=_operation(request),
        cases=len(sizes),
        read=partial(_figures, request, sizes),
        versions=_versions,
    )


def repetitions(benchmark: str, largest: int) -> tuple[int, int]:
    """Repetitions and warm-ups, as OSU's programs have them by default, of sizes that are all up to
    8 KiB or all above; `largest` in bytes is one of them."""
    small = largest <= _SMALL
    if benchmark.endswith("bandwidth"):
        return (100, 10) if small else (20, 2)
    if benchmark.endswith("latency"):
        return (10000, 100) if small else (1000, 10)
    return (1000, 100) if small else (100, 10)


def _of_memory(request: Request) -> list[str]:
    """Raises CommlensError for what is compared in host memory only."""
    if request.memory == "host":
        return []
    if request.benchmark in _ONE_SIDED:
        raise CommlensError(f"--memory device: for OSU's {request.benchmark} write --memory host")
    return ["-d", "cuda", *(("D", "D") if request.benchmark in _PAIRS else ())]


def _program(request: Request) -> str:
    """Raises CommlensError for a call that OSU has no program for."""
    call = _call(request)
    if call not in ("", "persistent"):
        raise CommlensError(f"--call {call}: for OSU write persistent, or leave it out")
    return _PROGRAMS[request.benchmark] + ("_persistent" if call else "")


def _call(request: Request) -> str:
    return request.options.text("call") or "" if request.benchmark in _PAIRS else ""


def _versions(line: str) -> Mapping[str, str]:
    version = _VERSION.fullmatch(line)
    return {_NAME: version[1]} if version else {}


def _is_of_neighbors(request: Request) -> bool:
    return request.benchmark.startswith("neighbor-")


def _of_grid(request: Request) -> list[str]:
    """A periodic grid of one dimension. Raises CommlensError for what OSU does not do."""
    if not _is_of_neighbors(request):
        return []
    request.needed("dimensions", "write --dimensions 1")
    request.fixed(dimensions="1")
    if "periodic" not in request.options:
        raise CommlensError("--periodic is missing, for OSU: its grids are periodic")
    if request.ranks < 3:
        raise CommlensError(f"{request.ranks} ranks: OSU's grids have 3 or more; add --ranks 3")
    return ["-N", "cart:1:1"]


def _of_collective(request: Request) -> list[str]:
    """What is combined, and all columns. Raises CommlensError for what OSU does not do."""
    if request.benchmark not in _COLLECTIVES:
        return []
    if request.benchmark == "allreduce" and "out-of-place" not in request.options:
        raise CommlensError("--out-of-place is missing, for OSU: it has one buffer for the results")
    if request.benchmark not in _REDUCTIONS:
        if request.options.text("dtype") not in (None, "", "u8"):
            raise CommlensError("--dtype: OSU sends bytes; leave it out")
        return [*_of_grid(request), "-f"]
    name = request.needed("dtype", f"write one of: {', '.join(_TYPES)}")
    if name not in _TYPES:
        raise CommlensError(f"--dtype {name}: for OSU write one of: {', '.join(_TYPES)}")
    return ["-T", _TYPES[name], "-f"]


def _synchronization(request: Request) -> str:
    both = request.benchmark == "put-bidirectional-bandwidth"
    return request.options.get("synchronization", "pscw" if both else "flush")


def _takes_turns(request: Request) -> bool:
    return _synchronization(request) in _ACTIVE and request.benchmark.endswith("-latency")


def _operation(request: Request) -> str:
    name = request.benchmark
    if name not in _ONE_SIDED:
        return _OPERATIONS.get(name, name)
    if name.endswith("-bandwidth"):
        return f"window of {_WINDOW} operations" + (" each way" if "bidirectional" in name else "")
    return "round trip" if _takes_turns(request) else name.removesuffix("-latency")


def _atomic_type(request: Request) -> str:
    """Raises CommlensError for what OSU does not do."""
    name = request.options.get("dtype", _ATOMIC[request.benchmark])
    known = ["u8"] if request.benchmark == "get-accumulate-latency" else list(_ATOMIC_TYPES)
    if name not in known:
        raise CommlensError(f"--dtype {name}: for OSU write one of: {', '.join(known)}")
    return name


def _of_one_sided(request: Request) -> list[str]:
    """The window, the synchronization and the type."""
    if request.benchmark not in _ONE_SIDED:
        return []
    words = ["-w", request.options.get("window-creation", "allocate")]
    words += ["-s", _synchronization(request).replace("-", "_")]
    if request.benchmark in _ATOMIC and request.benchmark != "get-accumulate-latency":
        words += ["-T", _ATOMIC_TYPES[_atomic_type(request)][0]]
    elif request.benchmark in _ATOMIC:
        _atomic_type(request)
    return words


def _parameters(request: Request, size: int) -> dict[str, object]:
    parameters: dict[str, object] = {"pairs": 1, "synchronization": _synchronization(request)}
    if request.benchmark not in _OF_ELEMENT:
        parameters["bytes"] = size
    if request.options.text("window-creation"):
        parameters["window_creation"] = request.options.text("window-creation")
    if request.benchmark in _ATOMIC:
        parameters["dtype"] = _atomic_type(request)
    return parameters


def _figures(request: Request, sizes: set[int], lines: Iterable[str]) -> Iterator[Figures]:
    """Of these sizes, each once. Raises CommlensError for any other output."""
    program, wanted = _program(request), set(sizes)
    layout = _FULL_LINE if request.benchmark in _COLLECTIVES else _LINE
    factor = request.ranks if request.benchmark in _OF_WHOLE_ARRAY else 1
    for line in lines:
        if not line or line.startswith("#"):
            continue
        if _is_of_neighbors(request) and _ABOUT_GRID.fullmatch(line.strip()):
            continue
        match = layout.fullmatch(line)
        if match is None:
            said = f"{program} has printed '{line[:80]}', which is no size with a figure"
            raise CommlensError(said, Status.FAILED)
        size, printed = int(match[1]), float(match[2])
        if printed == 0:
            fix = "build it with more decimals, as tools/peers/build-osu.sh does"
            raise CommlensError(f"{program} has printed 0 for {size} bytes: {fix}", Status.FAILED)
        if size % factor == 0 and size // factor in wanted:
            wanted.remove(size // factor)
            yield _of_size(request, size // factor, printed)


def _of_size(request: Request, size: int, printed: float) -> Figures:
    """From half a round trip or a collective in us, or from MB/s (1e6) in one direction or both."""
    benchmark = request.benchmark
    if benchmark in _COLLECTIVES:
        dtype = request.options.text("dtype") or "u8"
        count = size // 4 if benchmark in _REDUCTIONS else size
        parameters: dict[str, object] = {"count": count, "bytes": size, "dtype": dtype}
        if benchmark in _IN_PLACE_OR_NOT or benchmark == "broadcast":
            parameters["in_place"] = benchmark == "broadcast"
        if benchmark in _ROOTED:
            parameters["root"] = 0
        if _is_of_neighbors(request):
            grid = {"dimensions": 1, "grid_of_ranks": f"{request.ranks}", "periodic": True}
            parameters.update(grid)
        return Figures(parameters, [1e-6 * printed], {})
    call = {"call": _call(request)} if _call(request) else {}
    if benchmark == "latency":
        parameters = {"bytes": size, "pairs": 1, **call}
        return Figures(parameters, [2e-6 * printed], {"latency_us": [printed]})
    if benchmark in _ONE_SIDED and benchmark.endswith("-latency"):
        turns = 2 if _takes_turns(request) else 1
        parameters = _parameters(request, size)
        return Figures(parameters, [turns * 1e-6 * printed], {"latency_us": [printed]})
    directions = 2 if "bidirectional" in benchmark else 1
    time_s = directions * _WINDOW * size / (1e6 * printed)
    parameters = {"bytes": size, "pairs": 1, "window": _WINDOW, **call}
    if benchmark in _ONE_SIDED:
        parameters = {**_parameters(request, size), "window": _WINDOW}
    return Figures(parameters, [time_s], {"bandwidth_GBps": [1e-3 * printed]})


if __name__ == "__main__":
    main(Peer(_NAME, tuple(_PROGRAMS), plan, memories=("host", "device")))
