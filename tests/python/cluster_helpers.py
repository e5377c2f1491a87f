"""Slurm clusters of several nodes on this machine (tests/cluster), and commlens on them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from native_helpers import BENCH, ROOT, missing
from run_helpers import AS_ROOT, wait_for

_SCRIPT = ROOT / "tests" / "cluster" / "cluster"
# Far more than any takes, also on a machine that does other things.
_START_LIMIT_S = 300
_JOB_LIMIT_S = 300.0
_PROGRAMS = ("slurmctld", "slurmd", "munged", "srun", "ip", "nsenter", "unshare")

# Open MPI 4.1 over Slurm 22.05 crashes in MPI_Init, up to once in 40 starts on busy cores
# (tests/cluster/cluster says why): before a test has killed anything, and before any record.
# commlens says so, or srun in a test of the native program (pytest indents the lines).
CRASH_IN_MPI_INIT = (
    r"(died \(signal 11, Segmentation fault\)|tasks? [-,\d]+: Segmentation fault)"
    r"(; |(.*\n)* *)no record was written"
)

_PATH = os.environ["PATH"]  # at import: without the fakes of conftest.py


def why_not() -> str:
    """Why there can be no cluster here; empty if there can."""
    if os.geteuid() != 0:
        return "this takes root"
    absent = [name for name in _PROGRAMS if not shutil.which(name, path=f"{_PATH}:/usr/sbin")]
    if absent:
        return f"there is no {absent[0]}: tests/cluster/setup installs it"
    unshare = ["unshare", "--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "true"]
    if subprocess.run(unshare, capture_output=True).returncode != 0:
        return "the kernel refuses namespaces"
    return missing()


@dataclass
class Ended:
    status: int
    output: str  # both streams
    seconds: float

    @property
    def messages(self) -> list[str]:
        """What commlens says, but for signs of progress."""
        return [line for line in self.output.splitlines() if line.startswith("commlens: ")]


@dataclass
class Running:
    """A command on a node."""

    process: subprocess.Popen[str]
    cluster: Cluster

    def until(self, condition: Callable[[], bool]) -> None:
        """Fails with what it has said where it ends before that."""

        def has_come() -> bool:
            if self.process.poll() is not None:
                raise AssertionError(f"it has ended too early:\n{self.wait().output}")
            return condition()

        wait_for(has_come, 90)

    def wait(self, limit_s: float = _JOB_LIMIT_S) -> Ended:
        """Fails where it does not end in time."""
        started = time.monotonic()
        try:
            output, _ = self.process.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            self.cluster.call("on", "n1", "scancel", "--user=root")
            self.process.kill()  # nsenter alone, and not what it started
            for process in self.cluster.processes("commlens"):
                if process.info["cmdline"][1:3] == ["-m", "commlens"]:
                    process.kill()
            output, _ = self.process.communicate()
            raise AssertionError(f"still running after {limit_s} s:\n{output}") from None
        return Ended(self.process.returncode, output, time.monotonic() - started)


@dataclass
class Cluster:
    folder: Path

    def call(self, *words: object) -> None:
        """A command of tests/cluster/cluster."""
        command = [str(_SCRIPT), *map(str, words)]
        subprocess.run(
            command, env=self._environment(), check=True, timeout=_START_LIMIT_S, text=True
        )

    def start(self, *words: object, node: str = "n1", **environment: str) -> Running:
        """Starts a command on a node, in this folder."""
        return Running(
            subprocess.Popen(
                [str(_SCRIPT), "on", node, *map(str, words)],
                env={**self._environment(), **environment},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                text=True,
                errors="replace",
            ),
            self,
        )

    def on(self, *words: object, node: str = "n1", **environment: str) -> Ended:
        return self.start(*words, node=node, **environment).wait()

    def batch(self, *lines: str, options: str = "--nodes=2") -> Ended:
        """Runs lines of a shell as a job, and returns its status and its log. Not `sbatch --wait`,
        which looks every 32 seconds in the end."""
        script, log, status = Path("job.sh"), Path("job.log"), Path("job.status")
        script.write_text("\n".join(["#!/bin/bash", *lines, f"echo $? >{status}", ""]))
        started = time.monotonic()
        submitted = self.on("sbatch", f"--output={log}", *options.split(), script)
        assert submitted.status == 0, submitted.output
        wait_for(lambda: status.exists() and bool(status.read_text()), _JOB_LIMIT_S)
        seconds = time.monotonic() - started
        return Ended(int(status.read_text()), log.read_text(), seconds)

    def processes(self, word: str) -> list[psutil.Process]:
        """Those on the nodes that have the word in their command line."""
        namespaces = {self._namespace(int(file.read_text())) for file in self.folder.glob("*.init")}
        return [
            process
            for process in psutil.process_iter(["cmdline", "status"])
            if any(word in part for part in process.info["cmdline"] or [])
            and process.info["status"] != psutil.STATUS_ZOMBIE
            and self._namespace(process.pid) in namespaces - {""}
        ]

    def ranks(self, benchmark: str) -> list[psutil.Process]:
        """In the order of their numbers."""

        def number(process: psutil.Process) -> str:
            with suppress(psutil.Error):
                return str(process.environ().get("PMIX_RANK", ""))
            return ""

        numbered = [
            (number(process), process)
            for process in self.processes("commlens-bench")
            if process.info["cmdline"][0] == str(BENCH) and benchmark in process.info["cmdline"]
        ]
        return [process for rank, process in sorted(numbered, key=lambda pair: pair[0]) if rank]

    def _namespace(self, pid: int) -> str:
        with suppress(OSError):
            return str(Path(f"/proc/{pid}/ns/pid").readlink())
        return ""

    def _environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "PATH": f"{_PATH}:/usr/sbin",
            "CLUSTER_DIR": str(self.folder),
            "COMMLENS_BENCH": str(BENCH),
            **AS_ROOT,
        }


def commlens(*words: object) -> list[str]:
    return [sys.executable, "-m", "commlens", *map(str, words)]


def has_measured() -> bool:
    """Whether a record is in a file below results/, where a file may come and go again."""
    for file in Path("results").rglob("*.jsonl"):
        with suppress(FileNotFoundError):
            if '"kind":"record"' in file.read_text():
                return True
    return False
