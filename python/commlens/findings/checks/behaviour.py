"""Behaviour"""

from __future__ import annotations

from commlens.base.errors import status_text
from commlens.base.text import plural
from commlens.findings.behaviour import Failure
from commlens.findings.facts import SHORTEST_MESSAGE
from commlens.findings.finding import Quote, Setting
from commlens.findings.rule import Seen, observed, rule
from commlens.findings.view import NotApplicable, View
from commlens.jobs.probe import GpuSupport

_ALONE = "ranks were asked for, but MPI has 1"


def _is_alone(failure: Failure) -> bool:
    return any(_ALONE in line for line in failure.said)


def _quotes(failure: Failure) -> list[Quote]:
    source = f"commlens run {failure.benchmark}"
    return [Quote(source, line[:300]) for line in failure.said]


@rule(
    "ranks-are-alone",
    "warning",
    "each rank takes itself for the only one",
    needs="failure",
    when="whether the ranks of a job find each other",
    fix="Use the launcher of the MPI library that the program is linked with (`ldd PROGRAM | grep "
    "libmpi`): load its module, or `srun --mpi=pmix`.",
)
def ranks_are_alone(view: View) -> Seen:
    failure = next(filter(_is_alone, view.runs.failures), None)
    if failure:
        yield observed(
            "Each rank takes itself for rank 0 of 1: the launcher is not that of the MPI library",
            *_quotes(failure),
        )


@rule(
    "short-run-fails",
    "warning",
    "a short run fails",
    needs="failure",
    when="short runs of latency, bandwidth and allreduce over each transport",
    fix="Run it alone: `commlens run {benchmark}`; with another transport (`--transport staged`) "
    "you see whether MPI is the cause.",
)
def short_run_fails(view: View) -> Seen:
    runs = view.runs
    broken = runs.verdict is not None and runs.verdict.support is GpuSupport.BROKEN
    failures = [one for one in runs.failures if not (_is_alone(one) or one.is_slow or broken)]
    if failures:
        names = ", ".join(one.benchmark for one in failures)
        first = failures[0]
        yield observed(
            f"{plural(len(failures), 'short run')} did not end well ({names}; exit status "
            f"{first.status}, {status_text(first.status)})",
            *_quotes(first),
            words={"benchmark": first.benchmark},
        )


@rule(
    "short-run-slow",
    "warning",
    "a short run takes far too long",
    needs="failure",
    when="how long short runs take",
    fix="Look at the other findings first. Else look for what else runs on the node (`top`), and "
    "run it alone: `commlens run {benchmark}`.",
)
def short_run_slow(view: View) -> Seen:
    slow = [one for one in view.runs.failures if one.is_slow]
    if slow:
        names = ", ".join(one.benchmark for one in slow)
        yield observed(
            f"{plural(len(slow), 'short run')} ({names}) did not end in time; they take 1 or 2 s "
            "as a rule",
            *_quotes(slow[0])[-1:],
            words={"benchmark": slow[0].benchmark},
        )


@rule(
    "mpi-fails-on-gpu-memory",
    "warning",
    "MPI fails when it is given GPU memory",
    needs="failure",
    when="whether MPI takes GPU memory, tried in a job of its own",
    fix="{fix}",
)
def mpi_fails_on_gpu_memory(view: View) -> Seen:
    verdict = view.runs.verdict
    if verdict is None:
        raise NotApplicable("no GPU memory was given to MPI")
    if verdict.support in (GpuSupport.UNSUPPORTED, GpuSupport.BROKEN):
        fix = ", ".join(f"{name}={value}" for name, value in verdict.fix.items())
        yield observed(
            verdict.sentence.rstrip("."),
            words={
                "fix": f"Set {fix}."
                if fix
                else "Use another messaging layer of the library, or `--transport staged,ccl`."
            },
            setting=Setting(verdict.fix, shown_by=SHORTEST_MESSAGE) if verdict.fix else None,
        )
