#!/usr/bin/env python3
"""OSU's programs and commlens-bench in turn, without adaptors: many launches in little time.

    tools/peers/launches.py FILE --osu "OSU 7.4=FOLDER" --osu "without barriers=FOLDER" \\
                            --ranks 3 --cores 1-3 --cores 4-6 [--launches 30] \\
                            [--period period.so] scatter:1:8K ...

Needs COMMLENS_BENCH. A name and a folder for each build of OSU's programs (build-osu.sh). An
operation is latency, bandwidth or a collective, with its first and last size. Each program has so
many launches of each operation, by mpirun, spread over the groups of --cores, which measure at the
same time. The program that begins changes from round to round of a group.

With --period, the library of period.c, OSU's programs are also timed from call to call, and have as
many launches more with 2 ms before each size, which commlens-bench has. The operation is then one
that period.c knows.

FILE has a line for each operation: the settings of Open MPI and of the allocator in the
environment, the commands, and the times in us: a list for each program and size, with a value per
launch. A collective's is that of the slowest rank, latency's a round trip, and bandwidth's that of
a window of messages. FILE is written anew after each round. A launch that fails, or takes more than
a minute, is shown, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Lock

import interpreter  # noqa: F401
import osu
from adaptor import Plan, Request, size_in, sizes_in
from measure import ON_HOST

from commlens.base.text import plural
from commlens.jobs.spec import Options

OURS = "commlens"
FROM_CALL_TO_CALL = ", from call to call"
WITH_PAUSE = ", 2 ms before each size"
PAUSE_US = 2000  # pause_before_case of src/harness/case_loop.cpp
PERIOD = re.compile(r"^period: rank \d+ bytes (\d+) us ([\d.]+)$", re.MULTILINE)
LIMIT_S = 60.0
MOST_FAILED = 5  # launches: more have a cause that does not go away
SETTINGS = "OMPI_MCA_", "MALLOC_"
TIMED = (
    "allgatherv",
    "allreduce",
    "broadcast",
    "gather",
    "gatherv",
    "reduce",
    "scatter",
    "scatterv",
)
# The options of each operation. Reductions are of floats, as OSU's.
OPTIONS = {
    **dict.fromkeys(("reduce-scatter", "reduce-scatterv"), "--dtype f32"),
    **dict.fromkeys(("reduce", "allreduce"), "--dtype f32 --out-of-place"),
    **dict.fromkeys(
        ("latency", "bandwidth", "broadcast", "alltoall", "alltoallv", "alltoallw"), ""
    ),
    **dict.fromkeys(
        ("allgather", "allgatherv", "gather", "gatherv", "scatter", "scatterv"), "--out-of-place"
    ),
    **dict.fromkeys(
        (
            *("neighbor-allgather", "neighbor-allgatherv"),
            *("neighbor-alltoall", "neighbor-alltoallv", "neighbor-alltoallw"),
        ),
        "--dimensions 1 --periodic",
    ),
}


class FailedLaunchError(Exception):
    """Of one program: the others go on, and what they have measured is kept."""


@dataclass
class Operation:
    name: str
    ranks: int
    sizes: frozenset[int]
    arguments: Sequence[str]  # of commlens-bench
    plans: Mapping[str, Plan]  # of each build of OSU's programs
    period: str | None  # period.c's library
    times_us: dict[str, dict[int, list[float]]] = field(default_factory=dict)

    def programs(self) -> list[str]:
        with_pause = [f"{build}{WITH_PAUSE}" for build in self.plans] if self.period else []
        return [OURS, *self.plans, *with_pause]

    def launch(self, program: str, cores: str) -> dict[str, dict[int, float]]:
        """The time of each size in us, by what it is the time of."""
        measured = {OURS: self._own(cores)} if program == OURS else self._osu(program, cores)
        for name, times in measured.items():
            if times.keys() != self.sizes:
                raise FailedLaunchError(f"{self.name}, {name}: times of {sorted(times)} B alone")
        return measured

    def _osu(self, program: str, cores: str) -> dict[str, dict[int, float]]:
        plan = self.plans[program.removesuffix(WITH_PAUSE)]
        pause_us = PAUSE_US if program.endswith(WITH_PAUSE) else 0
        job = self._run([*self._timed_from_call_to_call(plan, pause_us), *plan.command], cores)
        figures = plan.read(job.stdout.splitlines())
        printed = {int(str(one.parameters["bytes"])): 1e6 * one.times_s[0] for one in figures}
        if not self.period:
            return {program: printed}
        periods: dict[int, float] = {}
        for size, time_us in PERIOD.findall(job.stderr):
            periods[int(size)] = max(float(time_us), periods.get(int(size), 0.0))
        return {program: printed, f"{program}{FROM_CALL_TO_CALL}": periods}

    def _timed_from_call_to_call(self, plan: Plan, pause_us: int) -> list[str]:
        if not self.period:
            return []
        first, last = plan.harness.warmup, plan.harness.warmup + plan.harness.repeat
        calls = (f"FIRST_CALL={first}", f"LAST_CALL={last}", f"PAUSE_US={pause_us}")
        return ["env", f"LD_PRELOAD={self.period}", *calls]

    def _own(self, cores: str) -> dict[int, float]:
        with TemporaryDirectory() as folder:
            file = Path(folder, "record.jsonl")
            self._run([os.environ["COMMLENS_BENCH"], *self.arguments, "--record", str(file)], cores)
            lines = list(map(json.loads, file.read_text(encoding="utf-8").splitlines()))
        return {
            line["parameters"]["bytes"]: 1e6 * line["samples"]["values_s"][0]
            for line in lines
            if line["kind"] == "record"
        }

    def _run(self, command: Sequence[str], cores: str) -> subprocess.CompletedProcess[str]:
        job = ["taskset", "-c", cores, "mpirun", "-n", str(self.ranks), *command]
        pipe = subprocess.PIPE
        with subprocess.Popen(job, stdout=pipe, stderr=pipe, encoding="utf-8") as launcher:
            try:
                output, error = launcher.communicate(timeout=LIMIT_S)
                how = f"has ended with status {launcher.returncode}"
            except subprocess.TimeoutExpired:
                launcher.terminate()  # which ends the ranks, too
                output, error = launcher.communicate()
                how = f"has not ended within {LIMIT_S:g} s"
        if launcher.returncode:
            raise FailedLaunchError(f"{' '.join(job)} {how}:\n{error}")
        return subprocess.CompletedProcess(job, 0, output, error)

    def keep(self, times: Mapping[str, Mapping[int, float]]) -> None:
        for name, of_sizes in times.items():
            for size, time_us in of_sizes.items():
                of_size = self.times_us.setdefault(name, {}).setdefault(size, [])
                of_size.append(float(f"{time_us:.5g}"))

    def plain(self) -> dict[str, object]:
        commands = {OURS: ["commlens-bench", *self.arguments]}
        for name, plan in self.plans.items():
            commands[name] = [Path(plan.command[0]).name, *plan.command[1:]]
        return {
            "operation": self.name,
            "ranks": self.ranks,
            "settings": {
                name: value
                for name, value in sorted(os.environ.items())
                if name.startswith(SETTINGS)
            },
            "commands": {
                name: f"mpirun -n {self.ranks} {' '.join(words)}"
                for name, words in commands.items()
            },
            "times_us": self.times_us,
        }


def operation(text: str, options: argparse.Namespace) -> Operation:
    name, first, last = text.split(":")
    if options.period and name not in TIMED:
        sys.exit(f"{text}: with --period write one of: {', '.join(TIMED)}")
    repeat, warmup = osu.repetitions(name, size_in(last))
    swept = f"--bytes {first}:{last} --batches 1 --repeat {repeat} --warmup {warmup}"
    words = [*swept.split(), *OPTIONS[name].split(), *ON_HOST]
    plans = {}
    for build in options.osu:
        build_name, os.environ["OSU_HOME"] = build.split("=", 1)
        request = Request("OSU", name, Options.parse(words), options.ranks, "host")
        plans[build_name] = osu.plan(request)
    sizes = frozenset(sizes_in(f"{first}:{last}"))
    return Operation(name, options.ranks, sizes, [name, *words], plans, options.period)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("operations", nargs="+", metavar="OPERATION:FIRST:LAST")
    parser.add_argument("--osu", action="append", required=True, metavar="NAME=FOLDER")
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--cores", action="append", required=True)
    parser.add_argument("--launches", type=int, default=30)
    parser.add_argument("--period", metavar="LIBRARY")
    options = parser.parse_args()
    operations = [operation(text, options) for text in options.operations]
    writing, stop = Lock(), Event()
    failed: list[str] = []

    def group(first: int, cores: str) -> None:
        numbers = range(first, options.launches, len(options.cores))
        for turn, number in enumerate(numbers, start=first):
            for each in operations:
                programs = deque(each.programs())
                programs.rotate(turn)
                for program in programs:
                    if stop.is_set():
                        return
                    try:
                        times = each.launch(program, cores)
                    except FailedLaunchError as failure:
                        print(failure, file=sys.stderr, flush=True)
                        failed.append(str(failure))
                        if len(failed) == MOST_FAILED:
                            stop.set()
                        continue
                    with writing:
                        each.keep(times)
            with writing:
                print(f"round {number + 1} of {options.launches}", file=sys.stderr, flush=True)
                lines = ",\n".join(json.dumps(each.plain()) for each in operations)
                options.file.write_text(f"[\n{lines}\n]\n", encoding="utf-8")

    with ThreadPoolExecutor(len(options.cores)) as pool:
        groups = [pool.submit(group, *each) for each in enumerate(options.cores)]
        wait(groups, return_when=FIRST_EXCEPTION)
        stop.set()
        for done in groups:
            done.result()
    if failed:
        sys.exit(f"{plural(len(failed), 'launch')} failed")


if __name__ == "__main__":
    main()
