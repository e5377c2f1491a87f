"""Programs of other projects beside commlens, as tools/peers/measure.py has compared them."""

from __future__ import annotations

from collections.abc import Container
from itertools import chain
from statistics import median
from typing import Any

from commlens.base.text import format_bytes
from doc_tables import Row, table
from doc_tables.source import NOTHING, json_file

_MACHINES = ("h200-x2", "h200-x4")  # what was measured again is of the later one
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


def _operation_and_column(run: dict[str, Any]) -> tuple[str, str]:
    words = run["command"]
    operation, ranks = (words[words.index(name) + 1] for name in ("--run", "--ranks"))
    sizes = "from 16 KiB" if "16K:" in words[words.index("--bytes") + 1] else "to 8 KiB"
    return operation, f"{ranks} ranks, {sizes}"


def _on_many_cores() -> list[dict[str, Any]]:
    """A rank on a core of its own. What was measured on several machines is of the last."""
    runs = chain.from_iterable(
        json_file(f"{name}/peers-osu-collectives.json") for name in (*_MACHINES, "h200", "h100")
    )
    return list({_operation_and_column(run): run for run in runs}.values())


def _osu_collectives(
    runs: list[dict[str, Any]], without: Container[tuple[str, str]] = ()
) -> list[Row]:
    """The median ratio over the sizes, the least and the largest, by ranks."""
    cases: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for run in runs:
        operation, column = _operation_and_column(run)
        if (operation, column) not in without:
            cases.setdefault(column, {}).setdefault(operation, []).extend(run["cases"])
    columns = sorted(cases, key=lambda name: (name[0], name.endswith("16 KiB")))

    def cell(column: str, operation: str) -> str:
        ratios = [case["ratio"] for case in cases[column].get(operation, [])]
        if not ratios:
            return NOTHING
        return f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"

    operations = dict.fromkeys(name for column in cases.values() for name in column)
    return [
        ["operation", *columns],
        *([name, *(cell(column, name) for column in columns)] for name in operations),
    ]


@table
def peers_osu_collectives() -> list[Row]:
    return _osu_collectives(_on_many_cores())


@table
def peers_osu_collectives_two_cores() -> list[Row]:
    """What was not measured there."""
    there = set(map(_operation_and_column, _on_many_cores()))
    return _osu_collectives(json_file("peers-osu-collectives.json"), there)


@table
def peers_osu_without_barriers() -> list[Row]:
    """Beside OSU's programs as they are, and without their barriers, by ranks."""
    sides = {"OSU": "peers-osu-barriers", "without barriers": "peers-osu-without-barriers"}
    rows: list[Row] = []
    for folder in ("", "h100/", "h200/", "h200-x4/"):
        (head, *with_barriers), (_, *without) = (
            _osu_collectives(json_file(f"{folder}{name}.json")) for name in sides.values()
        )
        ranks = head[1].partition(" ")[0]
        rows += [
            [row[0], ranks, *row[1:], *other[1:]] for row, other in zip(with_barriers, without)
        ]
    ranges = [column.partition(", ")[2] for column in head[1:]]
    columns = [f"{side}, {sizes}" for side in sides for sizes in ranges]
    return [["operation", "ranks", *columns], *rows]


@table
def peers_osu_collectives_decided() -> list[Row]:
    """Cases that are decided as slower than OSU's."""
    rows: list[Row] = [["operation", "ranks", "size", "OSU, µs", "ratio (interval)"]]
    for run in _on_many_cores():
        words = run["command"]
        operation, ranks = (words[words.index(name) + 1] for name in ("--run", "--ranks"))
        rows += [
            [operation, ranks, _size(case), f"{case['baseline_median']:.4g}", _ratio(case)]
            for case in run["cases"]
            if case["verdict"] == "slower"
        ]
    return rows


@table
def peers_osu_many_launches() -> list[Row]:
    """A row a case, beside each build of OSU's program."""
    files = ("h100/peers-osu-twenty-launches.json", "h200/peers-osu-bandwidth.json")
    runs = list(chain.from_iterable(map(json_file, files)))
    columns = list(dict.fromkeys(run["osu"] for run in runs))
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for run in runs:
        words = run["command"]
        operation, ranks = (words[words.index(name) + 1] for name in ("--run", "--ranks"))
        component = "null" if "OMPI_MCA_accelerator=null" in words else "default"
        for case in run["cases"]:
            launches = str(case["baseline_launches"])
            key = str(run["machine"]), launches, operation, ranks, component, _size(case)
            rows.setdefault(key, {})[run["osu"]] = _ratio(case)
    head = ["machine", "launches", "operation", "ranks", "accelerator component", "size"]
    return [
        [*head, *(f"OSU {column}" for column in columns)],
        *([*key, *(row.get(column, NOTHING) for column in columns)] for key, row in rows.items()),
    ]


@table
def peers_osu_call_times() -> list[Row]:
    """Medians over launches: of a launch what its slowest rank has."""
    record = json_file("h200/call-times.json")
    head = ["operation", "block", "program", "launches", "printed", "mean", "median", "period"]
    cases: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for launch in record["launches"]:
        cases.setdefault((launch["operation"], launch["program"]), []).append(launch)
    rows: list[Row] = [head]
    for (operation, program), launches in cases.items():
        times = [
            [max(rank[f"{name}_us"] for rank in launch["ranks"]) for launch in launches]
            for name in ("mean", "median", "period")
        ]
        block = format_bytes(record["commands"][operation]["block_bytes"])
        printed = [launch["reported_us"] for launch in launches]
        cells = [f"{median(values):.2f}" for values in (printed, *times)]
        rows.append([operation, block, program, str(len(launches)), *cells])
    return rows


@table
def peers_osu_barrier() -> list[Row]:
    """Medians of the launches, and their ratio to the slowest rank's time of OSU."""
    rows: list[Row] = [
        ["operation", "ranks", "size", "OSU, µs", "commlens", "commlens, --timing each"]
    ]
    for case in json_file("h100/osu-barrier.json")["cases"]:
        osu, *ours = (
            median(case[name])
            for name in ("osu_slowest_rank_us", "back_to_back_us", "after_a_barrier_us")
        )
        ratios = [f"{time:.4g} ({time / osu:.2f})" for time in ours]
        size = format_bytes(case["bytes"])
        rows.append([case["benchmark"], str(case["ranks"]), size, f"{osu:.4g}", *ratios])
    return rows


@table
def peers_osu_cuda_aware() -> list[Row]:
    """Host memory through a CUDA-aware MPI: a column for each benchmark, with and without the
    accelerator component."""
    benchmarks = ("latency", "bandwidth", "allreduce")
    files = {
        "": ["h200-x2/peers-osu-host.json", "h200/peers-osu-host.json"],
        ", null": ["h200/peers-osu-host-null.json"],
    }
    columns = {
        f"{name}{ending}": {
            _size(case): _ratio(case) for file in of_ending for case in _cases(file, name)
        }
        for ending, of_ending in files.items()
        for name in benchmarks
    }
    sizes = dict.fromkeys(size for column in columns.values() for size in column)
    return [
        ["size", *columns],
        *([size, *(column.get(size, NOTHING) for column in columns.values())] for size in sizes),
    ]


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
    for run in chain.from_iterable(
        json_file(f"{machine}/peers-nccl.json") for machine in _MACHINES
    ):
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
