"""Behaviour"""

from __future__ import annotations

from commlens.base.errors import status_text
from commlens.base.text import plural
from commlens.findings import Quote, Setting
from commlens.findings.behaviour import Failure
from commlens.findings.check import NotApplicable, Observed, Seen, check
from commlens.findings.machine_view import DoctorView
from commlens.findings.selection import SHORTEST_MESSAGE
from commlens.jobs.probe import GpuSupport

_ALONE = "ranks were asked for, but MPI has 1"


def _is_alone(failure: Failure) -> bool:
    return any(_ALONE in line for line in failure.said)


def _quotes(failure: Failure) -> list[Quote]:
    source = f"commlens run {failure.benchmark}"
    return [Quote(source, line[:300]) for line in failure.said]


@check(
    "ranks-are-alone",
    "problem",
    about="behaviour",
    title="each rank takes itself for the only one",
    looks_at="whether the ranks of a job find each other",
    fix="Use the launcher of the MPI library that the program is linked with (`ldd PROGRAM | grep "
    "libmpi`): load its module, or `srun --mpi=pmix`.",
)
def ranks_are_alone(view: DoctorView) -> Seen:
    own = view.behaviour
    if own.why_none:
        yield NotApplicable(own.why_none)
    elif any(map(_is_alone, own.failures)):
        failure = next(filter(_is_alone, own.failures))
        yield Observed(
            "Each rank takes itself for rank 0 of 1: the launcher is not that of the MPI library",
            *_quotes(failure),
        )


@check(
    "short-run-fails",
    "problem",
    about="behaviour",
    title="a short run fails",
    looks_at="short runs of latency, bandwidth and allreduce over each transport",
    fix="Run it alone: `commlens run {benchmark}`; with another transport (`--transport staged`) "
    "you see whether MPI is the cause.",
)
def short_run_fails(view: DoctorView) -> Seen:
    own = view.behaviour
    if own.why_none:
        yield NotApplicable(own.why_none)
        return
    broken = own.verdict is not None and own.verdict.support is GpuSupport.BROKEN
    failures = [one for one in own.failures if not (_is_alone(one) or one.is_slow or broken)]
    if failures:
        names = ", ".join(one.benchmark for one in failures)
        first = failures[0]
        yield Observed(
            f"{plural(len(failures), 'short run')} did not end well ({names}; exit status "
            f"{first.status}, {status_text(first.status)})",
            *_quotes(first),
            words={"benchmark": first.benchmark},
        )


@check(
    "short-run-slow",
    "problem",
    about="behaviour",
    title="a short run takes far too long",
    looks_at="how long short runs take",
    fix="Look at the other findings first. Else look for what else runs on the node (`top`), and "
    "run it alone: `commlens run {benchmark}`.",
)
def short_run_slow(view: DoctorView) -> Seen:
    own = view.behaviour
    if own.why_none:
        yield NotApplicable(own.why_none)
        return
    slow = [one for one in own.failures if one.is_slow]
    if slow:
        names = ", ".join(one.benchmark for one in slow)
        yield Observed(
            f"{plural(len(slow), 'short run')} ({names}) did not end in time; they take 1 or 2 s "
            "as a rule",
            *_quotes(slow[0])[-1:],
            words={"benchmark": slow[0].benchmark},
        )


@check(
    "mpi-fails-on-gpu-memory",
    "problem",
    about="behaviour",
    title="MPI fails when it is given GPU memory",
    looks_at="whether MPI takes GPU memory, tried in a job of its own",
    fix="{fix}",
)
def mpi_fails_on_gpu_memory(view: DoctorView) -> Seen:
    verdict = view.behaviour.verdict
    if verdict is None:
        yield NotApplicable(view.behaviour.why_none or "no GPU memory was given to MPI")
    elif verdict.support in (GpuSupport.UNSUPPORTED, GpuSupport.BROKEN):
        fix = ", ".join(f"{name}={value}" for name, value in verdict.fix.items())
        yield Observed(
            verdict.sentence.rstrip("."),
            words={
                "fix": f"Set {fix}."
                if fix
                else "Use another messaging layer of the library, or `--transport staged,ccl`."
            },
            setting=Setting(verdict.fix, shown_by=SHORTEST_MESSAGE) if verdict.fix else None,
        )


@check(
    "one-gpu-visible",
    "advice",
    about="placement",
    title="each rank sees one GPU alone",
    looks_at="which GPUs each rank sees (CUDA_VISIBLE_DEVICES, --gpus-per-task)",
    fix="Let each rank see all GPUs of its node and choose by its local rank (`cudaSetDevice`): "
    "`unset CUDA_VISIBLE_DEVICES`, no wrapper script that sets it, `--gpus-per-node` instead of "
    "`--gpus-per-task`, `--gpu-bind=none` of Slurm.",
)
def one_gpu_visible(view: DoctorView) -> Seen:
    if not any(machine.devices.gpus > 1 for machine in view.machines):
        yield NotApplicable("no node has 2 GPUs")
        return
    for start, _ in view.launches:
        by_host: dict[str, set[tuple[int, str]]] = {}
        for place in start.placement:
            if place.device:
                own = by_host.setdefault(place.host, set())
                own.add((place.device.ordinal, place.device.uuid))
        for host, devices in by_host.items():
            if len({uuid for _, uuid in devices}) > 1 and {one for one, _ in devices} == {0}:
                yield Observed(
                    f"{len(devices)} ranks on {host} have GPUs of their own, and each calls its "
                    "own GPU 0: libraries that copy from GPU to GPU only where a rank sees both "
                    "send such messages through host memory",
                    Quote(f"placement of {start.benchmark.name}", _listed(devices)),
                    where=host,
                )
                return
    for machine in view.machines:
        name, value = _visible(machine.environment)
        listed = [one for one in value.split(",") if one]
        if name and len(listed) == 1 and machine.devices.gpus > 1:
            yield Observed(
                f"{name}={value} shows 1 of {machine.devices.gpus} GPUs: all ranks of the node "
                "share it, or, where each has another, cannot copy from GPU to GPU",
                Quote("environment", f"{name}={value}"),
                where=machine.host,
                setting=Setting({name: None}, shown_by=SHORTEST_MESSAGE),
            )


def _listed(devices: set[tuple[int, str]]) -> str:
    return ", ".join(f"GPU {ordinal} is {uuid}" for ordinal, uuid in sorted(devices)[:2])


def _visible(environment: dict[str, str]) -> tuple[str, str]:
    names = ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
    return next(((name, environment[name]) for name in names if environment.get(name)), ("", ""))
