"""Submits, looks at and cancels a job, by the commands that knowledge/schedulers.yaml has."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import msgspec

from commlens import knowledge
from commlens.base.errors import CommlensError, Status
from commlens.base.text import printable

_ANSWER_TIME_S = 60


class Phase(Enum):
    """How far a job is."""

    PENDING = "is pending"
    RUNNING = "is running"
    GONE = "has ended"
    UNKNOWN = "cannot be looked at"  # the scheduler does not answer just now


@dataclass(frozen=True)
class State:
    """What a scheduler reports of a job."""

    phase: Phase
    name: str = ""  # the scheduler's own: TIMEOUT, NODE_FAIL
    reason: str = ""  # why it is pending, or has ended
    # The host of its script; empty: it has none yet; None: this scheduler does not report it.
    host: str | None = ""


class Scheduler(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The commands of a scheduler; schedulers.yaml has the meaning of each field."""

    submit: tuple[str, ...]
    job_id: str
    state: tuple[str, ...]
    pending: tuple[str, ...]
    running: tuple[str, ...]
    cancel: tuple[str, ...]
    unknown: str
    reads_input: bool = False
    answer: tuple[str, ...] = (r"^(?P<state>[^|\n]*)(\|(?P<reason>.*))?",)
    hopeless: Mapping[str, str] = {}
    waits: Mapping[str, str] = {}
    ends: Mapping[str, str] = {}
    scriptless: Mapping[str, str] = {}

    def submit_command(self, script: str) -> list[str]:
        """The command line that submits this script."""
        return [*self.submit, *([] if self.reads_input else [script])]

    def submit_job(self, script: Path) -> str:
        """The number of the new job. Raises CommlensError, with the message of the scheduler, where
        it refuses it."""
        command = self.submit_command(script.name)
        text = script.read_text(encoding="utf-8") if self.reads_input else ""
        answer = _ask(command, folder=script.parent, text=text)
        match = re.search(self.job_id, answer.stdout.strip(), re.MULTILINE)
        if answer.returncode != 0 or not match:
            raise CommlensError(f"{command[0]} refuses the job: {_said(answer)}", Status.FAILED)
        return match[1]

    def look(self, job: str) -> State:
        """The state of a job at present."""
        try:
            answer = _ask([*self.state, job])
        except CommlensError:
            return State(Phase.UNKNOWN)
        if re.search(self.unknown, answer.stdout + answer.stderr, re.IGNORECASE):
            return State(Phase.GONE)
        if answer.returncode != 0:
            return State(Phase.UNKNOWN)
        groups: dict[str, str | None] = {}
        for pattern in self.answer:
            if match := re.search(pattern, answer.stdout.strip(), re.MULTILINE):
                groups.update(match.groupdict())
        values = {name: " ".join((text or "").split()) for name, text in groups.items()}
        values = {name: "" if text in ("None", "n/a") else text for name, text in values.items()}
        name = values.get("state", "")
        phase = Phase.PENDING if name in self.pending else Phase.GONE
        phase = Phase.RUNNING if name in self.running else phase
        return State(phase, name, values.get("reason", ""), values.get("host"))

    def cancel_job(self, job: str) -> None:
        """Raises CommlensError where that fails."""
        answer = _ask([*self.cancel, job])
        if answer.returncode != 0:
            raise CommlensError(f"{self.cancel[0]} {job}: {_said(answer)}", Status.FAILED)


SCHEDULERS = knowledge.load("schedulers", dict[str, Scheduler])


def meaning(meanings: Mapping[str, str], reason: str) -> str:
    """Of the first that is part of the reason; empty: none is."""
    return next((text for name, text in meanings.items() if name in reason), "")


def _ask(
    command: Sequence[str], folder: Path | None = None, text: str = ""
) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            input=text,
            cwd=folder,
            timeout=_ANSWER_TIME_S,
        )
    except OSError as error:
        raise CommlensError(
            f"{command[0]} cannot be started ({error.strerror}): submit where the scheduler is; "
            "--dry-run shows the script without one"
        ) from None
    except subprocess.TimeoutExpired:
        raise CommlensError(
            f"{command[0]} gave no answer within {_ANSWER_TIME_S} s", Status.FAILED
        ) from None


def _said(answer: subprocess.CompletedProcess[str]) -> str:
    text = " ".join((answer.stderr.strip() or answer.stdout.strip()).split())
    return printable(text) or f"status {answer.returncode}"
