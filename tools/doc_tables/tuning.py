"""What `commlens tune` has found on two H200s."""

from __future__ import annotations

from typing import Any

from doc_tables import Row, table
from doc_tables.source import NOTHING, json_file

# Searches, and what was reached by hand on such a machine, in us, by size.
_SEARCHES = {
    "latency": ("latency over smcuda, the default", {1: 18, 4 << 20: 27}),
    "latency-ucx": ("latency over UCX", {1: 18, 4 << 20: 28}),
    "allreduce": ("allreduce", {80 << 20: {"mpi": 58_000, "staged": 33_000, "ccl": 290}}),
}
_SIZES = {1: "1 B", 8: "8 B", 64 << 10: "64 KiB", 4 << 20: "4 MiB", 80 << 20: "80 MiB"}


def _text(us: float) -> str:
    return f"{us:.3g} µs" if us < 1000 else f"{us / 1000:.3g} ms"


def _figure(choice: dict[str, Any], number: int) -> float:
    return float(choice["figures"][number]["median"])


@table
def tune_h200() -> list[Row]:
    rows: list[Row] = [
        [
            *("search", "launches", "size", "default", "best found", "with"),
            *("verdict on it", "reached by hand"),
        ]
    ]
    for name, (title, by_hand) in _SEARCHES.items():
        search = json_file(f"h200-x2/tune-{name}.json")
        for result in search["results"]:
            default, best = _measured(result, {}), _measured(result, result["choice"])
            for number, figure in enumerate(default["figures"]):
                size = figure["size"]
                hand = by_hand[size]
                reached = hand[result["target"]] if isinstance(hand, dict) else hand
                rows.append(
                    [
                        f"{title}, {result['target']}" if name == "allreduce" else title,
                        search["launches"],
                        _SIZES[size],
                        _text(_figure(default, number)),
                        _text(_figure(best, number)) if result["choice"] else NOTHING,
                        _settings(result["choice"]),
                        result["verdict"] if result["launches"][1] else NOTHING,
                        _text(reached),
                    ]
                )
    return rows


@table
def tune_host() -> list[Row]:
    rows: list[Row] = [["search", "launches", "size", "default", "winner", "with", "to default"]]
    for search in json_file("tune-host.json"):
        (result,) = search["results"]
        interval = f"{result['ratio_low']:.2f} to {result['ratio_high']:.2f}"
        default, best = _measured(result, {}), _measured(result, result["choice"])
        for number, figure in enumerate(default["figures"]):
            rows.append(
                [
                    search["command"].split()[2],
                    search["launches"],
                    _SIZES[figure["size"]],
                    _text(_figure(default, number)),
                    _text(_figure(best, number)),
                    _settings(result["choice"]),
                    f"{result['ratio']:.2f} ({interval}, {result['launches'][1]} launches)",
                ]
            )
    return rows


def _measured(result: dict[str, Any], choice: dict[str, str]) -> dict[str, Any]:
    """The figures of a choice of settings; that of none is the default."""
    return next(entry for entry in result["choices"] if entry["choice"] == choice)


def _settings(choice: dict[str, str]) -> str:
    return ", ".join(f"`{name}={value}`" for name, value in choice.items()) or NOTHING


@table
def doctor_h200() -> list[Row]:
    rows: list[Row] = [["broken on purpose", "finding", "without its fix", "with it", "gain"]]
    for setup in json_file("h200-x2/doctor-setups.json"):
        if not setup["expected"]:
            continue
        unit = setup["unit"] or ""
        gain = NOTHING
        if setup["gain"]:
            gain = f"{setup['gain']:.3g} ({setup['gain_low']:.3g} to {setup['gain_high']:.3g})"
        rows.append(
            [
                setup["what"],
                ", ".join(f"`{code}`" for code in setup["expected"]),
                "fails" if setup["before"] is None else f"{setup['before']:.4g} {unit}",
                "fails" if setup["after"] is None else f"{setup['after']:.4g} {unit}",
                gain,
            ]
        )
    return rows
