"""Programs of other projects beside commlens, as tools/peers has compared them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from itertools import chain
from statistics import median
from typing import Any

from commlens.base.text import format_bytes
from commlens.model.rank_test import shift, shift_interval
from doc_tables import Row, table
from doc_tables.source import NOTHING, json_file

_UNITS = {"us": "µs", "GB/s": "GB/s"}


def _ratio(case: dict[str, Any]) -> str:
    """`1.02 (0.99 to 1.05)`, by the interval in bold where it leaves out 1."""
    low, high = case["ratio_low"], case["ratio_high"]
    text = f"{case['ratio']:.3f}"
    if low is None:
        return text
    decided = case["verdict"] in ("faster", "slower")
    return f"{f'**{text}**' if decided else text} ({low:.2f} to {high:.2f})"


def _cases(file: str, benchmark: str) -> list[dict[str, Any]]:
    runs = [run for run in json_file(file) if benchmark in run["command"]]
    return [case for run in runs for case in run["cases"]]


def _size(case: dict[str, Any]) -> str:
    """`16 KiB` of `latency 16 KiB, mpi, host`"""
    return str(case["case"].partition(",")[0].split(maxsplit=1)[1])


def _osu(*benchmarks: str) -> list[Row]:
    """A row a size, which all of the benchmarks have."""
    columns = {name: _cases("peers-osu.json", name) for name in benchmarks}
    head: Row = ["size"]
    for name, cases in columns.items():
        head += [f"{name}, OSU, {_UNITS[cases[0]['unit']]}", "commlens", "ratio (interval)"]
    rows: list[Row] = [head]
    for entries in zip(*columns.values()):
        row: Row = [_size(entries[0])]
        for case in entries:
            row += [f"{case['baseline_median']:.4g}", f"{case['other_median']:.4g}", _ratio(case)]
        rows.append(row)
    return rows


@table
def peers_osu() -> list[Row]:
    return _osu("latency", "bandwidth", "bidirectional-bandwidth")


@table
def peers_osu_allreduce() -> list[Row]:
    return _osu("allreduce")


_SMALL = 8192  # bytes, up to which OSU's programs have more repetitions
_SLOWER = 1.03  # what all of an interval is above
Pair = tuple[list[float], list[float]]  # the times of OSU's launches and of commlens's


def _ratio_of(pair: Pair) -> float:
    return math.exp(shift(*map(_logarithms, pair)))


def _interval_of(pair: Pair) -> tuple[float, float] | None:
    interval = shift_interval(*map(_logarithms, pair))
    return interval and (math.exp(interval[0]), math.exp(interval[1]))


def _is_slower(pair: Pair) -> bool:
    interval = _interval_of(pair)
    return interval is not None and interval[0] > _SLOWER


def _logarithms(times: list[float]) -> list[float]:
    return [math.log(time) for time in times]


def _range(pairs: Iterable[Pair]) -> str:
    ratios = [_ratio_of(pair) for pair in pairs]
    return f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def _launches(*files: str) -> dict[tuple[str, int], dict[str, dict[int, Pair]]]:
    """By operation and number of ranks, by build of OSU's programs, and by size."""
    found: dict[tuple[str, int], dict[str, dict[int, Pair]]] = {}
    runs = (run for file in files for run in json_file(file))
    for run in sorted(runs, key=lambda run: run["ranks"]):
        builds = found.setdefault((run["operation"], run["ranks"]), {})
        for build in sorted(run["times_us"].keys() - {"commlens"}):
            builds.setdefault(build, {}).update(_pairs(run, build))
    return found


def _pairs(run: dict[str, Any], program: str) -> dict[int, Pair]:
    theirs, ours = (run["times_us"][name] for name in (program, "commlens"))
    return {int(size): (theirs[size], ours[size]) for size in ours}


_collectives = partial(
    _launches, "peers-osu-launches-two-cores.json", "h200/peers-osu-launches.json"
)


@table
def peers_osu_collectives() -> list[Row]:
    """The median ratio over the sizes, the least and the largest."""
    rows: list[Row] = []
    for (operation, ranks), builds in _collectives().items():
        columns = {
            f"{build}, {sizes} KiB": _range(
                pair for size, pair in pairs.items() if (size <= _SMALL) == is_small
            )
            for build, pairs in builds.items()
            for sizes, is_small in (("to 8", True), ("from 16", False))
        }
        rows = rows or [["operation", "ranks", *columns]]
        rows.append([operation, str(ranks), *columns.values()])
    return rows


@table
def peers_osu_slower() -> list[Row]:
    """Sizes whose whole interval is above 1.03, beside each build."""
    rows: list[Row] = []
    for (operation, ranks), builds in _collectives().items():
        columns = {build: _slower_sizes(pairs) for build, pairs in builds.items()}
        rows = rows or [["operation", "ranks", *columns]]
        if set(columns.values()) != {NOTHING}:
            rows.append([operation, str(ranks), *columns.values()])
    return rows


def _slower_sizes(pairs: dict[int, Pair]) -> str:
    """`11 sizes, 2 B to 2 KiB: 1.16 to 1.60`"""
    ratios = {size: _ratio_of(pair) for size, pair in pairs.items() if _is_slower(pair)}
    if not ratios:
        return NOTHING
    first, last = (format_bytes(end(ratios)) for end in (min, max))
    low, high = (end(ratios.values()) for end in (min, max))
    if len(ratios) == 1:
        return f"{first}: {low:.2f}"
    return f"{len(ratios)} sizes, {first} to {last}: {low:.2f} to {high:.2f}"


@table
def peers_osu_periods() -> list[Row]:
    """Of rooted operations from 8 B to 2 KiB over the btl sm: the median ratio over them and the
    sizes, the least and the largest, and how many are slower."""
    found: dict[tuple[str, ...], dict[str, list[Pair]]] = {}
    for run in json_file("h200/peers-osu-periods.json"):
        if run["settings"]["OMPI_MCA_btl"] != "self,sm":
            continue
        operations = next(names for names in _ROOTED if run["operation"] in names)
        key = (", ".join(operations), str(run["ranks"]))
        columns = found.setdefault(key, {})
        for column, ending in _PERIODS.items():
            pairs = _pairs(run, f"OSU 7.4 without barriers{ending}")
            columns.setdefault(column, []).extend(pair for size, pair in pairs.items() if size > 4)
    return [
        ["operations", "ranks", *_PERIODS],
        *(
            [*key, *map(_range_and_slower, columns.values())]
            for key, columns in sorted(found.items())
        ),
    ]


_ROOTED = (("scatter", "scatterv", "broadcast"), ("gather", "gatherv", "reduce"))
_PERIODS = {
    "to what OSU prints": "",
    "to its time from call to call": ", from call to call",
}


def _range_and_slower(pairs: list[Pair]) -> str:
    """`1.16 (1.03 to 1.62), 40 of 54`"""
    return f"{_range(pairs)}, {sum(map(_is_slower, pairs))} of {len(pairs)}"


@table
def peers_osu_cuda_aware() -> list[Row]:
    """Host memory through a CUDA-aware MPI: a column for each benchmark, with and without the
    accelerator component."""
    return _by_size({"": "h200/peers-osu-host.json", ", null": "h200/peers-osu-host-null.json"})


@table
def peers_osu_host_again() -> list[Row]:
    """The cases that were above 1.03."""
    files = {"": "h200/peers-osu-host-again.json", ", null": "h200/peers-osu-host-null-again.json"}
    return _by_size(files)


def _by_size(files: dict[str, str]) -> list[Row]:
    """A column for each operation of each file, under its name with the file's ending."""
    columns = {
        f"{name}{ending}": builds["OSU 7.4"]
        for ending, file in files.items()
        for (name, _), builds in _launches(file).items()
    }
    return [
        ["size", *columns],
        *(
            [
                format_bytes(size),
                *(_with_interval(c[size]) if size in c else NOTHING for c in columns.values()),
            ]
            for size in sorted({size for column in columns.values() for size in column})
        ),
    ]


def _with_interval(pair: Pair) -> str:
    """`1.009 (0.98 to 1.04)`"""
    interval = _interval_of(pair)
    text = f"{_ratio_of(pair):.3f}"
    return f"{text} ({interval[0]:.2f} to {interval[1]:.2f})" if interval else text


@table
def buffer_pages() -> list[Row]:
    """The medians of the launches, by size and by how the buffers are allocated."""
    programs = json_file("h200/buffer-pages.json")["latency_us"]
    return [
        ["size", *programs],
        *(
            [format_bytes(int(n)), *(f"{median(by[n]):.2f}" for by in programs.values())]
            for n in next(iter(programs.values()))
        ),
    ]


_OF_BLOCKS = ("reduce-scatter", "allgather", "alltoall")


def _array_bytes(operation: str, case: dict[str, Any]) -> int:
    """The size of the whole array, as nccl-tests has it, of a case on two ranks."""
    number, unit = _size(case).split()
    size = int(number) << 10 * ("B", "KiB", "MiB", "GiB").index(unit)
    return 2 * size if operation in _OF_BLOCKS else size


@table
def peers_nccl() -> list[Row]:
    """nccl-tests' time on two GPUs and the ratio of commlens's to it, by the size of the array."""
    columns: dict[str, dict[int, str]] = {}
    # What was measured again is of the later machine.
    machines = ("h200-x2", "h200-x4")
    for run in chain.from_iterable(json_file(f"{name}/peers-nccl.json") for name in machines):
        words = run["command"]
        operation, dtype = (words[words.index(name) + 1] for name in ("--run", "--dtype"))
        column = columns.setdefault(f"{operation} {dtype}", {})
        for case in run["cases"]:
            cell = f"{case['baseline_median']:.4g} ({case['ratio']:.2f})"
            column[_array_bytes(operation, case)] = cell
    sizes = sorted({size for column in columns.values() for size in column})
    return [
        ["size", *columns],
        *([format_bytes(n), *(each.get(n, NOTHING) for each in columns.values())] for n in sizes),
    ]


@table
def peers_nccl_one_rank() -> list[Row]:
    head: Row = ["size"]
    for mode in ("from one buffer to another", "in place"):
        head += [f"{mode}, nccl-tests, µs", "commlens"]
    rows: list[Row] = [head]
    columns = [run["cases"] for run in json_file("h200/peers-nccl-one-rank.json")]
    for entries in zip(*columns):
        row: Row = [_size(entries[0])]
        for case in entries:
            row += [f"{case['baseline_median']:.3g}", f"{case['other_median']:.3g}"]
        rows.append(row)
    return rows


@table
def peers_gslib() -> list[Row]:
    rows: list[Row] = [
        ["ranks", "elements per rank", "order", "gslib, ms", "commlens, ms", "ratio (interval)"]
    ]
    for run in json_file("peers-gslib.json"):
        command, (case,) = run["command"], run["cases"]
        ranks, mesh, order = (
            command[command.index(name) + 1] for name in ("--ranks", "--elements", "--order")
        )
        rows.append(
            [
                ranks,
                f"{mesh.rpartition(',')[2]}³",
                order,
                f"{1e-3 * case['baseline_median']:.3g}",
                f"{1e-3 * case['other_median']:.3g}",
                _ratio(case),
            ]
        )
    return rows
