"""Submits a job, and waits for its end.

A job has a folder: its script, its log, its exit status, its records, and a file with its
number, by which another command finds it again.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from commlens.base.errors import CommlensError, Status, reason, say
from commlens.base.inputs import read_text
from commlens.base.outputs import reserve
from commlens.base.text import whole_number
from commlens.jobs import watchdog
from commlens.jobs.sites import script
from commlens.jobs.sites.schedulers import SCHEDULERS, Phase, Scheduler, State, meaning
from commlens.jobs.sites.script import Request
from commlens.jobs.sites.site import Site
from commlens.model.reading import record_files

_SCRIPT = "job.sh"
_ABOUT = "job.json"
_FIRST_LOOK_S = 2.0
_LOOKS_S = (10.0, 15.0, 20.0, 30.0)  # between looks at the job; the last goes on
_STATUS_POLL_S = 0.5  # the file of the exit status costs the scheduler nothing
_STATUS_ARRIVES_S = 20.0  # after the job has gone, on a slow file system
_WRITING_S = 3.0  # far longer than it takes to write it
_CLEAN_UP_S = 10.0  # after the script; until then the scheduler does not know how the job ended
_CLEAN_UP_POLL_S = 1.0
_LINES_OF_LOG = 5


@dataclass(frozen=True)
class Submitted:
    """A job that was submitted, with its folder."""

    folder: Path
    job: str  # its number
    scheduler: Scheduler

    @property
    def log(self) -> Path:
        """What its script wrote."""
        return self.folder / script.LOG_FILE

    def status(self) -> int | None:
        """The exit status of its script, once that has ended."""
        with suppress(OSError, UnicodeDecodeError):
            return whole_number((self.folder / script.STATUS_FILE).read_text().strip())
        return None


def print_plan(site: Site, request: Request) -> None:
    """Prints what would be submitted, and how."""
    text = script.render(site, request)
    if site.scheduler in SCHEDULERS:
        scheduler = SCHEDULERS[site.scheduler]
        command = " ".join(scheduler.submit_command(_SCRIPT))
        print(f"# {command}{f' <{_SCRIPT}' if scheduler.reads_input else ''}")
    print(text, end="")


def submit(site: Site, request: Request, out: Path) -> Submitted:
    """Submits a job. Raises CommlensError where the scheduler refuses it; then nothing is left of
    it."""
    if site.scheduler not in SCHEDULERS:
        raise CommlensError(
            f"{site.site} has no scheduler: `commlens {' '.join(request.words)} --site "
            f"{site.site}` runs at once"
        )
    text = script.render(site, request)
    folder = reserve(out, site.site).resolve()
    try:
        (folder / _SCRIPT).write_text(text, encoding="utf-8")
        job = SCHEDULERS[site.scheduler].submit_job(folder / _SCRIPT)
        about = {"job": job, "site": site.site, "scheduler": site.scheduler}
        (folder / _ABOUT).write_text(json.dumps(about) + "\n", encoding="utf-8")
    except OSError as error:
        raise CommlensError(f"--out {out}: {reason(error)}") from None
    except CommlensError:
        with suppress(OSError):
            (folder / _SCRIPT).unlink()
            folder.rmdir()
        raise
    return Submitted(folder, job, SCHEDULERS[site.scheduler])


def find(job: str, out: Path) -> Submitted:
    """The job with this number, or in this folder. Raises CommlensError where there is none."""
    places = [Path(job) / _ABOUT, *sorted(out.glob(f"*/{_ABOUT}"))]
    for place in places:
        with suppress(CommlensError, msgspec.DecodeError):
            about = msgspec.json.decode(read_text(place), type=dict[str, str])
            scheduler = SCHEDULERS.get(about.get("scheduler", ""))
            if scheduler and "job" in about and (place is places[0] or about["job"] == job):
                return Submitted(place.parent.resolve(), about["job"], scheduler)
    raise CommlensError(
        f"--attach {job or repr(job)}: no job of this number in {out}, and no folder of one; --out"
        " names the folder of its results"
    )


def wait(submitted: Submitted) -> tuple[int, bool]:
    """Waits for the end of the job, and prints how it ended.

    Returns the exit status, and whether the job has ended, so that there are records to show.
    """
    try:
        state = _await_end(submitted)
    except KeyboardInterrupt:
        return _interrupted(submitted), False
    if state is None:
        return Status.FAILED, False  # the reason has been printed
    status = _patiently(submitted, state)
    how = f"ended with status {status}"
    if status is None:
        how = _how_it_ended(submitted, state)
    elif status > 128 or status == Status.FAILED:
        how = submitted.scheduler.ends.get(_cleaned_up(submitted).name, how)
        how += f"; see {submitted.log}"
    if status != 0:
        say(f"job {submitted.job} {how}")
        _show_end_of(submitted.log)
    return Status.FAILED if status is None else status, True


def _await_end(submitted: Submitted) -> State | None:
    """The state in which it was seen last; None: it never launches, and has been cancelled."""
    reported = State(Phase.UNKNOWN)
    pauses = iter(_LOOKS_S)
    next_look = time.monotonic() + _FIRST_LOOK_S
    while submitted.status() is None:
        if time.monotonic() < next_look:
            time.sleep(_STATUS_POLL_S)
            continue
        state = submitted.scheduler.look(submitted.job)
        if state.phase is Phase.GONE:
            return state
        is_pending = state.phase is Phase.PENDING
        why = state.reason if is_pending else ""
        if (state.phase, why) != (reported.phase, reported.reason):
            explanation = meaning(submitted.scheduler.waits, why)
            more = f" ({why}){f': {explanation}' if explanation else ''}" if why else ""
            say(f"job {submitted.job} {state.phase.value}{more}")
            reported = replace(state, reason=why)
        if is_pending and (explanation := meaning(submitted.scheduler.hopeless, why)):
            say(f"job {submitted.job} will never start ({why}): {explanation}. It is cancelled")
            submitted.scheduler.cancel_job(submitted.job)
            return None
        next_look = time.monotonic() + next(pauses, _LOOKS_S[-1])
    return reported


def _cleaned_up(submitted: Submitted) -> State:
    """The state of a job whose script has ended. Slurm calls it COMPLETING at first."""
    deadline = time.monotonic() + _CLEAN_UP_S
    seen = submitted.scheduler.look(submitted.job)
    while seen.phase is Phase.RUNNING and time.monotonic() < deadline:
        time.sleep(_CLEAN_UP_POLL_S)
        seen = submitted.scheduler.look(submitted.job)
    return seen


def _how_it_ended(submitted: Submitted, state: State) -> str:
    """Without a status: the scheduler has the last word, if it still knows the job."""
    seen = submitted.scheduler.look(submitted.job)
    last = seen if seen.name else state
    ends = {**submitted.scheduler.scriptless, **submitted.scheduler.ends}
    named = next((name for name in (last.reason, last.name) if name in ends), last.name)
    if named not in ends and last.host == "" and last.reason:
        return f"could not be started ({last.reason})"
    parts = [ends.get(named, "has left no exit status") + (f" ({named})" if named else "")]
    if submitted.log.exists():
        other = "" if named in ends else "is the disk full, or was it killed?"
        parts += [_silent_nodes(submitted) or other, f"see {submitted.log}"]
    elif named not in submitted.scheduler.ends:
        parts.append(
            f"there is no log: {last.host or 'its node'} may not have the folder "
            f"{submitted.folder}, or cannot write there; choose an --out that is shared with the "
            "compute nodes"
        )
    return "; ".join(filter(None, parts))


def _silent_nodes(submitted: Submitted) -> str:
    """Of the nodes on which it ran those that do not answer, in a sentence; else empty."""
    with suppress(CommlensError, OSError):
        for file in record_files(submitted.folder / script.RECORDS):
            if sentence := watchdog.silent_nodes(file):
                return sentence
    return ""


def _patiently(submitted: Submitted, state: State) -> int | None:
    """The status, for which a slow file system takes its time; but where it could not be written,
    there is an empty file of the temporary name; and some ends the script does not see."""
    never_began = bool(state.name) and state.host == ""
    if never_began or {state.name, state.reason} & set(submitted.scheduler.scriptless):
        return submitted.status()
    unfinished = submitted.folder / f"{script.STATUS_FILE}.new"
    deadline = time.monotonic() + _STATUS_ARRIVES_S
    while (status := submitted.status()) is None and time.monotonic() < deadline:
        time.sleep(_STATUS_POLL_S)
        with suppress(OSError):
            if time.time() - unfinished.stat().st_mtime > _WRITING_S:
                break
    return status


def _show_end_of(log: Path) -> None:
    """Prints the last messages of commlens in it, else its last lines."""
    lines: Sequence[str] = []
    with suppress(OSError):
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    messages = [line for line in lines if line.startswith("commlens: ")]
    for line in (messages or [line for line in lines if line.strip()])[-_LINES_OF_LOG:]:
        say(f"log: {line.removeprefix('commlens: ')}")


def _interrupted(submitted: Submitted) -> int:
    """Asks whether to cancel the job. Where nobody can answer, it goes on."""
    answer = ""
    if sys.stdin is not None and sys.stdin.isatty():
        with suppress(EOFError, KeyboardInterrupt):
            answer = input(f"commlens: cancel job {submitted.job}? [y/N] ")
    if answer.strip().lower() in ("y", "yes"):
        submitted.scheduler.cancel_job(submitted.job)
        say(f"job {submitted.job} is cancelled; its folder is {submitted.folder}")
    else:
        print_attach(submitted)
    return 128 + signal.SIGINT


def print_attach(submitted: Submitted) -> None:
    """Prints how to wait for a job that goes on."""
    say(
        f"job {submitted.job} goes on; `commlens submit --attach {submitted.folder}` waits for its "
        "end, and shows its records"
    )
