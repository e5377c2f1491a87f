#!/usr/bin/env python3
"""Writes the tables of docs/*.md from the records in docs/measured/: no figure is typed by hand.

tools/tables.py            rewrites what stands between <!-- table: NAME --> and <!-- end --> on PAGES
tools/tables.py --check    exit status 1 if a table is not what its records say
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent.parent / "docs"
Record = dict[str, Any]
NOTHING = "-"
WAYS = {"ucx": "pml ucx", "smcuda": "pml ob1, btl smcuda"}
TRANSPORTS = ("mpi", "staged", "ccl")


def records(*names: str) -> list[Record]:
    lines = [line for name in names for line in (DOCS / "measured" / f"{name}.jsonl").read_text().splitlines()]
    return [record for record in map(json.loads, lines) if record["status"] == "ok"]


def median(record: Record | None, figure: str) -> str:
    return f"{record['statistics'][figure]['median']:.4g}" if record else NOTHING


def find(pool: Iterable[Record], **wanted: object) -> Record | None:
    """The last record whose transport, memory or parameters are as wanted."""
    found = None
    for record in pool:
        have = {**record["parameters"], "transport": record["transport"], "memory": record["memory"]}
        if all(have.get(key) == value for key, value in wanted.items()):
            found = record
    return found


def ceiling(pool: Iterable[Record], figure: str, **wanted: object) -> str:
    record = next((one for one in pool if find([one], **wanted) and one["ceilings"]), None)
    return f"{record['ceilings'][0]['figures'][figure]:.4g}" if record else NOTHING


def allreduce() -> list[str]:
    rows = [
        "| Allreduce of 1e7 doubles, in place | time a call, ms | 50 calls, s | GB/s | times ccl |",
        "| --- | --- | --- | --- | --- |",
    ]
    for way, title in WAYS.items():
        pool = records(f"h200-x2/allreduce-{way}")
        fastest = find(pool, transport="ccl", bytes=80_000_000, in_place=True)
        assert fastest
        for transport in TRANSPORTS:
            record = find(pool, transport=transport, bytes=80_000_000, in_place=True)
            assert record
            time = record["statistics"]["time_us"]["median"]
            rows.append(
                f"| {transport}, {title} | {time / 1000:.4g} | {median(record, 'batch_s')} "
                f"| {median(record, 'algorithm_bandwidth_GBps')} "
                f"| {time / fastest['statistics']['time_us']['median']:.3g} |"
            )
    return rows


def ccl() -> list[str]:
    rows = ["| ccl, in place | first machine | second machine |", "| --- | --- | --- |"]
    first = records("h200-x2/allreduce-ucx", "h200-x2/allreduce-smcuda")
    second = records("h200-x2/second-machine-allreduce-ucx", "h200-x2/second-machine-allreduce-smcuda")
    for size, label, figure in (
        (8, "8 B, µs", "time_us"),
        (80_000_000, "80 MB, GB/s", "algorithm_bandwidth_GBps"),
        (1 << 30, "1 GiB, GB/s", "algorithm_bandwidth_GBps"),
    ):
        cells = [
            " and ".join(median(one, figure) for one in pool if find([one], transport="ccl", bytes=size, in_place=True))
            for pool in (first, second)
        ]
        rows.append(f"| {label} | {cells[0]} | {cells[1]} |")
    return rows


def point_to_point(benchmark: str, figure: str, sizes: tuple[tuple[int, str], ...]) -> list[str]:
    rows = [
        "| memory | size | mpi, ucx | mpi, smcuda | staged | ccl | ceiling |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    pools = {way: records(f"h200-x2/{benchmark}-{way}") for way in WAYS}
    for memory, title in (("device", "device to device"), ("device:host", "device to host"), ("host", "host to host")):
        for size, label in sizes:
            wanted = {"memory": memory, "bytes": size}
            cells = [median(find(pools[way], transport="mpi", **wanted), figure) for way in WAYS]
            cells += [median(find(pools["ucx"], transport=name, **wanted), figure) for name in ("staged", "ccl")]
            if set(cells) == {NOTHING}:
                continue
            rows.append(f"| {title} | {label} | {' | '.join(cells)} | {ceiling(pools['ucx'], figure, **wanted)} |")
    return rows


def overhead() -> list[str]:
    tables = [
        json.loads((DOCS / "measured" / f"overhead-{name}.json").read_text()) for name in ("latency", "bandwidth")
    ]
    rows = [
        f"| bytes | latency, bare, µs | commlens | ratio ({tables[0]['turns']} turns) "
        f"| bandwidth, bare, GB/s | commlens | ratio ({tables[1]['turns']} turns) |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for latency, bandwidth in zip(tables[0]["rows"], tables[1]["rows"], strict=True):
        cells = [f"{row['bare']:.4g} | {row['commlens']:.4g} | {row['ratio']:.3f}" for row in (latency, bandwidth)]
        rows.append(f"| {latency['bytes']} | {' | '.join(cells)} |")
    return rows


def overhead_gather_scatter() -> list[str]:
    table = json.loads((DOCS / "measured/overhead-gather-scatter.json").read_text())
    rows = [
        f"| ranks | elements a rank | order | gslib's loops, ms | commlens, ms | ratio ({table['turns']} turns) "
        "| its messages | the rest |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in table["rows"]:
        whole = row["whole"]
        parts = [f"{row[name]['ratio']:.2f}" if name in row else NOTHING for name in ("exchange", "rest")]
        rows.append(
            f"| {row['ranks']} | {row['edge']}³ | {row['order']} | {whole['bare_us'] * 1e-3:.3g} "
            f"| {whole['commlens_us'] * 1e-3:.3g} | {whole['ratio']:.2f} | {' | '.join(parts)} |"
        )
    return rows


MINI_APP_S = 1.12  # the DFT-FE mini-app on its own case, in the same place (docs/overlap.md)
XTX_RUNS = {
    "xtx": "as DFT-FE does it",
    "xtx-wide": "`--layout wide`",
    "xtx-tuned": "`--tune --depth 4 --priority normal`",
    "xtx-tuned-wide": "the same, `--layout wide`",
    "xtx-tuned-512": "`--tune --depth 4 --priority normal --block 512`",
}


def part_s(record: Record, name: str) -> float:
    part = next(part for part in record["parts"] if part["name"] == name)
    return float(part["statistics"]["time_us"]["median"]) * 1e-6


def overlapped_s(record: Record, name: str) -> float:
    """What the steps of a part take on rank 0 in the timeline, while others go on beside them."""
    spans = [span for span in record["timeline"]["spans"] if span["rank"] == 0 and span["part"] == name]
    return float(sum(span["end_us"] - span["start_us"] for span in spans)) * 1e-6


def ceiling_of(record: Record, name: str) -> dict[str, Any]:
    return next(one for one in record["ceilings"] if one["name"] == name)


def xtx() -> list[str]:
    rows = [
        "| two H200s, f64, B = 732 if not said | transport | total, s | products alone | reductions alone "
        "| copies alone | the three in turn | overlap efficiency | times the mini-app | TFLOP/s a GPU "
        "| of square GEMM |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, title in XTX_RUNS.items():
        for record in records(f"h200-x2/{name}"):
            total = record["statistics"]["time_s"]["median"]
            parts = [part_s(record, part) for part in ("multiplications", "reductions", "copies")]
            rows.append(
                f"| {title} | {record['transport']} | {total:.3f} | {' | '.join(f'{part:.3g}' for part in parts)} "
                f"| {sum(parts):.3f} | {record['statistics']['overlap_efficiency']['median']:.1%} "
                f"| {MINI_APP_S / total:.2f} "
                f"| {median(record, 'rank_TFLOPs')} | {ceiling_of(record, 'square GEMM')['fraction']:.1%} |"
            )
            title = ""
    return rows


def xtx_limits() -> list[str]:
    rows = [
        "| run | transport | square GEMM, TFLOP/s | block GEMM | reductions in the pipeline, s | products in it |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, title in XTX_RUNS.items():
        for record in records(f"h200-x2/{name}"):
            rates = [f"{ceiling_of(record, one)['gemm_TFLOPs']:.1f}" for one in ("square GEMM", "block GEMM")]
            times = [f"{overlapped_s(record, part):.3g}" for part in ("reductions", "multiplications")]
            rows.append(f"| {title} | {record['transport']} | {' | '.join(rates + times)} |")
            title = ""
    return rows


def xtx_blocks() -> list[str]:
    rows = [
        "| B | options | total, s | products alone | total over it | times the mini-app | TFLOP/s a GPU "
        "| at the rate of a square product, s |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    swept = [*records("h200-x2/xtx-blocks"), *records("h200-x2/xtx-tuned-512"), *records("h200-x2/xtx-tuned-ccl")]
    for record in (record for record in swept if record["transport"] == "ccl"):
        options = record["parameters"]
        total = record["statistics"]["time_s"]["median"]
        products = part_s(record, "multiplications")
        least = total * ceiling_of(record, "square GEMM")["fraction"]
        said = [
            f"--depth {options['depth']} --priority {options['priority']}" if options["overlap"] else "--no-overlap"
        ]
        if options["tune"]:
            said.insert(0, "--tune")
        rows.append(
            f"| {options['block']} | `{' '.join(said)}` | {total:.3f} | {products:.3f} | {total / products - 1:+.1%} "
            f"| {MINI_APP_S / total:.2f} | {median(record, 'rank_TFLOPs')} | {least:.3f} |"
        )
    return rows


def xtx_types() -> list[str]:
    rows = [
        "| one H100, 1 rank | transport | total, s | overlap efficiency | TFLOP/s | square GEMM | block GEMM |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for record in [*records("h100/xtx"), *records("h100/xtx-types")]:
        rates = [f"{ceiling_of(record, one)['gemm_TFLOPs']:.1f}" for one in ("square GEMM", "block GEMM")]
        rows.append(
            f"| {record['parameters']['dtype']} | {record['transport']} | {median(record, 'time_s')} "
            f"| {record['statistics']['overlap_efficiency']['median']:.1%} | {median(record, 'rank_TFLOPs')} "
            f"| {' | '.join(rates)} |"
        )
    return rows


def ceiling_share(record: Record, part: str, library: bool) -> str:
    """The ceiling of a part over what the part takes."""
    for ceiling in record["ceilings"]:
        if ceiling.get("part") == part and ceiling.get("library", False) == library:
            return f"{ceiling['fraction']:.0%}"
    return "-"


def fft() -> list[str]:
    rows = [
        "| two H200s, c128, cached | transport | a pair, ms | local FFT | pack and unpack | communication "
        "| packing: of the copy ceiling | communication: of the peer copy | the alltoalls alone: of it | GFLOP/s |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    staged = [record for record in records("h200-x2/fft") if record["transport"] == "staged"]
    all_of_them = [*records("h200-x2/fft-each"), *staged]
    for record in sorted(all_of_them, key=lambda one: (one["parameters"]["grid_of_ranks"], one["parameters"]["grid"])):
        if record["parameters"]["communicators"] != "cached":
            continue
        layout = "slabs" if record["parameters"]["grid_of_ranks"] == "2x1" else "pencils"
        parts = [f"{1e3 * part_s(record, name):.3g}" for name in ("local FFT", "pack and unpack", "communication")]
        shares = [
            ceiling_share(record, "pack and unpack", False),
            ceiling_share(record, "communication", False),
            ceiling_share(record, "communication", True),
        ]
        rows.append(
            f"| {record['parameters']['grid']}, {layout} | {record['transport']} | {median(record, 'time_ms')} "
            f"| {' | '.join(parts + shares)} | {record['statistics']['fft_GFLOPs']['median']:.0f} |"
        )
    return rows


def fft_ways() -> list[str]:
    rows = [
        "| 512x512x512, slabs, cached | transport | a pair, ms | pack and unpack | communication |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name in ("fft-exchanges", "fft-sphere"):
        for record in records(f"h200-x2/{name}"):
            options = record["parameters"]
            how = options["exchange"] if options["grid_span"] == "full" else "alltoallv, sphere"
            parts = [f"{1e3 * part_s(record, part):.3g}" for part in ("pack and unpack", "communication")]
            rows.append(f"| {how} | {record['transport']} | {median(record, 'time_ms')} | {' | '.join(parts)} |")
    return rows


def fft_ranks() -> list[str]:
    best: dict[tuple[str, int], dict[str, float]] = {}
    for record in records("h200-x2/fft-host-ranks"):
        case = best.setdefault((record["parameters"]["grid"], record["ranks"]), {})
        case[record["parameters"]["communicators"]] = record["statistics"]["time_ms"]["min"]
    grids = sorted({grid for grid, _ in best}, key=lambda grid: int(grid.split("x")[0]))
    rows = [
        "| ranks | " + " | ".join(f"{grid}: before, ms | after, ms | speed-up" for grid in grids) + " |",
        "| --- |" + " --- | --- | --- |" * len(grids),
    ]
    for ranks in sorted({ranks for _, ranks in best}):
        cells = []
        for grid in grids:
            before, after = best[grid, ranks]["per-transpose"], best[grid, ranks]["cached"]
            cells.append(f"{before:.3g} | {after:.3g} | {before / after - 1:.0%}")
        rows.append(f"| {ranks} | {' | '.join(cells)} |")
    return rows


def fft_cp2k() -> list[str]:
    table = json.loads((DOCS / "measured" / "fft-cp2k.json").read_text())
    rows = [
        f"| grid | layout | CP2K, blocked, ms ({table['turns']} turns) | CP2K, rays, ms | commlens, ms "
        "| the faster of CP2K's over commlens |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for row in table["rows"]:
        best = {who: min(times) for who, times in row["best_ms"].items()}
        rows.append(
            f"| {row['grid']}³ | {row['p']} x {row['q']} | {best['cp2k_blocked']:.2f} | {best['cp2k_rays']:.2f} "
            f"| {best['commlens']:.2f} | {min(best['cp2k_blocked'], best['cp2k_rays']) / best['commlens']:.2f} |"
        )
    return rows


def fact(record: Record, name: str, digits: str = ".4g") -> str:
    return f"{record['facts'][name]:{digits}}"


def gather_scatter() -> list[str]:
    rows = [
        "| two H200s, 40x20x20 elements, f64 | `--mode` | nekRS would say | time, µs | pack | exchange | local "
        "| unpack | as nekRS chooses, µs | messages alone, µs | avg bi-bw, GB/s/rank |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    pool = records("h200-x2/gather-scatter")
    used = min(pool, key=lambda record: float(record["candidate"]["seconds"]))
    for record in pool:
        parts = [f"{1e6 * part_s(record, part):.1f}" for part in ("pack", "exchange", "local", "unpack")]
        name = record["candidate"]["name"]
        title = f"**{name}**, used" if record is used else name
        rows.append(
            f"| {record['transport']} | {record['parameters']['mode']} | {title} "
            f"| {median(record, 'time_us')} | {' | '.join(parts)} | {fact(record, 'selection_us', '.1f')} "
            f"| {fact(record, 'exchange_avg_us', '.1f')} | {fact(record, 'bidirectional_GBps', '.1f')} |"
        )
    return rows


def gather_scatter_kinds() -> list[str]:
    rows = [
        "| two H200s, pairwise | transport | a gather-scatter, µs | messages alone, µs | avg bi-bw, GB/s/rank |",
        "| --- | --- | --- | --- | --- |",
    ]
    for record in records("h200-x2/gather-scatter-fields"):
        options = record["parameters"]
        travels = "" if options["dtype"] == options["exchange_dtype"] else f", {options['exchange_dtype']} travels"
        fields = "1 field" if options["fields"] == 1 else f"{options['fields']} fields"
        rows.append(
            f"| {fields}, {options['dtype']}{travels} | {record['transport']} | {median(record, 'time_us')} "
            f"| {fact(record, 'exchange_avg_us', '.1f')} | {fact(record, 'bidirectional_GBps', '.1f')} |"
        )
    return rows


def gather_scatter_overlap() -> list[str]:
    rows = [
        "| two H200s | `--mode` | a gather-scatter, µs | the operator, µs | both, `--overlap`, µs |",
        "| --- | --- | --- | --- | --- |",
    ]
    alone_of = {
        (one["transport"], one["parameters"]["mode"]): one["statistics"]["time_us"]["median"]
        for one in records("h200-x2/gather-scatter")
    }
    for record in records("h200-x2/gather-scatter-overlap"):
        mode = record["parameters"]["mode"]
        alone = alone_of[record["transport"], mode]
        operator = 1e6 * part_s(record, "operator")
        both = record["statistics"]["time_us"]["median"]
        rows.append(f"| {record['transport']} | {mode} | {alone:.1f} | {operator:.1f} | {both:.1f} |")
    return rows


def variant_of(record: Record) -> tuple[str, str, str]:
    options = record["parameters"]
    return options["storage"], options["geometry"], options["solver"]


def bp5() -> list[str]:
    lines = (DOCS / "measured" / "h200" / "bp5-memory.jsonl").read_text().splitlines()
    memory = {tuple(one["options"][1::2]): one for one in map(json.loads, lines)}
    rows = [
        "| one H200, 20³ elements | geometry | solver | (DOF x iter)/s/rank | an iteration, µs | its kernels, µs "
        "| bytes a DOF and iteration: counted | measured | measured bytes, GB/s | a copy, GB/s | of it |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for record in records("h200/bp5"):
        seen = memory[variant_of(record)]
        iteration_us = record["statistics"]["time_ms"]["median"] * 1e3 / record["facts"]["iterations"]
        bandwidth = seen["bytes_per_iteration"] / iteration_us * 1e-3
        copy = 2 * next(one["copy_GBps"] for one in record["ceilings"] if "copy" in one["name"])
        rows.append(
            f"| {' | '.join(variant_of(record))} | {record['statistics']['throughput_DOF_iter_per_s']['median']:.3g} "
            f"| {iteration_us:.1f} | {seen['kernels_us_per_iteration']:.1f} "
            f"| {fact(record, 'bytes_per_dof_iteration', '.1f')} "
            f"| {seen['bytes_per_iteration'] / record['facts']['dof_per_rank']:.1f} | {bandwidth:.0f} | {copy:.0f} "
            f"| {bandwidth / copy:.0%} |"
        )
    return rows


def bp5_host() -> list[str]:
    rows = [
        "| one core, 20³ elements | geometry | (DOF x iter)/s/rank | counted bytes, GB/s | of a copy "
        "| GFLOP/s by nekRS's count | of a square GEMM |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for record in records("bp5-host"):
        storage, geometry, _ = variant_of(record)
        shares = {one["name"]: one["fraction"] for one in record["ceilings"]}
        rows.append(
            f"| {storage} | {geometry} | {record['statistics']['throughput_DOF_iter_per_s']['median']:.3g} "
            f"| {median(record, 'memory_GBps')} | {shares['memory copy']:.0%} | {median(record, 'GFLOPs')} "
            f"| {shares['square GEMM']:.0%} |"
        )
    return rows


def bp5_kernels() -> list[str]:
    lines = (DOCS / "measured" / "h200" / "bp5-memory.jsonl").read_text().splitlines()
    rows = [
        "| storage | geometry | solver | kernel | launches an iteration | µs each | MB each | GB/s |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for one in map(json.loads, lines):
        title = " | ".join(one["options"][1::2])
        for name, kernel in sorted(one["kernels"].items(), key=lambda item: -float(item[1]["us"])):
            rows.append(
                f"| {title} | {name} | {kernel['launches']} | {kernel['us']:.1f} | {kernel['bytes'] * 1e-6:.1f} "
                f"| {kernel['bytes'] / kernel['us'] * 1e-3:.0f} |"
            )
            title = " | | "
    return rows


def bp5_ranks() -> list[str]:
    rows = [
        "| two H200s, 40x20x20 elements | transport | exchange | (DOF x iter)/s/rank | an iteration, µs |",
        "| --- | --- | --- | --- | --- |",
    ]
    for record in records("h200-x2/bp5"):
        options = record["parameters"]
        said = "default" if options["solver"] == "classical" else "`--solver fused`"
        if not options["overlap"]:
            said = "`--no-overlap`"
        if options["exchange_dtype"] != "f64":
            said = "`--exchange-dtype f32`"
        iteration_us = record["statistics"]["time_ms"]["median"] * 1e3 / record["facts"]["iterations"]
        rows.append(
            f"| {said} | {record['transport']} | {record['facts']['exchange']} "
            f"| {record['statistics']['throughput_DOF_iter_per_s']['median']:.3g} | {iteration_us:.1f} |"
        )
    return rows


SIZES = ((1, "1 B"), (4096, "4 KiB"), (65536, "64 KiB"), (1 << 20, "1 MiB"), (4 << 20, "4 MiB"))
PAGES = ("fft.md", "gather-scatter.md", "gpu-transports.md", "measuring.md", "overlap.md")
TABLES: dict[str, Callable[[], list[str]]] = {
    "allreduce": allreduce,
    "ccl": ccl,
    "fft": fft,
    "fft_cp2k": fft_cp2k,
    "fft_ranks": fft_ranks,
    "fft_ways": fft_ways,
    "overhead": overhead,
    "overhead_gather_scatter": overhead_gather_scatter,
    "xtx": xtx,
    "xtx_limits": xtx_limits,
    "xtx_blocks": xtx_blocks,
    "xtx_types": xtx_types,
    "latency": lambda: point_to_point("latency", "latency_us", SIZES),
    "bp5": bp5,
    "bp5_host": bp5_host,
    "bp5_kernels": bp5_kernels,
    "bp5_ranks": bp5_ranks,
    "gather_scatter": gather_scatter,
    "gather_scatter_kinds": gather_scatter_kinds,
    "gather_scatter_overlap": gather_scatter_overlap,
    "bandwidth": lambda: point_to_point("bandwidth", "bandwidth_GBps", (*SIZES, (1 << 28, "256 MiB"))),
}


def rewritten(text: str) -> str:
    def table(match: re.Match[str]) -> str:
        return f"<!-- table: {match[1]} -->\n" + "\n".join(TABLES[match[1]]()) + "\n<!-- end -->"

    return re.sub(r"<!-- table: (\w+) -->\n.*?<!-- end -->", table, text, flags=re.DOTALL)


def main() -> int:
    stale = 0
    for page in (DOCS / name for name in PAGES):
        text = page.read_text()
        if "--check" not in sys.argv:
            page.write_text(rewritten(text))
        elif rewritten(text) != text:
            print(f"{page.name}: a table is not what its records say; run tools/tables.py")
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main())
