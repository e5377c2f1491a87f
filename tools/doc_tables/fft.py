"""Distributed FFTs."""

from __future__ import annotations

from commlens.model import Record
from doc_tables import Row, table
from doc_tables.source import NOTHING, json_file, median, part_s, records, value


@table
def fft() -> list[Row]:
    rows: list[Row] = [
        [
            *("two H200s, c128, cached", "transport", "pair of transforms, ms", "local FFT"),
            *("pack and unpack", "communication", "pack and unpack: % of copy ceiling"),
            *("communication: % of peer copy", "% of alltoall alone", "GFLOP/s"),
        ]
    ]
    staged = [record for record in records("h200-x2/fft") if record.transport == "staged"]
    pool = [
        record
        for record in [*records("h200-x2/fft-each"), *staged]
        if record.parameters["communicators"] == "cached"
    ]
    pool.sort(key=lambda record: [str(record.parameters[x]) for x in ("grid_of_ranks", "grid")])
    for record in pool:
        layout = "slabs" if record.parameters["grid_of_ranks"] == "2x1" else "pencils"
        rows.append(
            [
                f"{record.parameters['grid']}, {layout}",
                record.transport,
                median(record, "time_ms"),
                *_parts_ms(record, "local FFT", "pack and unpack", "communication"),
                _share(record, "pack and unpack"),
                _share(record, "communication"),
                _share(record, "communication", library=True),
                f"{value(record, 'fft_GFLOPs'):.0f}",
            ]
        )
    return rows


def _parts_ms(record: Record, *names: str) -> list[str]:
    return [f"{1e3 * part_s(record, name):.3g}" for name in names]


def _share(record: Record, part: str, library: bool = False) -> str:
    """The ceiling of a part over the time of the part."""
    for ceiling in record.ceilings:
        if ceiling.part == part and ceiling.library == library:
            return f"{ceiling.fraction:.0%}"
    return NOTHING


@table
def fft_ways() -> list[Row]:
    rows: list[Row] = [
        [
            *("512x512x512, slabs, cached", "transport", "pair of transforms, ms"),
            *("pack and unpack", "communication"),
        ]
    ]
    for record in records("h200-x2/fft-exchanges", "h200-x2/fft-sphere"):
        options = record.parameters
        is_full = options["grid_span"] == "full"
        rows.append(
            [
                str(options["exchange"]) if is_full else "alltoallv, sphere",
                record.transport,
                median(record, "time_ms"),
                *_parts_ms(record, "pack and unpack", "communication"),
            ]
        )
    return rows


@table
def fft_ranks() -> list[Row]:
    best: dict[tuple[str, int], dict[str, float]] = {}
    for record in records("h200-x2/fft-host-ranks"):
        options = record.parameters
        case = best.setdefault((str(options["grid"]), record.ranks), {})
        case[str(options["communicators"])] = record.statistics["time_ms"].min
    grids = sorted({grid for grid, _ in best}, key=lambda grid: int(grid.split("x")[0]))
    heads = [[f"{grid}: per-transpose, ms", "cached, ms", "speed-up"] for grid in grids]
    rows: list[Row] = [["ranks", *(word for head in heads for word in head)]]
    for ranks in sorted({ranks for _, ranks in best}):
        row: Row = [ranks]
        for grid in grids:
            before, after = best[grid, ranks]["per-transpose"], best[grid, ranks]["cached"]
            row += [f"{before:.3g}", f"{after:.3g}", f"{before / after - 1:.0%}"]
        rows.append(row)
    return rows


@table
def fft_cp2k() -> list[Row]:
    document = json_file("fft-cp2k.json")
    rows: list[Row] = [
        [
            *("grid", "layout", f"CP2K, blocked, ms ({document['turns']} turns)", "CP2K, rays, ms"),
            *("commlens, ms", "the faster of CP2K's over commlens"),
        ]
    ]
    for row in document["rows"]:
        best = {name: min(times) for name, times in row["best_ms"].items()}
        blocked, rays, ours = (best[name] for name in ("cp2k_blocked", "cp2k_rays", "commlens"))
        times = [f"{time:.2f}" for time in (blocked, rays, ours, min(blocked, rays) / ours)]
        rows.append([f"{row['grid']}³", f"{row['p']} x {row['q']}", *times])
    return rows
