"""Why a job failed, in one line unless the native program has printed it already: by what it and
its launcher wrote, and by the causes that knowledge/causes.yaml has."""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Optional

import msgspec

from commlens import knowledge
from commlens.base.errors import Status
from commlens.jobs import messages
from commlens.jobs.messages import ErrorFilter, OutputFilter
from commlens.jobs.process import Outcome
from commlens.jobs.record_file import Kept
from commlens.model import Record

# A line in which the native program has printed why it failed.
_REASON = re.compile(r"commlens: (?!warning\b)")


class Cause(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A cause of a failure; causes.yaml has the meaning of each field."""

    code: str
    means: str = ""
    fix: str = ""
    patterns: tuple[str, ...] = ()
    when: tuple[str, ...] = ()
    unless_set: Mapping[str, tuple[str, ...]] = {}
    set: Mapping[str, str] = {}
    support: Optional[Literal["supported", "unsupported", "broken"]] = None  # noqa: UP045
    captured: tuple[str, ...] = ()

    def message(self, **facts: object) -> str:
        """What it means and the fix, with the facts in braces; empty where all is well."""
        settings = " and ".join(f"{name}={value}" for name, value in self.set.items())
        between = ". " if self.fix[:1].isupper() else ": "
        template = between.join(filter(None, (self.means, self.fix)))
        return template.format(set=settings, **facts)


class Causes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    job: tuple[Cause, ...]
    launch: tuple[Cause, ...]
    probe: tuple[Cause, ...]


CAUSES = knowledge.load("causes", Causes)


def first(
    causes: Sequence[Cause],
    log: str,
    environment: Mapping[str, str],
    facts: Mapping[str, object] = {},
) -> tuple[Cause, dict[str, str]] | None:
    """The first cause that applies, with the groups of its patterns; `facts` by their names."""
    for cause in causes:
        matches = [re.search(pattern, log) for pattern in cause.patterns]
        is_ruled_out = any(
            environment.get(name, "").lower() in values for name, values in cause.unless_set.items()
        )
        if all(matches) and not is_ruled_out and all(map(facts.get, cause.when)):
            groups = [item for match in matches if match for item in match.groupdict().items()]
            return cause, {name: text for name, text in groups if text}
    return None


def of_job(code: str, **facts: object) -> str:
    """The message of an end that commlens brings about or observes."""
    (cause,) = (cause for cause in CAUSES.job if cause.code == code)
    return cause.message(**facts)


def launch_failure(log: str) -> str:
    """Why no rank has started, or none came through MPI_Init, with the fix; empty: not known."""
    applies = first(CAUSES.launch, log, {})
    return applies[0].message(**applies[1]) if applies else ""


@dataclass(frozen=True)
class EndedJob:
    """A job that has ended, with all that it and its launcher wrote."""

    outcome: Outcome
    launcher: str  # its name
    output: OutputFilter
    error: ErrorFilter
    kept: Kept
    lost_node: str = ""  # the sentence of a Watchdog

    @property
    def held(self) -> str:
        """What the launcher wrote around the output of the job."""
        return "\n".join(self.error.held + self.output.held)

    @property
    def printed_reasons(self) -> list[str]:
        """The lines in which the native program has printed why it failed."""
        return [line for line in self.error.lines if _REASON.match(line)]

    @property
    def reason(self) -> str:
        """The last reason that the native program printed, else that of the first failed record."""
        if reasons := self.printed_reasons:
            return reasons[-1].partition(": ")[2]
        failed = (record for record in self.kept.records if record.status != "ok")
        return next((record.reason or record.validation.message for record in failed), "")


@dataclass(frozen=True)
class Result:
    """The result of one launch of a job."""

    status: int
    kept: Kept | None = None
    interrupted: bool = False
    counted: bool = False  # the number of records that were kept was printed
    reason: str = ""  # why it failed
    quoted: Sequence[str] = ()  # lines of others that are printed before it
    rows: Sequence[str] = ()  # of the native program, where they were shown as progress alone

    @property
    def records(self) -> Sequence[Record]:
        """The records that it has left."""
        return self.kept.records if self.kept else ()


def explain(job: EndedJob, known_cause: str) -> Result:
    """Explains a failed job.

    `known_cause`: the message of a cause of a failed launch; empty where none is known."""
    killed_by, number = job.outcome.killed_by, job.outcome.status
    sentence = messages.first_sentence(job.error.lines) or messages.complaint(job.held)
    if not sentence and not job.kept.records:
        sentence = messages.first_box(job.output.lines)
    # In a shell's manner it may be that of a rank, but not where the launcher did not get so far.
    of_launcher = killed_by or (sentence and not job.kept.records)
    died = messages.death(job.held, 0 if of_launcher else number)
    died = died and died.with_rank(job.kept.start)
    left = messages.departure(job.held)
    gave_reason = bool(job.printed_reasons)
    # It may be the number of the signal that a rank died of: then it is none of ours.
    is_ours = died is None or (gave_reason and died.signal != number)
    status = number if is_ours and number in list(Status) else int(Status.FAILED)

    def because(reason: str, *quoted: str) -> Result:
        text = f"{reason}; {job.kept}"
        return Result(status, job.kept, counted=True, reason=text, quoted=quoted)

    if killed_by and died is None and not gave_reason:
        status = int(Status.FAILED)
        text = signal.strsignal(killed_by)
        facts = {"launcher": job.launcher, "number": killed_by, "description": text}
        return because(of_job("launcher-killed", **facts))
    # The program's table then shows it, too.
    in_records = any(record.status != "ok" for record in job.kept.records)
    if gave_reason or (died is None and not left and in_records):
        return Result(status, job.kept)
    ended = messages.ending(job.held)
    if node := messages.lost_node(job.held):
        if ended:
            return Result(status, job.kept, quoted=[ended[0]])
        return because(of_job("lost-node", launcher=job.launcher, node=node))
    if ended and not left:
        nothing_else = all(map(messages.ending, job.error.held))
        if ended[1] == died.signal if died else nothing_else:
            return Result(status, job.kept, quoted=[ended[0]])
    if known_cause:
        return Result(status, job.kept, reason=known_cause)
    if died or left:
        several = job.kept.start is not None and job.kept.start.nodes > 1
        return because(died.described(with_node=several) if died else left)
    said = f' ("{sentence}")' if sentence else ""
    reason = f"{job.launcher} ended with status {number}{said}"
    return because(reason, *job.error.held, *job.output.held)
