"""The entries of data that CONTRIBUTING.md shows are whole: nothing else is needed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import yaml

from commlens.jobs import suite
from commlens.jobs.causes import Cause, first
from commlens.jobs.launchers import Chosen
from commlens.jobs.spec import JobSpec
from commlens.knowledge.launchers import Launcher

PAGE = (Path(__file__).parents[4] / "CONTRIBUTING.md").read_text(encoding="utf-8")


def block(heading: str) -> str:
    """The first block of YAML below a heading."""
    match = re.search(rf"^## {heading}\n.*?```yaml\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE)
    assert match
    return match[1]


def entry(heading: str) -> Any:
    (data,) = yaml.load(block(heading), Loader=yaml.BaseLoader)
    return data


def test_a_launcher() -> None:
    launcher = msgspec.convert(entry("A launcher is one entry"), Launcher, strict=False)
    job = JobSpec("latency", ranks=4, nodes=2, environment={"A": "b"}, launcher_arguments=["-v"])
    words = Chosen("palsrun", launcher).command(job, Path("/b"))
    assert " ".join(words).startswith("palsrun -n 4 --ppn 2 --env A=b -v /b latency ")
    line = "palsrun: rank 3 died from signal 11"
    assert re.match(launcher.held.lines[0], line)
    died = re.search(launcher.deaths[0], line)
    assert died and died.groupdict() == {"rank": "3", "number": "11"}


def test_a_cause() -> None:
    cause = msgspec.convert(entry("A cause of a failure is one entry"), Cause, strict=False)
    applies = first([cause], "mmap: no space left in /dev/shm/x", {})
    assert applies is not None
    assert cause.message(**applies[1]) == (
        "shared memory is full (/dev/shm/x): remove what other jobs have left there"
    )


def test_a_suite() -> None:
    (job,) = suite.parse(block("A suite is one file"), "mine.yaml").entries
    assert (job.benchmark, job.ranks, job.launches) == ("allreduce", 4, 3)
