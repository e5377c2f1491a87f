"""The records in docs/measured/, and what tables take from them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from commlens.model import TIME_METRIC, Ceiling, Record, load
from doc_tables import Row

MEASURED = Path(__file__).resolve().parents[2] / "docs" / "measured"
NOTHING = "-"
SYSTEMS = {"ucx": "pml ucx", "smcuda": "pml ob1, btl smcuda"}  # by the ending of a file's name


def records(*names: str) -> list[Record]:
    """Those that were measured, of the files docs/measured/NAME.jsonl."""
    loaded = load([MEASURED / f"{name}.jsonl" for name in names])
    assert not loaded.problems, loaded.problems
    return [record for record in loaded.records if record.measured]


def rows_of(pool: Iterable[Record], columns: Mapping[str, Callable[[Record], str]]) -> list[Row]:
    """A table with a row for each record: by the head of a column, what stands in it."""
    return [list(columns), *([cell(record) for cell in columns.values()] for record in pool)]


def json_file(name: str) -> Any:
    return json.loads((MEASURED / name).read_text(encoding="utf-8"))


def transports(pool: Iterable[Record]) -> list[str]:
    return list(next(iter(pool)).start.transports)


def value(record: Record, metric: str) -> float:
    """The median."""
    return record.statistics[metric].median


def median(record: Record | None, metric: str) -> str:
    if not record:
        return NOTHING
    number = value(record, metric)
    return f"{number:.4g}" if number < 1e4 else f"{number:,.0f}"


def time_us(record: Record) -> float:
    return value(record, TIME_METRIC)


def find(pool: Iterable[Record], **wanted: object) -> Record | None:
    """The last record whose transport, memory or parameters are as wanted."""
    return next((record for record in reversed(list(pool)) if _is(record, wanted)), None)


def _is(record: Record, wanted: Mapping[str, object]) -> bool:
    have = {**record.parameters, "transport": record.transport, "memory": record.memory}
    return all(have.get(key) == value for key, value in wanted.items())


def fact(record: Record, name: str, digits: str = ".4g") -> str:
    return f"{number(record, name):{digits}}"


def number(record: Record, fact_name: str) -> float:
    value = record.number(fact_name)
    assert value is not None, f"{fact_name} is not a number of {record.benchmark}"
    return value


def part_s(record: Record, name: str) -> float:
    return next(part.time_s for part in record.parts if part.name == name)


def ceiling_of(record: Record, name: str) -> Ceiling:
    return next(ceiling for ceiling in record.ceilings if ceiling.name == name)


def rate(record: Record, name: str) -> float:
    """What was reached at a ceiling."""
    value = ceiling_of(record, name).rate
    assert value is not None, name
    return value


def hidden(record: Record) -> str:
    """The share of the communication that is hidden; `-` where there is none."""
    return f"{record.hidden.median:.0%}" if record.hidden else "-"


def efficiency(record: Record) -> str:
    return f"{record.efficiency or 0:.1%}"
