"""Why a job failed, in one line unless the native program has printed it already."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass

from commlens.base.errors import Status
from commlens.jobs import causes
from commlens.jobs.messages import (
    Death,
    ErrorFilter,
    OutputFilter,
    death,
    departure,
    ending,
    first_sentence,
    lost_node,
)
from commlens.jobs.process import Outcome
from commlens.jobs.record_file import Kept

# Lines of the native program that are no reason for its end.
_NO_REASON = re.compile(r"commlens: warning\b")


@dataclass(frozen=True)
class EndedJob:
    """A job that has ended, with all that it and its launcher wrote."""

    outcome: Outcome
    launcher: str  # its name
    output: OutputFilter
    error: ErrorFilter
    kept: Kept
    lost_node: str = ""  # the sentence of a NodeWatch

    @property
    def status(self) -> int:
        """The exit status of the launcher."""
        return self.outcome.status

    @property
    def launcher_output(self) -> str:
        """What the launcher wrote around the output of the job."""
        return "\n".join(self.error.held + self.output.held)

    @property
    def log(self) -> str:
        """The standard error, and what the launcher wrote."""
        return "\n".join([*self.error.lines, self.launcher_output])

    @property
    def _printed_reasons(self) -> list[str]:
        lines = [line for line in self.error.lines if line.startswith("commlens: ")]
        return [line for line in lines if not _NO_REASON.match(line)]

    @property
    def program_gave_reason(self) -> bool:
        """Whether the native program has printed the reason."""
        return bool(self._printed_reasons)

    @property
    def reason(self) -> str:
        """The last reason that the native program printed, else that of the first failed record."""
        reasons = self._printed_reasons
        if reasons:
            return reasons[-1].partition(": ")[2]
        failed = (record for record in self.kept.records if record.status != "ok")
        return next((one.reason or one.validation.message for one in failed), "")

    @property
    def records_have_reason(self) -> bool:
        """Whether a record has the reason, which the program's table then shows, too."""
        return any(record.status != "ok" for record in self.kept.records)


@dataclass(frozen=True)
class Explanation:
    """An exit status of commlens, and lines for the user: `quoted` as they are, and a `reason`."""

    status: int
    quoted: Sequence[str] = ()
    reason: str = ""
    counted: bool = False  # the number of records kept is part of the reason


def explain(job: EndedJob, known_cause: str) -> Explanation:
    """Explains a failed job.

    `known_cause`: the message of a cause of a failed launch; empty where none is known."""
    killed_by = job.outcome.killed_by
    sentence = first_sentence(job.error.lines)
    # In a shell's manner it may be that of a rank, but not where the launcher did not get so far.
    of_launcher = killed_by or (sentence and not job.kept.records)
    status_of_a_rank = 0 if of_launcher else job.status
    died, left = death(job.launcher_output, status_of_a_rank), departure(job.launcher_output)
    status = _status(job, died)
    if killed_by and died is None and not job.program_gave_reason:
        killed = causes.of_job(
            "launcher-killed",
            launcher=job.launcher,
            number=killed_by,
            description=signal.strsignal(killed_by),
        )
        return Explanation(Status.FAILED, reason=f"{killed}; {job.kept}", counted=True)
    if job.program_gave_reason or (died is None and not left and job.records_have_reason):
        return Explanation(status)
    ended = ending(job.launcher_output)
    if node := lost_node(job.launcher_output):
        if ended:
            return Explanation(status, quoted=[ended[0]])
        lost = causes.of_job("lost-node", launcher=job.launcher, node=node)
        return Explanation(status, reason=f"{lost}; {job.kept}", counted=True)
    if ended and not left:
        nothing_else = all(map(ending, job.error.held))
        if ended[1] == died.signal if died else nothing_else:
            return Explanation(status, quoted=[ended[0]])
    if known_cause:
        return Explanation(status, reason=known_cause)
    if died or left:
        what = died.described(with_node=job.kept.nodes > 1) if died else left
        return Explanation(status, reason=f"{what}; {job.kept}", counted=True)
    return Explanation(
        status,
        quoted=job.error.held + job.output.held,
        reason=f"{job.launcher} ended with status {job.status}"
        + (f' ("{sentence}")' if sentence else "")
        + f"; {job.kept}",
        counted=True,
    )


def _status(job: EndedJob, died: Death | None) -> int:
    """A launcher's status may be the number of the signal that a rank died of: then it is none of
    ours."""
    is_ours = job.status in list(Status) and (
        died is None or (job.program_gave_reason and died.signal != job.status)
    )
    return job.status if is_ours else Status.FAILED
