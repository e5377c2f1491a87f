"""Records as a file of the native program would give them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from commlens.model import Record, read
from sample_records import lines, make_record


def parsed(*records: dict[str, Any]) -> list[Record]:
    loaded = read(lines(records))
    assert not loaded.problems, loaded.problems
    return loaded.records


def record(**changes: Any) -> Record:
    return parsed(make_record(**changes))[0]


def write(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(lines(records)))
    return path


def launches(*medians_us: float, name: str = "start", **changes: Any) -> list[dict[str, Any]]:
    """A record of each launch, with these medians."""
    return [
        make_record(median_us=us, start=f"{name}{number}", **changes)
        for number, us in enumerate(medians_us)
    ]


def device_latency(size: int = 1024, **changes: Any) -> dict[str, Any]:
    return make_record(**{"memory": "device", "bytes": size, **changes})


def allreduce(size: int = 80_000_000, **changes: Any) -> dict[str, Any]:
    """As DFT-FE's, of which there are published results."""
    parameters = {"bytes": size, "dtype": "f64", "in_place": True, **changes.pop("options", {})}
    kind = {"benchmark": "allreduce", "metric": "time_us", "memory": "device"}
    return make_record(**{**kind, "parameters": parameters, "ceilings": [], **changes})
