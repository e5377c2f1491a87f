"""Why a job failed, in one line unless the native program has said it already."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass

from commlens.base.errors import Status
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

# Lines of the native program that say how it goes, not why it ended.
_NO_REASON = re.compile(r"commlens: warning\b")


@dataclass(frozen=True)
class EndedJob:
    outcome: Outcome
    launcher: str  # its name
    output: OutputFilter
    error: ErrorFilter
    kept: Kept
    lost_node: str = ""  # the sentence of a NodeWatch

    @property
    def status(self) -> int:
        """The launcher's."""
        return self.outcome.status

    @property
    def launcher_said(self) -> str:
        return "\n".join(self.error.held + self.output.held)

    @property
    def log(self) -> str:
        """The standard error, and what the launcher said."""
        return "\n".join([*self.error.lines, self.launcher_said])

    @property
    def program_said_why(self) -> bool:
        return any(
            line.startswith("commlens: ") and not _NO_REASON.match(line)
            for line in self.error.lines
        )

    @property
    def reason(self) -> str:
        """What the native program said last, or what the first record of a failure says."""
        said = [line for line in self.error.lines if line.startswith("commlens: ")]
        said = [line for line in said if not _NO_REASON.match(line)]
        if said:
            return said[-1].partition(": ")[2]
        failed = (record for record in self.kept.records if record.status != "ok")
        return next((one.reason or one.validation.message for one in failed), "")

    @property
    def records_say_why(self) -> bool:
        """As the program's table then does, and a line of it for what failed."""
        return any(record.status != "ok" for record in self.kept.records)


@dataclass(frozen=True)
class Explanation:
    """A status of ours, and lines for the user: `quoted` as they are, `reason` in our own name."""

    status: int
    quoted: Sequence[str] = ()
    reason: str = ""
    counted: bool = False  # the number of records kept is part of the reason


def explain(job: EndedJob, known_cause: str) -> Explanation:
    """`known_cause`: the message of a cause of a failed launch; empty where none is known."""
    killed_by = job.outcome.killed_by
    sentence = first_sentence(job.error.lines)
    # In a shell's manner it may be that of a rank, but not where the launcher did not get so far.
    of_launcher = killed_by or (sentence and not job.kept.records)
    status_of_a_rank = 0 if of_launcher else job.status
    died, left = death(job.launcher_said, status_of_a_rank), departure(job.launcher_said)
    status = _status(job, died)
    if killed_by and died is None and not job.program_said_why:
        ended_by = f"was ended by signal {killed_by} ({signal.strsignal(killed_by)})"
        return Explanation(
            Status.FAILED, reason=f"{job.launcher} {ended_by}; {job.kept}", counted=True
        )
    if job.program_said_why or (died is None and not left and job.records_say_why):
        return Explanation(status)
    ended = ending(job.launcher_said)
    if node := lost_node(job.launcher_said):
        if ended:
            return Explanation(status, quoted=[ended.line])
        lost = f"{job.launcher} has lost node {node}, by a failure or because the job was cancelled"
        return Explanation(status, reason=f"{lost}; {job.kept}", counted=True)
    if ended and not left:
        nothing_else = all(map(ending, job.error.held))
        if ended.signal == died.signal if died else nothing_else:
            return Explanation(status, quoted=[ended.line])
    if known_cause:
        return Explanation(status, reason=known_cause)
    if died or left:
        what = died.told(with_node=job.kept.nodes > 1) if died else left
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
        died is None or (job.program_said_why and died.signal != job.status)
    )
    return job.status if is_ours else Status.FAILED
