"""Schedulers: the commands that submit, look at and cancel a job, and what they answer.

A new scheduler is one entry in SCHEDULERS and a template of its directives.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Optional

from commlens.base.errors import CommlensError, Status
from commlens.base.text import printable

_ANSWER_TIME_S = 60


class Phase(Enum):
    PENDING = "is pending"
    RUNNING = "is running"
    GONE = "has ended"
    UNKNOWN = "cannot be looked at"  # the scheduler does not answer just now


@dataclass(frozen=True)
class State:
    phase: Phase
    name: str = ""  # the scheduler's own: TIMEOUT, NODE_FAIL
    reason: str = ""  # why it is pending, or has ended
    host: str | None = (
        ""  # of its script; empty: it has none yet; None: this scheduler does not say
    )


# The state, the reason, and the host of the script.
Answer = tuple[str, str, Optional[str]]


@dataclass(frozen=True)
class Scheduler:
    submit: Sequence[str]  # before the name of the script
    job_id: str  # a pattern in the answer
    state: Sequence[str]  # before the number of the job
    phases: Mapping[str, Phase]  # by the words of the answer; any other is GONE
    cancel: Sequence[str]
    reads_input: bool = False  # the script is its standard input
    unknown: str = "$^"  # a pattern in the answer for a job that is not known any more
    split: Callable[[str], Answer] = field(default=lambda text: _split(text))
    # Reasons for which a job waits, or parts of them, and what they mean. The first counts.
    hopeless: Mapping[str, str] = field(default_factory=dict)  # it would wait for ever
    waits: Mapping[str, str] = field(default_factory=dict)  # somebody can do something about it
    ends: Mapping[str, str] = field(default_factory=dict)  # states in which a job ends, in words
    scriptless: Mapping[str, str] = field(default_factory=dict)  # ends that its script did not see

    def submit_command(self, script: str) -> list[str]:
        return [*self.submit, *([] if self.reads_input else [script])]


def _split(text: str) -> Answer:
    """`SCHED|insufficient resources`."""
    name, _, reason = text.strip().partition("|")
    return name.strip(), reason.strip(), None


def _split_slurm(text: str) -> Answer:
    """`PENDING|n/a|Nodes required for job are DOWN`: reasons may be of several words."""
    name, host, reason = (*text.strip().split("|", 2), "", "")[:3]
    return name, "" if reason == "None" else reason, "" if host == "n/a" else host


def _split_pbs(text: str) -> Answer:
    state = re.search(r"^\s*job_state = (\S+)", text, re.MULTILINE)
    comment = re.search(r"^\s*comment = (.*(?:\n\t.*)*)", text, re.MULTILINE)
    return state[1] if state else "", " ".join(comment[1].split()) if comment else "", None


_TOO_LONG = "it asks for more time than is allowed: choose a smaller --time"
_TOO_LARGE = "it asks for more nodes than is allowed: choose a smaller --nodes"
_NO_ACCESS = "it may not use this account or queue: choose another --account or --queue"
_CLOSED = "this partition starts no jobs at present: choose another --queue, or wait"
_NO_NODES = "it waits for nodes that are down or reserved: `sinfo -R` says why"

SCHEDULERS: Mapping[str, Scheduler] = {
    "slurm": Scheduler(
        submit=("sbatch", "--parsable"),
        job_id=r"^(\d+)",
        state=("squeue", "--noheader", "--states=all", "--format=%T|%B|%r", "--jobs"),
        phases={
            **dict.fromkeys(("PENDING", "CONFIGURING", "REQUEUED", "RESV_DEL_HOLD"), Phase.PENDING),
            **dict.fromkeys(
                ("RUNNING", "COMPLETING", "SUSPENDED", "STAGE_OUT", "SIGNALING"), Phase.RUNNING
            ),
        },
        cancel=("scancel",),
        unknown="Invalid job id",
        split=_split_slurm,
        hopeless={
            "PartitionTimeLimit": _TOO_LONG,
            "PartitionNodeLimit": _TOO_LARGE,
            "AssocMaxWallDurationPerJobLimit": _TOO_LONG,
            "QOSMaxWallDurationPerJobLimit": _TOO_LONG,
            "AssocMaxNodePerJobLimit": _TOO_LARGE,
            "QOSMaxNodePerJobLimit": _TOO_LARGE,
            "AccountNotAllowed": _NO_ACCESS,
            "can't use this partition": _NO_ACCESS,
            "QOSNotAllowed": _NO_ACCESS,
            "InvalidAccount": _NO_ACCESS,
            "InvalidQOS": _NO_ACCESS,
            "BadConstraints": "no node has what it asks for: look at the site's directives",
            "DependencyNeverSatisfied": "a job that it waits for has failed",
            "PartitionConfig": "no node there has what it asks for: choose another --queue",
            "PerJob": "it asks for more than a job may have: choose smaller --nodes or --time",
        },
        waits={
            "JobHeldAdmin": "an administrator holds it: ask the support",
            "JobHeldUser": "it is held: `scontrol release` lets it go",
            "requeued held": "it could not be started and is held: ask the support",
            "PartitionDown": _CLOSED,
            "PartitionInactive": _CLOSED,
            "Minutes": "the hours of its account are used up: another --account may have some",
            "ReqNodeNotAvail": _NO_NODES,
            "DOWN": _NO_NODES,
        },
        ends={
            "TIMEOUT": "ran into its time limit",
            "CANCELLED": "was cancelled",
            "OUT_OF_MEMORY": "had not enough memory",
            "PREEMPTED": "was preempted",
        },
        scriptless={
            "JobLaunchFailure": "could not be started",
            "NODE_FAIL": "lost a node",
            "BOOT_FAIL": "did not start: a node did not boot",
            "DEADLINE": "did not start before its deadline",
        },
    ),
    "lsf": Scheduler(
        submit=("bsub",),
        reads_input=True,
        job_id=r"Job <(\d+)>",
        state=("bjobs", "-noheader", "-o", "stat pend_reason delimiter='|'"),
        phases={
            **dict.fromkeys(("PEND", "PSUSP", "WAIT", "PROV"), Phase.PENDING),
            **dict.fromkeys(("RUN", "USUSP", "SSUSP", "UNKWN"), Phase.RUNNING),
        },
        cancel=("bkill",),
        unknown="is not found",
        ends={"EXIT": "ended without success", "ZOMBI": "lost a node"},
    ),
    "pbs": Scheduler(
        submit=("qsub",),
        job_id=r"^(\S+)",
        state=("qstat", "-f"),
        phases={
            **dict.fromkeys("QHWT", Phase.PENDING),
            **dict.fromkeys("RES", Phase.RUNNING),
        },
        split=_split_pbs,
        cancel=("qdel",),
        unknown="Unknown Job|has finished",
        hopeless={
            "Can Never Run": "the scheduler says so: choose smaller --nodes or --time",
        },
    ),
    "flux": Scheduler(
        submit=("flux", "batch"),
        job_id=r"^(\S+)",
        state=(
            "flux",
            "jobs",
            "--no-header",
            "--format={state}|{annotations.sched.reason_pending}",
        ),
        phases={
            **dict.fromkeys(("DEPEND", "PRIORITY", "SCHED"), Phase.PENDING),
            **dict.fromkeys(("RUN", "CLEANUP"), Phase.RUNNING),
        },
        cancel=("flux", "cancel"),
        unknown="unknown|not found",
    ),
}


def submit(scheduler: Scheduler, script: str, folder: str) -> str:
    """The number of the new job. Raises CommlensError, with what the scheduler says, where it
    refuses it."""
    command = scheduler.submit_command(script)
    text = ""
    if scheduler.reads_input:
        with open(f"{folder}/{script}", encoding="utf-8") as file:  # noqa: PTH123
            text = file.read()
    answer = _ask(command, folder=folder, text=text)
    found = re.search(scheduler.job_id, answer.stdout.strip(), re.MULTILINE)
    if answer.returncode != 0 or not found:
        raise CommlensError(f"{command[0]} refuses the job: {_said(answer)}", Status.FAILED)
    return found[1]


def look(scheduler: Scheduler, job: str) -> State:
    try:
        answer = _ask([*scheduler.state, job])
    except CommlensError:
        return State(Phase.UNKNOWN)
    said = answer.stdout + answer.stderr
    if re.search(scheduler.unknown, said, re.IGNORECASE):
        return State(Phase.GONE)
    if answer.returncode != 0:
        return State(Phase.UNKNOWN)
    name, reason, host = scheduler.split(answer.stdout)
    return State(scheduler.phases.get(name, Phase.GONE), name, reason, host)


def meaning(meanings: Mapping[str, str], reason: str) -> str:
    """Of the first that is part of the reason; empty: none is."""
    return next((text for name, text in meanings.items() if name in reason), "")


def cancel(scheduler: Scheduler, job: str) -> None:
    """Raises CommlensError where that fails."""
    answer = _ask([*scheduler.cancel, job])
    if answer.returncode != 0:
        raise CommlensError(f"{scheduler.cancel[0]} {job}: {_said(answer)}", Status.FAILED)


def _ask(
    command: Sequence[str], folder: str | None = None, text: str = ""
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
