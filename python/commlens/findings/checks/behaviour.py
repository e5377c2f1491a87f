"""How the short runs of doctor ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from commlens.base.errors import status_text
from commlens.findings.behaviour import Failure
from commlens.findings.facts import SHORTEST_MESSAGE
from commlens.findings.finding import Quote, Setting
from commlens.findings.rule import Observation, Seen, observed
from commlens.findings.view import NotApplicable, View
from commlens.jobs.probe import GpuSupport

_ALONE = "ranks were asked for, but MPI has 1"


def _is_alone(failure: Failure) -> bool:
    return any(_ALONE in line for line in failure.said)


def _first_of(failures: Sequence[Failure], last_lines: int = 0) -> Iterator[Observation]:
    """The first of them, with all their names."""
    for first in failures[:1]:
        source = f"commlens run {first.benchmark}"
        yield observed(
            *(Quote(source, line[:300]) for line in first.said[-last_lines:]),
            failures=failures,
            names=[one.benchmark for one in failures],
            benchmark=first.benchmark,
            status=first.status,
            meaning=status_text(first.status),
        )


def ranks_are_alone(view: View) -> Seen:
    return _first_of([one for one in view.runs.failures if _is_alone(one)])


def short_run_fails(view: View) -> Seen:
    verdict = view.runs.verdict
    if verdict is not None and verdict.support is GpuSupport.BROKEN:
        return iter(())
    return _first_of([one for one in view.runs.failures if not (_is_alone(one) or one.is_slow)])


def short_run_slow(view: View) -> Seen:
    return _first_of([one for one in view.runs.failures if one.is_slow], last_lines=1)


def mpi_fails_on_gpu_memory(view: View) -> Seen:
    verdict = view.runs.verdict
    if verdict is None:
        raise NotApplicable("no GPU memory was given to MPI")
    if verdict.support in (GpuSupport.UNSUPPORTED, GpuSupport.BROKEN):
        yield observed(
            sentence=verdict.sentence.rstrip("."),
            variables=", ".join(f"{name}={value}" for name, value in verdict.fix.items()),
            which="" if verdict.fix else "no setting helps",
            setting=Setting(verdict.fix, shown_by=SHORTEST_MESSAGE) if verdict.fix else None,
        )
