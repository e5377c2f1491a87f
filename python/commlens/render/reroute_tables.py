"""A rerouted program as a table: by function, what was rerouted, what was not and why, and what
that saved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from commlens.base.text import format_bytes, format_time, plural
from commlens.model.profile import mean
from commlens.model.reroute import Reroute, ReroutedFunction, WrongElement
from commlens.render.markdown import escaped, paragraphs, table_lines
from commlens.render.table import Column, Lines, Table, Thing

HEADING = "# Rerouted"  # of the Markdown
_MOST_DIFFERENCES = 20
_MOST_LINES = 60  # of a block of Markdown
_seconds = "{:.6f}".format
_calls = "{:,.1f}".format


def reroute_things(reroute: Reroute) -> Iterator[Thing]:
    """Everything that `commlens reroute` and `commlens show` print of it."""
    yield Lines([[(line, "")] for line in _head(reroute)])
    if reroute.functions:
        yield function_table(reroute)
    if reroute.differences:
        yield _difference_table(reroute)
    yield Lines([[], [(outcome(reroute), "bold")]])


def to_markdown(reroutes: Iterable[Reroute]) -> str:
    """The same as text for a ticket."""
    lines = [HEADING, ""]
    for reroute in reroutes:
        for thing in reroute_things(reroute):
            if isinstance(thing, Table):
                lines += [
                    *table_lines(thing),
                    "",
                    *(f"- {escaped(text)}" for text, _ in thing.notes),
                ]
            else:
                lines += paragraphs(thing.lines, _MOST_LINES)
            lines.append("")
    return "\n".join(lines)


def _head(reroute: Reroute) -> Iterator[str]:
    run = "what could be rerouted of" if reroute.dry_run else "rerouted:"
    yield f"# {run} {' '.join(reroute.command)}"
    where = f"{plural(reroute.ranks, 'rank')} on {plural(reroute.nodes, 'node')}"
    libraries = ", ".join(filter(None, (reroute.mpi_library, reroute.library)))
    yield f"# {where}, {libraries}, {reroute.time}"
    partly = reroute.disabled if reroute.rerouted_calls else ()  # else it is the outcome
    yield from (f"# {sentence}" for sentence in (*partly, *reroute.warnings))


def outcome(reroute: Reroute) -> str:
    """The sentence that ends the report."""
    ranks = len(reroute.placement)
    calls = _calls(reroute.rerouted_calls / ranks)
    if reroute.differences:
        count = plural(len(reroute.differences), "element")
        return f"wrong: --verify found {count} whose value differs from MPI's"
    if not reroute.rerouted_calls:
        would = "would have been" if reroute.dry_run else "was"
        return f"nothing {would} rerouted: {_why(reroute)}"
    if reroute.dry_run:
        return (
            f"at most {format_time(reroute.mpi_estimate_s)} of {format_time(reroute.run_s)} can be "
            f"saved: the time in MPI of {calls} calls per rank that would have been rerouted"
        )
    if reroute.verified:
        return f"verified: all results of {calls} rerouted calls per rank are MPI's"
    if reroute.saved_s < 0:
        lost, run = format_time(-reroute.saved_s), format_time(reroute.run_s)
        return f"lost {lost} of {run}: MPI would have been faster"
    whole = format_time(reroute.run_s + reroute.saved_s)
    return f"saved {format_time(reroute.saved_s)} of {whole}, which the run would take with MPI"


def _why(reroute: Reroute) -> str:
    if reroute.disabled:
        return reroute.disabled[0]
    if not reroute.functions:
        return "the program called none of the functions"
    return _reasons(reroute.fell_back) or "each signature was called once, which MPI timed"


def _reasons(calls: Mapping[str, float]) -> str:
    """`host memory 3, fewer than 65536 bytes 1.5`"""
    return ", ".join(f"{reason} {count:,.4g}" for reason, count in calls.items())


def function_table(reroute: Reroute) -> Table[ReroutedFunction]:
    """Means over ranks, the function first that takes longest by MPI."""
    ranks = len(reroute.placement)
    library = (reroute.library or "").partition(" ")[0] if reroute.to == "ccl" else "staging"

    def passed_on(function: ReroutedFunction) -> str | None:
        reasons = {**function.fell_back, "timed": sum(function.measured_calls)}
        each = {reason: calls / ranks for reason, calls in reasons.items() if calls}
        return _reasons(each) or None

    rerouted_s: Column[ReroutedFunction] = Column(
        f"By {library or 'NCCL'}", lambda function: mean(function.rerouted_s), "s", _seconds
    )
    columns: list[Column[ReroutedFunction]] = [
        Column("Function", lambda function: function.function, left=True),
        Column("Calls", lambda function: mean(function.calls), format=_calls),
        Column("Bytes", lambda function: mean(function.bytes), format=format_bytes),
        Column("Rerouted\ncalls", lambda function: mean(function.rerouted_calls), format=_calls),
        Column(
            "Rerouted\nbytes", lambda function: mean(function.rerouted_bytes), format=format_bytes
        ),
        *([] if reroute.dry_run else [rerouted_s]),
        Column("By MPI", lambda function: mean(function.mpi_estimate_s), "s", _seconds),
        Column("Passed on", lambda function: mean(function.mpi_s), "s", _seconds),
        Column("Why, calls", passed_on, left=True, wraps=True, folds=True),
    ]
    rows = sorted(
        reroute.functions,
        key=lambda function: -mean(function.mpi_estimate_s) - mean(function.mpi_s),
    )
    return Table(columns, rows, notes=_notes(reroute))


def _notes(reroute: Reroute) -> Iterator[str]:
    is_measured = "the calls that would have been rerouted"
    is_estimated = "each rerouted call as long as MPI's first one like it"
    yield f"means over ranks; By MPI: {is_measured if reroute.dry_run else is_estimated}"
    if copied := sum(sum(function.local_copies) for function in reroute.functions):
        yield (
            f"{plural(copied, 'call')} with a buffer that was not in GPU memory, unlike before: "
            "it was copied"
        )


def _difference_table(reroute: Reroute) -> Table[WrongElement]:
    columns: list[Column[WrongElement]] = [
        Column("Function", lambda wrong: wrong.function, left=True),
        Column("Rank", lambda wrong: wrong.rank),
        Column("Call", lambda wrong: wrong.call),
        Column("Element", lambda wrong: wrong.element),
        Column("By MPI", lambda wrong: wrong.expected),
        Column("Rerouted", lambda wrong: wrong.found),
    ]
    hidden = len(reroute.differences) - _MOST_DIFFERENCES
    notes = [f"... and {hidden} more in the record"] if hidden > 0 else []
    return Table(columns, reroute.differences[:_MOST_DIFFERENCES], notes=notes)
