"""Mistakes on the command line, with the real programs: one line that names the option, the value
and the fix, exit status 2, nothing is allocated, and nothing is left behind."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from commlens.jobs.native import Native
from native_helpers import (
    BENCH,
    BENCHMARKS,
    BRIEFLY,
    TRANSPORTS,
    USAGE,
    Job,
    Jobs,
    alone,
    native,
    needs_native,
    on_host_build,
    through_command,
)
from run_helpers import table

pytestmark = needs_native

# Now and then a job dies of SIGSEGV after its message: mpirun of Open MPI 4.1.4 in PMIx_Finalize
# (by its core file), with 5.0.11 and without a launcher perhaps there, too.
_CRASHED_AT_END = 139
TABLE = table(Path(__file__).with_name("mistakes.yaml"))
MISTAKES: dict[str, tuple[int, str, list[Any]]] = {
    f"{words} on {ranks} ranks": (ranks, words, said)
    for ranks, of_ranks in TABLE["ranks"].items()
    for words, said in of_ranks.items()
}


def parts(said: list[Any]) -> Iterator[str]:
    known = {"every benchmark": BENCHMARKS, "every transport": list(TRANSPORTS)}
    for part in said:
        if isinstance(part, list):
            yield from parts(part)
        elif part in known:
            yield from known[part]
        else:
            yield part


@pytest.fixture(scope="module")
def told() -> dict[str, str]:
    """What the program says of each before a job is started, in one process; empty where only the
    job can know."""
    answers = Native(BENCH).mistakes(
        [(ranks, shlex.split(words)) for ranks, words, _ in MISTAKES.values()]
    )
    return {
        name: answer if all(part in answer for part in parts(MISTAKES[name][2])) else ""
        for name, answer in zip(MISTAKES, answers)
    }


@pytest.fixture(scope="module")
def mistakes(submit: Callable[..., Jobs], told: dict[str, str]) -> Jobs:
    """Those that only a job can know, and one of each benchmark on each number of ranks: a job says
    the same."""

    def run(records: Path, ranks: int, words: str) -> Job:
        def once() -> Job:
            if ranks == 1:
                return alone(records, *shlex.split(words))
            return native(records.parent, ranks, *shlex.split(words))

        job = once()
        if job.status != _CRASHED_AT_END:
            return job
        warnings.warn(f"run again: {job}", stacklevel=1)
        return once()

    first = {(ranks, words.split()[0]): name for name, (ranks, words, _) in MISTAKES.items()}
    chosen = [name for name in MISTAKES if not told[name] or name in first.values()]
    return submit(run, {name: MISTAKES[name][:2] for name in chosen})


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_line_with_option_value_and_fix(
    name: str, told: dict[str, str], mistakes: Jobs
) -> None:
    assert "\n" not in told[name]
    if name not in mistakes:
        assert told[name]
        return
    job = mistakes[name][0].result()
    assert job.status == USAGE, job
    for part in parts(MISTAKES[name][2]):
        assert part in job.message, job
    assert job.output == "", "nothing was run, so nothing is shown"
    assert job.peak_bytes < 500e6, "it is refused before anything is allocated"


@pytest.mark.parametrize("benchmark", ["bandwidth", "bidirectional-bandwidth", "message-rate"])
def test_a_staged_window_that_does_not_fit_is_refused(benchmark: str, tmp_path: Path) -> None:
    """Two buffers and their stage on each of two ranks: eight times the size, however long the
    window is."""
    size = psutil.virtual_memory().total // 7
    job = native(tmp_path, 2, benchmark, "--transport staged", "--bytes", size, *BRIEFLY)
    assert job.status == USAGE
    assert f"--bytes {size}" in job.message and "free" in job.message
    assert job.peak_bytes < 500e6


@on_host_build
@pytest.mark.parametrize(
    ("option", "memory"),
    [
        *(("--memory", memory) for memory in ("device", "managed", "pinned")),
        ("--from", "device"),
        ("--to", "managed"),
    ],
)
def test_memory_that_this_build_lacks(option: str, memory: str, tmp_path: Path) -> None:
    job = native(tmp_path, 2, "latency", option, memory, "--bytes", 8, *BRIEFLY)
    assert job.status == USAGE
    assert f"{option} {memory}" in job.message
    assert f"{option} host" in job.message or "use --memory host" in job.message
    assert "preset cuda or hip" in job.message


@pytest.fixture(scope="module")
def command_mistakes(submit: Callable[..., Jobs]) -> Jobs:
    def run(records: Path, words: str) -> Job:
        return through_command(records.parent, *shlex.split(words))

    return submit(run, {words: (words,) for words in TABLE["command"]})


@pytest.mark.parametrize("words", TABLE["command"])
def test_the_command_hands_a_mistake_on_as_it_is(words: str, command_mistakes: Jobs) -> None:
    future, records = command_mistakes[words]
    job = future.result()
    assert job.status == USAGE, job
    for part in parts(TABLE["command"][words]):
        assert part in job.message, job
    # Open MPI 5.0.7 warns of a machine that has only a loopback interface.
    of_machine = "commlens: warning: Open MPI's btl tcp finds no pair of network interfaces"
    lines = [line for line in job.error.splitlines() if not line.startswith(of_machine)]
    assert lines == [job.message], "nothing of the launcher's is left in between"
    assert list(records.parent.rglob("*.jsonl")) == []
