"""Histories for tests: launches of one case or several, a day apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from commlens.compare.history.entries import Batch
from commlens.compare.history.writing import add
from record_helpers import parsed
from sample_records import make_record

BEGIN = date(2026, 1, 1)
VERSIONS = {"mpi": "Open MPI 5.0.7", "ucx": "1.18.0", "kernel": "6.1.0"}


def noise(count: int, spread: float = 0.01, seed: int = 1) -> list[float]:
    """Factors by which launches differ."""
    random = np.random.default_rng(seed)
    return [float(value) for value in np.exp(spread * random.standard_normal(count))]


def day_of(number: int) -> str:
    return (BEGIN + timedelta(days=number)).isoformat()


def launch(number: int, median_us: float, name: str = "start", **changes: Any) -> dict[str, Any]:
    """The record of the launch on the day of this number."""
    time = f"{day_of(number)}T03:00:00Z"
    made = make_record(
        median_us=median_us,
        time=time,
        **{"start": f"{name}-{number}", "versions": VERSIONS, **changes},
    )
    made["start"]["time"] = time
    return made


def launches(
    count: int, slower_from: int | None = None, by: float = 1.2, **changes: Any
) -> list[dict[str, Any]]:
    """2 us, and from the launch of a number on longer by a factor, with another UCX."""
    return [
        launch(
            number,
            2.0 * factor * (by if is_new else 1),
            **{"versions": {**VERSIONS, "ucx": "1.19.0"} if is_new else VERSIONS, **changes},
        )
        for number, factor in enumerate(noise(count))
        for is_new in [slower_from is not None and number >= slower_from]
    ]


def stored(path: Path, records: Iterable[dict[str, Any]], **facts: Any) -> Path:
    """A store that has them."""
    add(path, Batch(parsed(*records), **facts))
    return path


def medians(records: Sequence[dict[str, Any]]) -> list[float]:
    return [record["statistics"]["time_us"]["median"] for record in records]
