"""The jobs of one command: one native program, one launcher, and one verdict on GPU memory."""

from __future__ import annotations

import math
import os
import shlex
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from msgspec import structs

from commlens.base import outputs
from commlens.base.errors import CommlensError, Status, say, worst
from commlens.jobs import causes, launchers, probe, process
from commlens.jobs.causes import EndedJob, Result, explain
from commlens.jobs.estimate import estimate
from commlens.jobs.messages import ErrorFilter, OutputFilter
from commlens.jobs.native import Native
from commlens.jobs.probe import GpuSupport, ProbeVerdict
from commlens.jobs.progress import NewestRow
from commlens.jobs.record_file import RecordFile
from commlens.jobs.remaining import CasesLeft
from commlens.jobs.spec import GPU_OFF, JobSpec, Options, resolve
from commlens.jobs.watchdog import Watchdog, limit_of
from commlens.knowledge.secrets import mask_variables, mask_words
from commlens.machine import gpu_drivers
from commlens.machine.load import measure_load
from commlens.machine.system import System
from commlens.model.interference import why_disturbed

_WAITING_LINE_S = 5


@dataclass(frozen=True)
class Settings:
    """The options of `commlens run` that concern all jobs."""

    launcher: str
    out: Path
    dry_run: bool = False
    use_probe: bool = True
    quiet: bool = False  # the output of jobs is not shown
    tables_follow: bool = False  # which have the rows of jobs: those are shown as progress alone
    time_limit_s: float = math.inf  # of each job
    quiet_within_s: float = 0  # how long a launch waits for what others use
    silent: bool = False  # nor is anything printed: a failure is the `reason` of a result


class Session:
    """The jobs of one command."""

    def __init__(self, native: Native, settings: Settings) -> None:
        self.settings = settings
        self.launcher = launchers.choose(settings.launcher, native)
        through = self.launcher.on_a_node()
        self.native = replace(native, through=through) if through else native
        self.verdicts: dict[tuple[object, ...], ProbeVerdict] = {}  # by the conditions of a probe
        self._most_ranks = 0
        self._explained: set[str] = set()  # what was printed of lines of the MPI library

    def jobs(self, entries: Sequence[JobSpec]) -> list[JobSpec]:
        """The resolved jobs. Raises CommlensError for mistakes, before anything runs."""
        for entry in entries:
            name = entry.options.text("record")
            if "record" in entry.options and not name:
                raise CommlensError("--record '': name a file")
            if name and not self.settings.dry_run:
                RecordFile.of_user(Path(name), self.settings.out)
            if timeline := entry.options.text("timeline"):
                outputs.check(Path(timeline), outputs.TIMELINE, "--timeline")
                if name and Path(timeline).resolve() == Path(name).resolve():
                    raise CommlensError(
                        f"--timeline {timeline}: it is the file of --record; name another one"
                    )
        jobs = resolve(entries, self.native, self.launcher.allocation)
        for job in jobs:
            self.launcher.check(job)
        self._most_ranks = max(job.ranks for job in jobs)
        return jobs

    def print_estimate(self, jobs: Sequence[JobSpec]) -> None:
        """Prints how long they would take."""
        self.say(estimate(jobs, self.settings.out))

    def print_command(self, job: JobSpec, record_file: Path) -> None:
        """Prints what would be run, as a line for a shell, without secrets."""
        environment = mask_variables(job.environment)
        variables = [f"{name}={shlex.quote(value)}" for name, value in environment.items()]
        print(*variables, shlex.join(mask_words(self._command(job, record_file))))

    def run(
        self, job: JobSpec, record_file: RecordFile, why_end: process.WhyEnd = lambda _: ""
    ) -> Result:
        """Runs a job once; it is ended where `why_end`, which is asked all the time, has a reason.

        A failure is printed here, in one line unless the native program has printed it already.
        """
        with process.signals_listed() as requests:
            if (not_quiet := self._wait_for_quiet(requests)) is not None:
                return not_quiet
            probed = self._probed(job, requests)
            if not isinstance(probed, JobSpec):
                return probed
            return self._run(probed, record_file, requests, why_end)

    def _run(
        self, job: JobSpec, record_file: RecordFile, requests: list[int], why_end: process.WhyEnd
    ) -> Result:
        path = record_file.begin_job()
        progress = NewestRow() if self.settings.tables_follow and job.options.has_tables else None
        cases_left = CasesLeft(path)
        quiet = self.settings.quiet or self.settings.silent or progress
        output = OutputFilter(None if quiet else sys.stdout.buffer)
        error = ErrorFilter(None if self.settings.silent else sys.stderr.buffer, self._explained)
        limits_s = limit_of(job.options), self.settings.time_limit_s
        watchdog = Watchdog(path, *limits_s, may_wait=self.launcher.may_wait)

        def take_output(data: bytes) -> None:
            output.feed(data)
            if progress:
                progress.show(output.lines, cases_left)

        def take_error(data: bytes) -> None:
            if progress:
                progress.clear()
            error.feed(data)

        try:
            with watchdog:
                outcome = process.run(
                    self._command(job, path),
                    {**os.environ, **job.environment},
                    watchdog.observing(take_output),
                    watchdog.observing(take_error),
                    requests,
                    why_end=lambda times: watchdog(times) or why_end(times),
                )
            take_error(b"")
            output.finish()
            error.finish()
        finally:
            kept = record_file.end_job(path)
        launcher = Path(self.launcher.program).name
        ended = EndedJob(outcome, launcher, output, error, kept, watchdog.lost)
        result = self._result(job, ended, next(iter(requests), outcome.interrupted))
        return replace(result, rows=output.lines if progress else ())

    def _wait_for_quiet(self, requests: list[int]) -> Result | None:
        """None as soon as this machine is quiet, or its load cannot be read."""
        deadline = time.monotonic() + self.settings.quiet_within_s
        said = -math.inf
        while self.settings.quiet_within_s and (why := self._why_busy()):
            if requests:
                say("interrupted while waiting for a quiet machine; no record was written")
                return Result(128 + requests[0], interrupted=True, counted=True)
            left = deadline - time.monotonic()
            if left <= 0:
                limit = f"{self.settings.quiet_within_s:g}s"
                reason = f"--wait-for-quiet {limit}: {why} to the end; wait longer, or stop it"
                self.say(f"{reason}; no record was written")
                return Result(Status.FAILED, counted=True, reason=reason)
            if time.monotonic() - said > _WAITING_LINE_S:
                said = time.monotonic()
                self.say(f"waiting for a quiet machine, at most {left:.0f} s more: {why}")
        return None

    def _why_busy(self) -> str:
        """What uses the cores of this machine now, or its GPUs where benchmarks use them."""
        load = measure_load()
        if load is not None and self.native.about.has_gpu:
            load = structs.replace(load, gpus=gpu_drivers.look(System()).use)
        return why_disturbed(load) if load else ""

    def _probed(self, job: JobSpec, requests: list[int]) -> JobSpec | Result:
        """The job as MPI's support of GPU memory allows it, or its result without a launch."""
        if not self.settings.use_probe or not probe.is_needed(self.native, job.options):
            return job
        conditions = (*job.environment.items(), *job.launcher_arguments)
        if conditions not in self.verdicts:
            ranks = min(2, self._most_ranks)
            verdict, outcome = probe.run_probe(job, ranks, self.launcher, self.native, requests)
            if outcome.interrupted:
                say("interrupted while MPI was tried with GPU memory; no record was written")
                return Result(128 + outcome.interrupted, interrupted=True, counted=True)
            self.verdicts[conditions] = verdict
            if verdict.sentence:
                self.say(verdict.sentence)
        verdict = self.verdicts[conditions]
        if verdict.support is GpuSupport.BROKEN:
            return Result(Status.FAILED)
        if verdict.support is GpuSupport.UNSUPPORTED:
            off = Options({GPU_OFF: verdict.sentence})
            return replace(job, options=off.replaced_by(job.options))
        return job

    def _result(self, job: JobSpec, ended: EndedJob, interrupted: int | None) -> Result:
        kept, outcome = ended.kept, ended.outcome
        for problem in filter(None, (kept.failure, *kept.problems)):
            self.say(problem)
        if interrupted:
            self.say(f"interrupted by {signal.Signals(interrupted).name}; {kept}")
            return Result(128 + interrupted, kept, interrupted=True, counted=True)
        status: int = Status.FAILED if kept.failure or kept.problems else Status.OK
        counted = bool(kept.failure)
        if because := outcome.ended_because:
            self.say(f"{because}; {kept}")
            why = Status.FAILED if ended.lost_node else Status.STALLED
            return Result(worst([why, status]), kept, counted=True, reason=because)
        is_short = len(kept.records) < max(1, kept.expected)
        if outcome.status == 0 and is_short and not kept.problems:
            reason = self._not_run(job, ended)
            self.say(f"{reason}; {kept}")
            return Result(Status.FAILED, kept, counted=True, reason=reason)
        if outcome.status == 0:
            return Result(status, kept, counted=counted)
        settings = self.launcher.settings(job)
        log = "\n".join([*ended.error.lines, ended.held])
        cause = probe.explain_failed_start(log, self.native.about.mpi, settings)
        result = explain(ended, cause)
        if not self.settings.silent:
            sys.stderr.writelines(f"{line}\n" for line in result.quoted)
            sys.stderr.flush()
        if result.reason:
            self.say(result.reason)
        return replace(
            result,
            status=worst([result.status, status]),
            counted=counted or result.counted,
            reason=result.reason or ended.reason,
        )

    def say(self, message: str) -> None:
        """A line to the user, unless nothing is to be printed."""
        if not self.settings.silent:
            say(message)

    def _not_run(self, job: JobSpec, ended: EndedJob) -> str:
        """The message on status 0 of a launcher under which the program has not come to its end."""
        launcher = ended.launcher
        if expected := ended.kept.expected:
            written = len(ended.kept.records)
            return causes.of_job("left", launcher=launcher, written=written, expected=expected)
        if job.launcher_arguments:
            arguments = shlex.quote(shlex.join(mask_words(job.launcher_arguments)))
            return causes.of_job("program-not-run", launcher=launcher, arguments=arguments)
        program, mpi = self.launcher.program, self.native.about.mpi
        return causes.of_job("other-launcher", launcher=launcher, program=program, mpi=mpi)

    def _command(self, job: JobSpec, record_file: Path) -> list[str]:
        with_gpus = self.native.about.has_gpu
        return self.launcher.command(job, self.native.path, record_file, with_gpus=with_gpus)
