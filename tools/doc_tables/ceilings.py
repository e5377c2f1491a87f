"""Results beside the ceilings that nothing exceeds."""

from __future__ import annotations

from commlens.base.text import format_fraction
from commlens.model import Ceiling, Record
from doc_tables import Row, table
from doc_tables.source import records, rows_of, time_us

_DISTINGUISHING = ("geometry", "solver", "kershaw_eps", "communicators", "dtype")


def _case(record: Record) -> str:
    options = (record.parameters.get(name) for name in _DISTINGUISHING)
    return ", ".join([record.benchmark, *(str(option) for option in options if option is not None)])


def _tightest(record: Record) -> Ceiling:
    """Of the whole operation."""
    return max(
        (ceiling for ceiling in record.ceilings if not ceiling.part and not ceiling.library),
        key=lambda ceiling: ceiling.fraction,
    )


def _rate(ceiling: Ceiling) -> str:
    return f"{ceiling.rate:,.4g} {ceiling.unit}" if ceiling.rate is not None else "-"


@table
def true_ceilings() -> list[Row]:
    return rows_of(
        records("h100/ceilings"),
        {
            "one H100": _case,
            "transport": lambda record: record.transport,
            "time, ms": lambda record: f"{time_us(record) * 1e-3:.4g}",
            "ceiling": lambda record: _tightest(record).name,
            "its rate": lambda record: _rate(_tightest(record)),
            "% of ceiling": lambda record: format_fraction(_tightest(record).fraction),
        },
    )
