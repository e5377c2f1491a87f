"""What `commlens run` leaves in a test's folder: records, commands, processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import yaml

from commlens.model import Record, load

# Of Open MPI.
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# Likewise. Several jobs share the cores, but by default ranks that wait yield theirs only where one
# job has more ranks than there are cores.
SHARED_CORES = {"OMPI_MCA_mpi_yield_when_idle": "1"}


def table(path: Path, base: str = "SafeLoader") -> Any:
    """What is in a YAML file, as PyYAML's loader `base` reads it. By libyaml where it is there:
    every process of pytest reads all files as it collects the tests."""
    loader = getattr(yaml, f"C{base}", getattr(yaml, base))
    return yaml.load(path.read_text(encoding="utf-8"), Loader=loader)


_CASES = {
    name: values
    for file in Path(__file__).parent.glob("*/cases.yaml")
    for name, values in table(file).items()
}


def cases(name: str) -> list[Any]:
    """The values of the parameters of a test."""
    return list(_CASES[name])


def kept(*places: str | Path) -> list[Record]:
    """The records in the files and folders, or in all that is below results/. Every line is one."""
    paths = [Path(place) for place in places] or sorted(Path("results").rglob("*.jsonl"))
    loaded = load(paths)
    assert loaded.problems == []
    return loaded.records


def command_of_record() -> list[str]:
    return list(kept()[0].start.command)


def executable(folder: Path, name: str, script: str = "") -> None:
    """Makes a script of a shell."""
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def started(*words: object, **environment: str) -> subprocess.Popen[str]:
    """The command as a process of its own, which can be sent signals."""
    return subprocess.Popen(
        [sys.executable, "-m", "commlens", *map(str, words)],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(
    condition: Callable[[], bool], limit_s: float = 90, text: Callable[[], str] = lambda: ""
) -> None:
    """`text`: what says why it did not come true, such as the output of what was waited for."""
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, text()
        time.sleep(0.02)


_SENT = {"bytes": 1, "memory": "device"}
_SAYS = {"mpi": "Open MPI 5.0.7", "how": "MPIX_Query_cuda_support"}
_PROBE: dict[str, dict[str, Any]] = {
    "init": {"probe": "begin", "call": "MPI_Init", "bytes": 0, "memory": "device"},
    "yes": {"probe": "library", "says_gpu_aware": "yes", "ucx": "1.22.0", **_SAYS},
    "no": {"probe": "library", "says_gpu_aware": "no", "ucx": "1.22.0", **_SAYS},
    "old": {"probe": "library", "says_gpu_aware": "unknown", "ucx": None, **_SAYS},
    "begin": {"probe": "begin", **_SENT},
    "end": {"probe": "end", "valid": True, **_SENT},
    "wrong": {"probe": "end", "valid": False, **_SENT},
    "done": {"probe": "done"},
}


def probe_lines(steps: str) -> list[str]:
    """What a probe prints in `yes0 yes1 begin0`: rank 0 sends to rank 1. Before a rank says what
    its library is, it begins MPI_Init, and does not know its number yet."""
    lines: list[dict[str, Any]] = []
    for step in steps.split():
        kind, rank = _PROBE[step.rstrip("01")], int(step[-1]) if step[-1] in "01" else -1
        if kind["probe"] == "library":
            lines.append({"rank": -1, **_PROBE["init"]})
        lines.append({"rank": rank, "call": "MPI_Recv" if rank else "MPI_Send", **kind})
    return [json.dumps(line, separators=(",", ":")) for line in lines]


def lines_of(output: str) -> list[str]:
    """With a space where there are several."""
    return [" ".join(line.split()) for line in output.splitlines()]


def ranks_alive() -> list[int]:
    """The fakes that run in this test's folder."""
    here = str(Path.cwd())
    return [
        process.pid
        for process in psutil.process_iter(["cwd", "cmdline"])
        if process.info["cwd"] == here
        and any("commlens-bench" in word for word in process.info["cmdline"] or [])
    ]


_SPIN = """
import os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
print(flush=True)
while True: pass
"""


@contextmanager
def hogs() -> Iterator[None]:
    """A program on each core that this process may use."""
    cores = os.sched_getaffinity(0)
    programs = [
        subprocess.Popen([sys.executable, "-c", _SPIN, str(core)], stdout=subprocess.PIPE)
        for core in cores
    ]
    try:
        for program in programs:
            assert program.stdout is not None
            program.stdout.readline()
        yield
    finally:
        for program in programs:
            program.kill()
            program.communicate()
