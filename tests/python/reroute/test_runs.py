"""`commlens reroute` with its library, on a GPU and a NCCL that are none (tests/reroute)."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from commlens.jobs.preload.library import REROUTE
from commlens.model import load
from commlens.model.reroute import REROUTABLE
from commlens.model.reroute import Reroute as RerouteRecord
from profile_helpers import ALL_MPIS, ROOT, TIME_LIMIT_S, Mpi, built_for, lack
from reroute_library_helpers import Reroute, is_aborted

STATUS = 7  # of sums, without an error


@dataclass(frozen=True)
class RerouteRan:
    status: int
    output: str
    error: str
    record: RerouteRecord | None


@dataclass(frozen=True)
class Sums:
    """`commlens reroute` of sums, in the working directory, which is the test's own."""

    with_library: Reroute
    program: Path

    @property
    def mpi(self) -> Mpi:
        return self.with_library.mpi

    def __call__(
        self,
        *options: str,
        words: tuple[object, ...] = (10, 20_000, "device"),
        ranks: int = 2,
        start: Callable[[list[str]], list[str]] = lambda command: command,
        **variables: str,
    ) -> RerouteRan:
        Path("nccl").mkdir(exist_ok=True)
        before = set(Path("results").glob("*.jsonl"))
        environment = {
            **self.mpi.environment(), "COMMLENS_REROUTE_LIBRARY": str(self.with_library.library),
            "LD_LIBRARY_PATH": str(self.with_library.fakes),
            "FAKE_NCCL_DIR": str(Path("nccl").resolve()),
            **variables,
        }  # fmt: skip
        command = start(self.mpi.command(self.program, *words, ranks=ranks))
        answer = subprocess.run(
            [sys.executable, "-m", "commlens", "reroute", *options, "--", *command],
            capture_output=True, text=True, env=environment, timeout=TIME_LIMIT_S,
        )  # fmt: skip
        files = set(Path("results").glob("*.jsonl")) - before
        record = load(files).reroutes[0] if files else None
        return RerouteRan(answer.returncode, answer.stdout, answer.stderr, record)


@pytest.fixture
def sums(reroute: Reroute) -> Sums:
    return Sums(reroute, reroute.compile("sums.cpp"))


def counters(ran: RerouteRan) -> dict[str, Any]:
    assert ran.record is not None, ran.error
    (function,) = ran.record.functions
    return {
        "calls": function.calls,
        "rerouted": function.rerouted_calls,
        "timed": function.measured_calls,
        "fell back": dict(function.fell_back),
    }


@pytest.mark.parametrize("ranks", [2, 3])
def test_calls_go_to_nccl(sums: Sums, ranks: int) -> None:
    ran = sums(ranks=ranks)
    assert ran.status == STATUS and "all sums are right" in ran.output
    each = {"calls": [10] * ranks, "rerouted": [9] * ranks, "timed": [1] * ranks, "fell back": {}}
    assert counters(ran) == each
    assert ran.record and ran.record.library and ran.record.library.startswith("NCCL 2.")
    assert [place.rank for place in ran.record.placement] == list(range(ranks))
    assert all(place.finalized for place in ran.record.placement)
    assert ran.record.program.endswith(sums.program.name)
    assert re.search(r"^(saved|lost) ", ran.output, re.MULTILINE)


def test_a_dry_run_and_staging(sums: Sums) -> None:
    dry = sums("--dry-run")
    assert counters(dry)["rerouted"] == [9, 9] and "can be saved" in dry.output
    assert dry.record and dry.record.rerouted_s == 0
    staged = sums("--to", "staged", "--functions", "allreduce")
    assert counters(staged)["rerouted"] == [9, 9] and "By staging" in staged.output
    assert staged.record and staged.record.library is None


def test_what_is_not_rerouted_has_its_reason(sums: Sums) -> None:
    assert counters(sums(words=(3, 20_000, "host")))["fell back"] == {"host memory": 6}
    assert counters(sums(words=(3, 100, "device")))["fell back"] == {"fewer than 65536 bytes": 6}
    assert counters(sums("--functions", "bcast"))["fell back"] == {"not in --functions": 20}
    assert counters(sums("--min-bytes", "8", words=(3, 100, "device")))["rerouted"] == [2, 2]


def test_a_difference_ends_the_run(sums: Sums) -> None:
    ran = sums("--verify")
    assert ran.status == STATUS and "verified: all results of 9.0 rerouted calls" in ran.output
    ran = sums("--verify", FAKE_NCCL_WRONG="1")
    assert is_aborted(ran.status, ran.error), ran.error
    assert ran.record and {wrong.rank for wrong in ran.record.differences} == {1}
    assert re.search(r"^ +MPI_Allreduce +1 +2 +\d+ ", ran.output, re.MULTILINE)


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"COMMLENS_REROUTE_NCCL": "/missing/libnccl.so.2"}, "/missing/libnccl.so.2"),
        ({"FAKE_NCCL_VERSION": "2604"}, "too old"),
    ],
)
def test_without_a_suitable_nccl_the_program_runs(
    sums: Sums, variables: dict[str, str], said: str
) -> None:
    ran = sums(**variables)
    assert ran.status == STATUS and "all sums are right" in ran.output
    assert counters(ran)["rerouted"] == [0, 0]
    (line,) = re.findall(r"^nothing was rerouted: (.*)", ran.output, re.MULTILINE)
    assert said in line
    assert ran.record and ran.record.disabled == [line]


def test_two_jobs_of_a_script(sums: Sums) -> None:
    def twice(command: list[str]) -> list[str]:
        line = " ".join(command)
        Path("script").write_text(f"#!/bin/sh\n{line} </dev/null\n{line} </dev/null\n")
        Path("script").chmod(0o755)
        return ["./script"]

    ran = sums(start=twice)
    assert ran.output.count("# rerouted: ./script") == 2
    (file,) = Path("results").glob("*.jsonl")
    assert [record.ranks for record in load([file]).reroutes] == [2, 2]


def test_another_mpi_behind_a_script_is_refused(sums: Sums, shared_folder: Path) -> None:
    other = "MPICH" if sums.mpi.name == "openmpi" else "Open MPI"
    compiler = shutil.which({"MPICH": "mpicc.mpich", "Open MPI": "mpicc.openmpi"}[other])
    if not ALL_MPIS:
        pytest.skip(f"COMMLENS_TEST_ALL_MPIS=1 also builds the library for {other}")
    if compiler is None:
        lack(f"{other} is not installed")
    library = built_for(REROUTE, other, shared_folder, compiler)
    Path("script").write_text('#!/bin/sh\n"$@"\nexit 1\n')
    Path("script").chmod(0o755)
    ran = sums(start=lambda command: ["./script", *command], COMMLENS_REROUTE_LIBRARY=str(library))
    assert ran.status == 2
    assert f"the library was built for {other}" in ran.error


def test_a_rank_that_is_killed_is_named(sums: Sums) -> None:
    source = "#include <mpi.h>\n#include <signal.h>\nint main(int n, char** w) {\n"
    source += " int rank; MPI_Init(&n, &w); MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n"
    source += " MPI_Barrier(MPI_COMM_WORLD); if (rank == 1) raise(SIGKILL); return 0;\n}\n"
    Path("killed.c").write_text(source)
    program = sums.mpi.compile(str(Path("killed.c").resolve()), name="killed-rerouted")
    ran = sums(start=lambda command: [*command[: command.index(str(sums.program))], str(program)])
    # MPICH's launcher kills the other one, too.
    assert re.search(r"ranks? (0, )?1 started MPI and left no file", ran.output + ran.error)


def test_what_the_library_reroutes_is_what_the_option_names() -> None:
    """One list is data, the other is generated from."""
    text = (ROOT / "src/reroute/generate.py").read_text()
    (listed,) = re.findall(r"^COLLECTIVES = \(\n(.*?)^\)", text, re.MULTILINE | re.DOTALL)
    assert tuple(re.findall(r'"(\w+)"', listed.lower())) == REROUTABLE.functions


def test_the_lines_of_a_job_script(sums: Sums) -> None:
    """What docs/reroute.md has for jobs without the command."""
    Path("reports").mkdir()
    Path("nccl").mkdir()
    preloaded = {
        "LD_PRELOAD": str(sums.with_library.library),
        "COMMLENS_REROUTE_DIR": str(Path("reports").resolve()),
        "LD_LIBRARY_PATH": str(sums.with_library.fakes),
        "FAKE_NCCL_DIR": str(Path("nccl").resolve()),
    }  # fmt: skip
    assigned = [f"{name}={value}" for name, value in preloaded.items()]
    command = sums.mpi.command("env", *assigned, sums.program, 10, 20_000, "device")
    environment = {**os.environ, **sums.mpi.environment()}
    answer = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert answer.returncode == STATUS
    files = [json.loads(file.read_text()) for file in Path("reports").glob("rank-*.json")]
    assert [file["functions"][0]["rerouted_calls"] for file in files] == [9, 9]
