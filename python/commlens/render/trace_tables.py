"""What is in a trace, as lines and a table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from commlens.base.text import format_bytes, format_count, plural
from commlens.profile.traces.summary import FunctionSummary, Summary, problems
from commlens.profile.traces.trace import Trace
from commlens.render.table import Column, Lines, Table, Thing

_COLUMNS: list[Column[FunctionSummary]] = [
    Column("Calls", lambda own: own.calls, format=format_count),
    Column("Time in it (s)", lambda own: own.seconds, format="{:.6f}".format),
    Column("Per call (us)", lambda own: own.seconds / own.calls * 1e6, format="{:,.2f}".format),
    Column("Replayed", lambda own: "yes" if own.is_replayed else "no"),
    Column("Function", lambda own: own.name, left=True),
]


def trace_things(
    trace: Trace, summary: Summary, file: Path, memory: float | None
) -> Iterator[Thing]:
    """Everything that `commlens trace info` prints; `memory` is that of a replay per rank."""
    yield Lines([[(line, "")] for line in _head(trace, summary, file, memory)])
    yield Table(_COLUMNS, summary.functions)


def _head(trace: Trace, summary: Summary, file: Path, memory: float | None) -> Iterator[str]:
    yield f"# trace of {plural(len(trace.ranks), 'rank')}, {trace.header.get('mpi', '')}"
    size = format_bytes(file.stat().st_size)
    yield (
        f"# {format_count(summary.calls)} calls at {format_count(summary.places)} places of the "
        f"program, loops {summary.deepest} deep: {size}"
    )
    yield (
        f"# {format_count(summary.messages)} messages between two ranks, "
        f"{format_bytes(summary.message_bytes)}"
    )
    yield (
        f"# seconds of all ranks: {summary.seconds:.3f} in these calls, {summary.gap_seconds:.3f} "
        f"between them, of which {summary.cpu_seconds:.3f} of CPU time"
    )
    if summary.communicators:
        yield (
            f"# {plural(summary.communicators, 'communicator')} made, counted on each rank; "
            f"at most {summary.most_communicators} at a time per rank"
        )
    if memory is not None:
        yield f"# a replay has buffers of up to {format_bytes(round(memory))} per rank"
    if exact := sum(len(rank.exact) for rank in trace.ranks):
        yield f"# exact times of {plural(exact, 'execution')}"
    least = trace.header.get("least_ranks")
    if least and len(trace.ranks) == trace.header.get("ranks"):
        yield f"# uniform: it can be replayed on {least} or more ranks"
    if summary.opaque_share:
        yield f"# {summary.opaque_share:.1%} of the time in MPI was in calls that are not replayed"
    yield from (f"# {line}" for line in problems(trace))
