"""Bad input and trouble, with the real programs: what must happen when something goes wrong.

Every test here asks the same of the program: it ends in time, no process is left, the exit status is that of
docs/records.md, one message says why, and the records of what had ended are whole.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from native_helpers import (
    AT_ONCE,
    BENCH,
    FAULTS,
    Job,
    available_memory,
    backend,
    missing,
    needs_native,
    records_in,
    start,
    total_memory,
    under_commlens,
    under_mpirun,
    valid_record,
)

pytestmark = needs_native

OK, FAILED, USAGE, STALLED, NOTHING_RAN = range(5)
OF_SIZES = ("allreduce", "bandwidth", "bidirectional-bandwidth", "latency", "message-rate")
SOLVERS = ("bp5", "gather-scatter")
SIZED_BY = {**dict.fromkeys(OF_SIZES, "bytes"), **dict.fromkeys(SOLVERS, "elements"), "fft": "grid", "xtx": "dofs"}
BENCHMARKS = sorted(SIZED_BY)
TRANSPORTS = ("mpi", "staged", "ccl")
BRIEFLY = ("--repeat", 2, "--warmup", 0, "--batches", 2)
SIZES_BEFORE = 2  # of the sizes 4, 8, 16, 32, 64 of a fault, it strikes at the third

on_host_build = pytest.mark.skipif(not missing() and backend() != "host", reason="this build may have a GPU and NCCL")


@pytest.fixture
def records(tmp_path: Path) -> Path:
    return tmp_path / "records.jsonl"


def native(folder: Path, ranks: int, *words: object, program: Path = BENCH, limit_s: float = 20) -> Job:
    return start(under_mpirun(ranks, *words, program=program), folder, AT_ONCE).wait(limit_s)


def alone(records: Path, *words: object) -> Job:
    """Without a launcher, which is the quicker way: as the only rank."""
    return start([str(BENCH), *map(str, words)], records.parent).wait(20)


def through_command(folder: Path, *words: object, program: Path = BENCH, limit_s: float = 20) -> Job:
    environment = {**AT_ONCE, "COMMLENS_BENCH": str(program)}
    return start(under_commlens(*words), folder, environment).wait(limit_s)


# Most jobs here wait more than they compute, so some of them are under way at the same time. What they gave is looked
# at by a test for each.


@pytest.fixture(scope="module")
def workers() -> Iterator[ThreadPoolExecutor]:
    pool = ThreadPoolExecutor(4)
    yield pool
    pool.shutdown(cancel_futures=True)


Jobs = dict[str, tuple["Future[Job]", Path]]  # by name; the file of records beside each


@pytest.fixture(scope="module")
def submit(workers: ThreadPoolExecutor, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Jobs]:
    """Starts the function with a file of records of its own and the arguments of each name."""

    def submit_all(function: Callable[..., Job], arguments: Mapping[str, Sequence[object]]) -> Jobs:
        jobs: Jobs = {}
        for name, words in arguments.items():
            records = tmp_path_factory.mktemp("job") / "records.jsonl"
            jobs[name] = (workers.submit(function, records, *words), records)
        return jobs

    return submit_all


# ---- bad input ----

NOT_A_SIZE = ("whole number", "4096", "8K")

# words on the command line, and what the message must hold: option, value and cure
MISTAKES: list[tuple[list[str], tuple[str, ...]]] = [
    (["nosuch"], ("'nosuch'", *BENCHMARKS)),
    ([""], ("''", *BENCHMARKS)),
    (["--frobnicate"], ("--frobnicate", "--help")),
    (["allreduce", "--transport", "carrier"], ("--transport carrier", *TRANSPORTS, "all")),
    (["allreduce", "--transport", "mpi,carrier"], ("--transport mpi,carrier", "'carrier'", *TRANSPORTS)),
    (["allreduce", "--transport", ""], ("--transport ''", "all")),
    (["latency", "--memory", "tape"], ("--memory tape", "host", "pinned", "device", "managed")),
    (["latency", "--from", "tape"], ("--from tape", "host", "pinned", "device", "managed")),
    (["latency", "--bytes", "0"], ("--bytes 0", *NOT_A_SIZE)),
    (["latency", "--bytes", "-8"], ("--bytes -8", *NOT_A_SIZE)),
    (["latency", "--bytes", "eight"], ("--bytes eight", *NOT_A_SIZE)),
    (["latency", "--bytes", "3.5"], ("--bytes 3.5", *NOT_A_SIZE)),
    (["latency", "--bytes", ""], ("--bytes ''", *NOT_A_SIZE)),
    (["latency", "--bytes", "1e30"], ("--bytes 1e30", *NOT_A_SIZE)),
    (["latency", "--bytes", "8:4"], ("--bytes 8:4", "4:8")),
    (["latency", "--bytes", "1:8:x1"], ("--bytes 1:8:x1", "x2")),
    (["allreduce", "--bytes", "0"], ("--bytes 0", *NOT_A_SIZE)),
    (["allreduce", "--bytes", "-8"], ("--bytes -8", *NOT_A_SIZE)),
    (["allreduce", "--bytes", "eight"], ("--bytes eight", *NOT_A_SIZE)),
    (["allreduce", "--bytes", "64:8"], ("--bytes 64:8", "8:64")),
    (["allreduce", "--bytes", "12"], ("--bytes 12", "multiple", "8 bytes of f64")),
    (["allreduce", "--bytes", "8,24", "--dtype", "c128"], ("--bytes 8", "multiple", "16 bytes of c128")),
    (["allreduce", "--count", "0"], ("--count 0", *NOT_A_SIZE)),
    (["allreduce", "--dtype", "f16"], ("--dtype f16", "i32", "f32", "f64", "c64", "c128")),
    (["latency", "--frobnicate", "3"], ("--frobnicate", "latency --help")),
    (["latency", "surplus"], ("surplus", "latency --help")),
    (["latency", "--bytes", "8", "--bytes", "16"], ("--bytes", "latency --help")),
    (["latency", "--format", "xml"], ("--format xml", "table", "json", "osu", "dftfe")),
    (["latency", "--timing", "often"], ("--timing often", "batch", "each")),
    (["latency", "--repeat", "0"], ("--repeat 0", "whole number")),
    (["latency", "--repeat"], ("--repeat", "latency --help")),
    (["latency", "--batches", "0"], ("--batches 0", "whole number")),
    (["latency", "--warmup", "-1"], ("--warmup -1", "0")),
    (["latency", "--warmup", "0.5"], ("--warmup 0.5", "whole number")),
    (["latency", "--timeout", "x"], ("--timeout x", "number")),
    (["latency", "--timeout", "-1"], ("--timeout -1", "number")),
    (["latency", "--timeout", "nan"], ("--timeout nan", "number")),
    (["latency", "--until-ci", "narrow"], ("--until-ci narrow", "number")),
    (["latency", "--max-time", "1h"], ("--max-time 1h", "number")),
    (["latency", "--record", ""], ("--record ''",)),
    (["latency", "--pairs", "0"], ("--pairs 0", "whole number")),
    (["latency", "--pairs", "3"], ("3 pairs", "--ranks 6")),
    (["xtx", "--vectors", "0"], ("--vectors 0", *NOT_A_SIZE)),
    (["xtx", "--dofs", "0"], ("--dofs 0", *NOT_A_SIZE)),
    (["xtx", "--block", "0"], ("--block 0", *NOT_A_SIZE)),
    (["xtx", "--vectors", "50", "--block", "51"], ("--block 51", "50 columns", "--vectors")),
    (["xtx", "--vectors", "50", "--block", "10,51"], ("--block 51", "50 columns")),
    (["xtx", "--dtype", "i32"], ("--dtype i32", "f64", "c128", "f32", "c64")),
    (["xtx", "--dofs", "1e8", "--dtype", "f32"], ("--dofs 100000000", "2097152 rows", "--numbers full")),
    (["xtx", "--depth", "0"], ("--depth 0", "whole number")),
    (["xtx", "--layout", "round"], ("--layout round", "tall", "wide")),
    (["xtx", "--numbers", "prime"], ("--numbers prime", "full", "integers")),
    (["xtx", "--trace", ""], ("--trace ''", "name a file")),
    (["xtx", "--trace", "/nonexistent/trace.json"], ("--trace /nonexistent/trace.json", "No such file or directory")),
    (["xtx", "--dofs", "1e12", "--vectors", "36600"], ("--vectors 36600", "needs", "on each rank", "free", "fits")),
    (["latency", "--trace", "trace.json"], ("--trace", "latency --help")),
    (["gather-scatter", "--elements", "0"], ("--elements 0", *NOT_A_SIZE)),
    (["gather-scatter", "--elements", "4,4"], ("--elements 4,4", "one number of elements for a cube", "or three")),
    (["gather-scatter", "--elements", "1:4"], ("--elements 1:4", "or three")),
    (["gather-scatter", "--elements", "4,4,1e7"], ("--elements 4,4,1e7", "at most 1M each")),
    (
        ["gather-scatter", "--elements", "1000000"],
        ("--elements 1000000x1000000x1000000", "free", "is about --elements"),
    ),
    (["gather-scatter", "--elements", "1000"], ("--elements 1000x1000x1000", "of host memory", "is about --elements")),
    (["gather-scatter", "--order", "0"], ("--order 0", "1 to 15")),
    (["gather-scatter", "--order", "16"], ("--order 16", "1 to 15")),
    (["gather-scatter", "--order", "7.5"], ("--order 7.5", "whole number")),
    (["gather-scatter", "--order", ""], ("--order ''", "whole number")),
    (["gather-scatter", "--kershaw-eps", "0"], ("--kershaw-eps 0", "from 1e-6")),
    (["gather-scatter", "--kershaw-eps", "1e-300"], ("--kershaw-eps 1e-300", "from 1e-6")),
    (["gather-scatter", "--kershaw-eps", "-0.3"], ("--kershaw-eps -0.3", "from 1e-6")),
    (["gather-scatter", "--kershaw-eps", "1.01"], ("--kershaw-eps 1.01", "to 1,")),
    (["gather-scatter", "--kershaw-eps", "nan"], ("--kershaw-eps nan", "number")),
    (["gather-scatter", "--kershaw-eps", "little"], ("--kershaw-eps little", "number")),
    (["gather-scatter", "--fields", "2"], ("--fields 2", "1 or 3")),
    (["gather-scatter", "--fields", "0"], ("--fields 0", *NOT_A_SIZE)),
    (["gather-scatter", "--dtype", "c128"], ("--dtype c128", "f64 or f32")),
    (["gather-scatter", "--dtype", "f32", "--exchange-dtype", "f64"], ("--exchange-dtype f64", "as they are")),
    (["gather-scatter", "--exchange-dtype", "i32"], ("--exchange-dtype i32", "f32")),
    (["gather-scatter", "--exchange-dtype", "f16"], ("--exchange-dtype f16", "f64 or f32")),
    (["gather-scatter", "--combine", "divide"], ("--combine divide", "add", "multiply", "minimum", "maximum")),
    (["gather-scatter", "--mode", "pigeon"], ("--mode pigeon", "pairwise", "crystal-router", "all")),
    (["gather-scatter", "--labels", "none"], ("--labels none", "mesh", "random")),
    (["gather-scatter", "--nodes", "8"], ("--nodes 8", "--labels random")),
    (["gather-scatter", "--multiplicity", "8"], ("--multiplicity 8", "--labels random")),
    (["gather-scatter", "--labels", "random", "--multiplicity", "101"], ("--multiplicity 101", "at most 100")),
    (["gather-scatter", "--labels", "random", "--nodes", "1e9"], ("--nodes 1000000000", "free", "nodes fit")),
    (["gather-scatter", "--labels", "random", "--elements", "4"], ("--elements 4x4x4", "--nodes")),
    (["gather-scatter", "--labels", "random", "--overlap"], ("--overlap", "--labels random")),
    (["bp5", "--elements", "0"], ("--elements 0", *NOT_A_SIZE)),
    (["bp5", "--elements", "4,4"], ("--elements 4,4", "one number of elements for a cube", "or three")),
    (["bp5", "--elements", "100000"], ("--elements 100000x100000x100000", "of host memory", "is about --elements")),
    (["bp5", "--edge", "0"], ("--edge 0", *NOT_A_SIZE)),
    (["bp5", "--edge", "2000"], ("--edge 2000", "of host memory", "is about --edge")),
    (["bp5", "--edge", "4:2"], ("--edge 4:2", "2:4")),
    (["bp5", "--edge", "4", "--elements", "8"], ("--edge 4", "--elements", "one of the two")),
    (["bp5", "--order", "0"], ("--order 0", "1 to 15")),
    (["bp5", "--order", "16"], ("--order 16", "1 to 15")),
    (["bp5", "--order", "x"], ("--order x", "whole number")),
    (["bp5", "--kershaw-eps", "0"], ("--kershaw-eps 0", "from 1e-6")),
    (["bp5", "--kershaw-eps", "-1"], ("--kershaw-eps -1", "from 1e-6")),
    (["bp5", "--kershaw-eps", "1.5"], ("--kershaw-eps 1.5", "to 1,")),
    (["bp5", "--kershaw-eps", "nan"], ("--kershaw-eps nan", "number")),
    (["bp5", "--geometry", "round"], ("--geometry round", "trilinear", "stored")),
    (["bp5", "--storage", "heap"], ("--storage heap", "unique", "element")),
    (["bp5", "--solver", "gmres"], ("--solver gmres", "classical", "fused")),
    (["bp5", "--rhs", "zero"], ("--rhs zero", "nekrs", "manufactured")),
    (["bp5", "--iterations", "0"], ("--iterations 0", *NOT_A_SIZE)),
    (["bp5", "--iterations", "many"], ("--iterations many", *NOT_A_SIZE)),
    (["bp5", "--iterations", "1e15"], ("--iterations 1000000000000000", "free", "500")),
    (["bp5", "--tolerance", "-1"], ("--tolerance -1", "number from 0 to below 1")),
    (["bp5", "--tolerance", "1"], ("--tolerance 1", "number from 0 to below 1")),
    (["bp5", "--tolerance", "nan"], ("--tolerance nan", "number from 0 to below 1")),
    (["bp5", "--tolerance", ""], ("--tolerance ''", "number from 0 to below 1")),
    (["bp5", "--exchange-dtype", "i32"], ("--exchange-dtype i32", "f64 or f32")),
    (["bp5", "--exchange-dtype", "c64"], ("--exchange-dtype c64", "f64 or f32")),
    (["bp5", "--exchange-dtype", "f16"], ("--exchange-dtype f16", "f64", "f32")),
    (["bp5", "--mode", "nonsense"], ("--mode nonsense", "auto", "pairwise", "crystal-router")),
]


def shown(words: list[str]) -> str:
    return " ".join(words) or "nothing"


@pytest.fixture(scope="module")
def mistakes(submit: Callable[..., Jobs]) -> Jobs:
    return submit(alone, {shown(words): words for words, _ in MISTAKES})


@pytest.mark.parametrize(("name", "said"), [(shown(words), said) for words, said in MISTAKES])
def test_a_mistake_is_one_line_with_option_value_and_cure(name: str, said: tuple[str, ...], mistakes: Jobs) -> None:
    job = mistakes[name][0].result()
    assert job.status == USAGE, job
    for part in said:
        assert part in job.message, job
    assert job.output == "", "nothing was run, so nothing is shown"


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nosuch"], "'nosuch'"),
        (["allreduce", "--bytes", "8:4"], "--bytes 8:4"),
        (["allreduce", "--transport", "carrier"], "--transport carrier"),
        (["gather-scatter", "--elements", "1"], "--elements 1x1x1: fewer than the"),
    ],
    ids=["benchmark", "bytes", "transport", "elements"],
)
def test_one_rank_speaks_for_all(words: list[str], said: str, ranks: int, tmp_path: Path) -> None:
    job = native(tmp_path, ranks, *words)
    assert job.status == USAGE
    assert said in job.message


@on_host_build
@pytest.mark.parametrize(
    ("option", "memory"),
    [
        ("--memory", "device"),
        ("--memory", "managed"),
        ("--memory", "pinned"),
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


@pytest.mark.parametrize(
    ("benchmark", "ranks"),
    [("latency", 1), ("latency", 3), ("bandwidth", 1), ("bidirectional-bandwidth", 3), ("message-rate", 3)],
)
def test_ranks_that_make_no_pairs(benchmark: str, ranks: int, records: Path) -> None:
    job = native(records.parent, ranks, benchmark, "--record", records)
    assert job.status == USAGE
    assert f"--ranks {ranks}" in job.message
    assert "2 ranks" in job.message and "--ranks 2" in job.message
    assert not records.exists() or records.stat().st_size == 0


TOO_LARGE = [
    (["latency", "--bytes", "1T"], ("--bytes 1099511627776", "GiB are free")),
    (["latency", "--bytes", "8:1T"], ("--bytes 1099511627776", "GiB are free")),
    (["bandwidth", "--bytes", "1T", "--transport", "mpi"], ("--bytes 1099511627776", "GiB are free")),
    (["bandwidth", "--window", "1e15"], ("--window",)),
    (["allreduce", "--bytes", "1T"], ("--bytes 1099511627776", "GiB are free")),
    (["allreduce", "--count", "1T"], ("--count 1099511627776", "GiB are free")),
    # 2^60 elements of 16 bytes are 2^64 bytes, which is 0 if nobody looks.
    (["allreduce", "--count", "1152921504606846976", "--dtype", "c128"], ("--count 1152921504606846976",)),
    (["allreduce", "--count", "1152921504606846976", "--dtype", "f64"], ("--count 1152921504606846976",)),
]


@pytest.mark.parametrize(("words", "said"), TOO_LARGE, ids=[shown(words) for words, _ in TOO_LARGE])
def test_what_does_not_fit_is_refused_before_it_is_allocated(
    words: list[str], said: tuple[str, ...], tmp_path: Path
) -> None:
    job = native(tmp_path, 2, *words, *BRIEFLY)
    assert job.status == USAGE
    for part in said:
        assert part in job.message
    assert job.peak_bytes < 500e6
    assert job.seconds < 10


@pytest.mark.parametrize("benchmark", ["bandwidth", "bidirectional-bandwidth", "message-rate"])
def test_a_staged_window_that_does_not_fit_is_refused(benchmark: str, tmp_path: Path) -> None:
    """Two buffers and their stage on each of two ranks: eight times the size, however long the window is."""
    size = total_memory() // 7
    job = native(tmp_path, 2, benchmark, "--transport", "staged", "--bytes", size, *BRIEFLY)
    assert job.status == USAGE
    assert f"--bytes {size}" in job.message and "free" in job.message
    assert job.peak_bytes < 500e6


COMMAND_MISTAKES: list[tuple[list[str], tuple[str, ...]]] = [
    (["nosuch"], ("'nosuch'", *BENCHMARKS)),
    (["latency", "--transport", "carrier"], ("--transport carrier", *TRANSPORTS)),
    (["latency", "--memory", "tape"], ("--memory tape", "host", "device")),
    (["latency", "--bytes", "8:4"], ("--bytes 8:4", "4:8")),
    (["latency", "--bytes", "1T"], ("--bytes 1099511627776", "free")),
    (["latency", "--frobnicate", "3"], ("--frobnicate",)),
    (["latency", "--format", "xml"], ("--format xml", "table")),
    (["latency", "--repeat"], ("--repeat", "latency --help")),
    (["latency", "--record", ""], ("--record ''",)),
    (["latency", "--ranks", "1"], ("--ranks 1", "--ranks 2")),
    (["latency", "--ranks", "3"], ("--ranks 3", "--ranks 2")),
    (["latency", "--ranks", "0"], ("--ranks", "0")),
    (["latency", "--pairs", "999999999999"], ("--pairs",)),
]


@pytest.fixture(scope="module")
def command_mistakes(submit: Callable[..., Jobs]) -> Jobs:
    def run(records: Path, *words: object) -> Job:
        return through_command(records.parent, *words)

    return submit(run, {shown(words): words for words, _ in COMMAND_MISTAKES})


@pytest.mark.parametrize(("name", "said"), [(shown(words), said) for words, said in COMMAND_MISTAKES])
def test_the_command_hands_a_mistake_on_as_it_is(name: str, said: tuple[str, ...], command_mistakes: Jobs) -> None:
    future, records = command_mistakes[name]
    job = future.result()
    assert job.status == USAGE, job
    for part in said:
        assert part in job.message, job
    assert job.error.splitlines() == [job.message], "nothing of the launcher's is left in between"
    assert list(records.parent.rglob("*.jsonl")) == []


# ---- a transport that this build lacks ----


@on_host_build
def test_a_missing_transport_that_was_named(records: Path) -> None:
    job = native(records.parent, 2, "latency", "--transport", "ccl", "--bytes", "8:64", *BRIEFLY, "--record", records)
    assert job.status == NOTHING_RAN
    (record,) = records_in(records)
    assert record["status"] == "skipped" and record["transport"] == "ccl"
    assert "NCCL or RCCL" in record["reason"]
    assert record["reason"] in job.output
    assert record["reason"] in job.message, "the table may lie in a file: a non-zero status needs a line here"


@on_host_build
def test_a_missing_transport_that_was_named_beside_one_that_runs(records: Path) -> None:
    job = native(records.parent, 2, "latency", "--transport", "mpi,ccl", "--bytes", "8", *BRIEFLY, "--record", records)
    assert {record["transport"]: record["status"] for record in records_in(records)} == {"mpi": "ok", "ccl": "skipped"}
    assert job.status == NOTHING_RAN, "what was asked for by name and did not run is no success"


@on_host_build
def test_a_missing_transport_among_all(records: Path) -> None:
    job = native(records.parent, 2, "latency", "--transport", "all", "--bytes", "8:16", *BRIEFLY, "--record", records)
    assert job.status == OK
    assert job.messages == []
    found = [(record["transport"], record["status"]) for record in records_in(records)]
    assert found == [("mpi", "ok"), ("staged", "ok"), ("ccl", "skipped"), ("mpi", "ok"), ("staged", "ok")]


@on_host_build
def test_a_missing_transport_through_the_command(records: Path) -> None:
    job = through_command(records.parent, "latency", "--transport", "ccl", "--bytes", 8, *BRIEFLY, "--record", records)
    assert job.status == NOTHING_RAN
    (record,) = records_in(records)
    assert record["status"] == "skipped"
    assert record["reason"] in job.output
    assert record["reason"] in job.message


# ---- record files ----


@pytest.mark.parametrize(
    ("through", "kind"),
    [
        ("mpirun", "in a missing folder"),
        ("mpirun", "a folder"),
        ("mpirun", "under a file"),
        ("mpirun", "a name that is too long"),
        ("commlens", "in a missing folder"),
        ("commlens", "a folder"),
    ],
)
def test_a_record_file_that_cannot_be_written(through: str, kind: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    path = {
        "in a missing folder": tmp_path / "missing" / "records.jsonl",
        "a folder": tmp_path,
        "under a file": tmp_path / "file" / "records.jsonl",
        "a name that is too long": tmp_path / ("x" * 300),
    }[kind]
    words = ("latency", "--bytes", 8, *BRIEFLY, "--record", path)
    job = native(tmp_path, 2, *words) if through == "mpirun" else through_command(tmp_path, *words)
    assert job.status == USAGE
    assert f"--record {path}" in job.message
    reason = {"in a missing folder": "No such file or directory", "a folder": "Is a directory"}
    assert reason.get(kind, "") in job.message
    assert job.output == ""


@pytest.mark.parametrize("through", ["mpirun", "commlens"])
def test_a_full_disk(through: str, tmp_path: Path) -> None:
    words = ("latency", "--bytes", "8:64", *BRIEFLY, "--record", "/dev/full")
    job = native(tmp_path, 2, *words) if through == "mpirun" else through_command(tmp_path, *words)
    assert job.status == FAILED
    assert "/dev/full" in job.message and "No space left on device" in job.message


def test_a_disk_that_fills_within_a_record(records: Path) -> None:
    """The limit on the size of files stands for the disk. Open MPI's own files need room too, so it is far up."""
    limit, room = 256 << 20, 10_000
    with records.open("wb") as file:
        file.seek(limit - room - 1)
        file.write(b"\n")
    words = ("allreduce", "--transport", "mpi", "--bytes", "8:1K", *BRIEFLY, "--record", records)
    job = start(under_mpirun(2, *words), records.parent, AT_ONCE, file_limit=limit).wait(20)
    assert job.status == FAILED
    assert str(records) in job.message and "File too large" in job.message
    kept = records_in(records, after=limit - room)
    assert 1 <= len(kept) < 8
    assert [record["parameters"]["bytes"] for record in kept] == [8 << index for index in range(len(kept))]
    assert room / 2 < records.stat().st_size - (limit - room) < room, "there was room for a part of the next"

    again = native(records.parent, 2, *words)
    assert again.status == OK, "once there is room"
    assert len(records_in(records, after=limit - room)) == len(kept) + 8


def test_half_a_line_of_an_earlier_crash_stays_apart(records: Path) -> None:
    records.write_bytes(b'{"schema": 1, "ti')
    job = native(records.parent, 1, "allreduce", "--transport", "mpi", "--bytes", 8, *BRIEFLY, "--record", records)
    assert job.status == OK
    broken, whole = records.read_text().splitlines()
    assert broken == '{"schema": 1, "ti'
    assert valid_record(whole)["status"] == "ok"


# ---- ranks that go wrong ----


def fault(records: Path, name: str, *words: object, ranks: int = 2) -> Job:
    """A fault under mpirun, with all of the launcher's own patience."""
    over = () if "--transport" in words else ("--transport", "mpi")
    command = under_mpirun(ranks, name, *over, "--record", records, *words, program=FAULTS)
    return start(command, records.parent).wait(30)


def fault_through_command(records: Path, name: str, *words: object) -> Job:
    command = under_commlens(name, "--transport", "mpi", "--record", records, *words)
    return start(command, records.parent, {**AT_ONCE, "COMMLENS_BENCH": str(FAULTS)}).wait(30)


def foreign_lines(job: Job) -> list[str]:
    """What the launcher or the MPI library says."""
    return [line for line in job.error.splitlines() if not line.startswith(("commlens: ", "commlens progress: "))]


def assert_kept(records: Path) -> None:
    """The records of the sizes before the fault, and nothing of the fault."""
    assert [record["status"] for record in records_in(records)] == ["ok"] * SIZES_BEFORE


# Rank 2 of 2 is rank 0, which writes the records.
FAULT_RUNS: dict[str, tuple[object, ...]] = {
    "die on rank 1": ("die",),
    "die on rank 0": ("die", "--on-rank", 2),
    "crash on rank 1": ("crash",),
    "crash on rank 0": ("crash", "--on-rank", 2),
    "leave": ("leave",),
    "fail": ("fail",),
    "misaddress over mpi": ("misaddress",),
    "misaddress over staged": ("misaddress", "--transport", "staged"),
    "err": ("err",),
    "err, each": ("err", "--timing", "each"),
    "err, warmed up": ("err", "--warmup", 2),
    "err on rank 0": ("err", "--on-rank", 2),
    "stall on rank 1": ("stall", "--timeout", 1),
    "stall on rank 0": ("stall", "--timeout", 1, "--on-rank", 2),
    "stop on rank 1": ("stop", "--timeout", 1),
    "stop on rank 0": ("stop", "--timeout", 1, "--on-rank", 2),
    "stall-checking": ("stall-checking", "--timeout", 1),
    "stall the other way": ("stall-the-other-way", "--timeout", 1),
}


@pytest.fixture(scope="module")
def faults(submit: Callable[..., Jobs]) -> Jobs:
    return submit(fault, FAULT_RUNS)


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_that_is_killed(rank: int, faults: Jobs) -> None:
    """Nobody but the launcher can say it."""
    future, records = faults[f"die on rank {rank}"]
    job = future.result()
    assert job.status == 128 + signal.SIGKILL
    assert f"process rank {rank} " in job.error and "signal 9" in job.error
    assert [line.partition(" while ")[0] for line in job.messages] in ([], ["commlens: ended by SIGTERM"])
    assert_kept(records)


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_that_crashes(rank: int, faults: Jobs) -> None:
    future, records = faults[f"crash on rank {rank}"]
    job = future.result()
    assert job.status == 128 + signal.SIGSEGV
    assert f"rank {rank} crashed (SIGSEGV) while timing" in job.message
    assert "crash over mpi, bytes 16" in job.message
    assert_kept(records)


def test_a_rank_that_leaves(faults: Jobs) -> None:
    future, records = faults["leave"]
    job = future.result()
    assert job.status == FAILED
    assert "process rank 1 " in job.error
    assert_kept(records)


def test_a_call_that_fails(faults: Jobs) -> None:
    future, records = faults["fail"]
    job = future.result()
    assert job.status == FAILED
    assert "rank 1 (" in job.message and "MPI_Imaginary: no such thing" in job.message
    assert_kept(records)


@pytest.mark.parametrize("transport", ["mpi", "staged"])
def test_an_mpi_call_that_fails(transport: str, faults: Jobs) -> None:
    future, records = faults[f"misaddress over {transport}"]
    job = future.result()
    assert job.status == FAILED
    assert "rank 1 (" in job.message and "MPI_Send: " in job.message and "rank" in job.message.split("MPI_Send: ")[1]
    assert_kept(records)


def test_all_ranks_fail_and_one_speaks(records: Path) -> None:
    job = fault(records, "spill", ranks=4)
    assert job.status == FAILED
    assert "footprint" in job.message
    assert records_in(records) == []


@pytest.mark.parametrize("name", ["err", "err, each", "err, warmed up", "err on rank 0"])
def test_a_wrong_result(name: str, faults: Jobs) -> None:
    future, records = faults[name]
    job = future.result()
    assert job.status == FAILED
    found = records_in(records)
    assert [record["status"] for record in found] == ["ok", "ok", "failed", "ok", "ok"]
    wrong = found[SIZES_BEFORE]
    rank = 0 if name.endswith("rank 0") else 1
    assert wrong["validation"]["status"] == "failed"
    assert f"rank {rank}, " in wrong["reason"] and "byte 3 of 16 is 7, must be 8" in wrong["reason"]
    assert job.output.count(wrong["reason"]) == 1
    assert wrong["reason"] in job.message, "the table may lie in a file: a non-zero status needs a line here"


def test_a_wrong_result_that_nobody_looks_for(records: Path) -> None:
    assert fault(records, "err", "--no-validate").status == OK
    assert {record["validation"]["status"] for record in records_in(records)} == {"off"}


@pytest.mark.parametrize("name", ["stall", "stop"])
@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_that_stalls_or_is_stopped(name: str, rank: int, faults: Jobs) -> None:
    future, records = faults[f"{name} on rank {rank}"]
    job = future.result()
    assert job.status == STALLED
    assert "for 1 s" in job.message and "--timeout" in job.message
    where = f"timing (batch 1) {name} over mpi, bytes 16"
    assert f"rank {1 - rank} was {where}, host memory, in MPI_Barrier" in job.message
    assert f"rank {rank} was {where}, host memory" in job.message
    assert job.message.count("MPI_Barrier") == 1, "the rank that stalls is not in MPI"
    assert job.seconds < 10
    assert_kept(records)


def test_the_variant_is_named_in_which_a_rank_stalls(faults: Jobs) -> None:
    future, _ = faults["stall the other way"]
    job = future.result()
    assert job.status == STALLED
    assert "timing (batch 1) stall-the-other-way over mpi, bytes 16, way other, host memory" in job.message


def test_a_rank_that_stalls_while_it_checks_its_results(faults: Jobs) -> None:
    future, records = faults["stall-checking"]
    job = future.result()
    assert job.status == STALLED
    assert_kept(records)
    assert job.message.count("waiting for the other ranks") == 1
    assert job.message.endswith("in comparing the results"), "rank 1 is the one that the others wait for"


def test_the_watchdog_leaves_a_slow_run_alone(records: Path) -> None:
    """A batch is longer than the patience with a stalled run, but its operations are counted."""
    words = ("latency", "--transport", "mpi", "--bytes", 8, "--repeat", 1_000_000, "--batches", 1, "--timeout", 0.3)
    job = native(records.parent, 2, *words, "--record", records, limit_s=60)
    assert job.status == OK, job
    assert job.messages == []
    assert records_in(records)[0]["samples"]["values_s"][0] * 1_000_000 > 0.3


COMMAND_FAULTS = {
    "die": (FAILED, "rank 1 died (signal 9"),
    "crash": (FAILED, "rank 1 crashed (SIGSEGV)"),
    "leave": (FAILED, "rank 1"),
    "fail": (FAILED, "MPI_Imaginary: no such thing"),
    "stall": (STALLED, "in MPI_Barrier; rank 1 was timing"),
    "stop": (STALLED, "in MPI_Barrier; rank 1 was timing"),
}


@pytest.fixture(scope="module")
def command_faults(submit: Callable[..., Jobs]) -> Jobs:
    return submit(fault_through_command, {name: (name, "--timeout", 1) for name in [*COMMAND_FAULTS, "err"]})


@pytest.mark.parametrize("name", COMMAND_FAULTS)
def test_the_command_explains_a_rank_that_goes_wrong(name: str, command_faults: Jobs) -> None:
    future, records = command_faults[name]
    job = future.result()
    status, said = COMMAND_FAULTS[name]
    assert job.status == status
    assert said in job.message
    assert_kept(records)
    assert foreign_lines(job) == [], "the launcher's pages are held back"


def test_the_command_tells_of_a_wrong_result(command_faults: Jobs) -> None:
    future, records = command_faults["err"]
    job = future.result()
    assert job.status == FAILED
    wrong = [record for record in records_in(records) if record["status"] == "failed"]
    assert len(wrong) == 1
    assert wrong[0]["reason"] in job.output
    assert wrong[0]["reason"] in job.message


# ---- real results that are spoiled on their way ----

SPOILER = r"""
#include <mpi.h>
#include <stdlib.h>
/* Spoils byte AT of what rank RANK receives from the program's buffers, which are longer than 64 bytes. */
static unsigned char* last; static int last_bytes;
static int due(void) {
  int rank; PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank == atoi(getenv("SPOIL_RANK"));
}
static void spoil(void* data, int bytes) { if (bytes > 64 && due()) ((unsigned char*)data)[40] ^= 1; }
int MPI_Recv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status) {
  int size, result = PMPI_Recv(data, count, type, from, tag, comm, status);
  PMPI_Type_size(type, &size); spoil(data, count * size); return result;
}
int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request) {
  int size; PMPI_Type_size(type, &size); last = data; last_bytes = count * size;
  return PMPI_Irecv(data, count, type, from, tag, comm, request);
}
int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  int result = PMPI_Waitall(count, requests, statuses);
  if (last) spoil(last, last_bytes);
  last = 0; return result;
}
int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  int size, result = PMPI_Allreduce(in, out, count, type, op, comm);
  PMPI_Type_size(type, &size); if (op == MPI_SUM) spoil(out, count * size); return result;
}
"""


@pytest.fixture(scope="module")
def spoiler(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("spoiler")
    (folder / "spoiler.c").write_text(SPOILER)
    library = folder / "spoiler.so"
    try:
        subprocess.run(["mpicc", "-shared", "-fPIC", "-o", library, folder / "spoiler.c"], check=True, timeout=60)
    except OSError:
        pytest.skip("there is no mpicc with which the library that spoils messages could be built")
    return library


@pytest.mark.parametrize("benchmark", OF_SIZES)
@pytest.mark.parametrize("transport", ["mpi", "staged"])
def test_one_wrong_bit_is_found(benchmark: str, transport: str, spoiler: Path, records: Path) -> None:
    words = ("--transport", transport, "--bytes", "64,1000", *BRIEFLY, "--memory", "host", "--format", "osu")
    environment = {**AT_ONCE, "LD_PRELOAD": str(spoiler), "SPOIL_RANK": "1"}
    job = start(under_mpirun(2, benchmark, *words, "--record", records), records.parent, environment).wait(20)
    assert job.status == FAILED
    good, bad = records_in(records)
    assert good["status"] == "ok" and bad["status"] == "failed"
    element = "element 5 of 125 is " if benchmark == "allreduce" else "byte 40 of 1000 is "
    assert f"rank 1, after 2 operations: {element}" in bad["reason"] and ", must be " in bad["reason"]
    assert job.output.count(bad["reason"]) == 1
    figures = [line.split() for line in job.output.splitlines() if line and not line.startswith("#")]
    assert [size for size, *_ in figures] == ["64"], "no figure of a wrong result passes for one of a right result"


# ---- interruptions ----


def interrupted(records: Path, through: str, number: int, name: str) -> Job:
    """A rank stalls or is stopped for good; then the launcher, or the command, is sent a signal."""
    words = (name, "--transport", "mpi", "--timeout", 0, "--record", records)
    command = under_mpirun(2, *words, program=FAULTS) if through == "mpirun" else under_commlens(*words)
    running = start(command, records.parent, {"COMMLENS_BENCH": str(FAULTS)})
    running.until(records, lines=SIZES_BEFORE)
    running.signal(number)
    return running.wait(30)


INTERRUPTIONS: dict[str, tuple[str, signal.Signals, str]] = {
    f"{number.name} to {through} of a rank in {name}": (through, number, name)
    for through, number, name in (
        ("mpirun", signal.SIGINT, "stall"),
        ("mpirun", signal.SIGINT, "stop"),
        ("mpirun", signal.SIGTERM, "stall"),
        ("commlens", signal.SIGINT, "stall"),
        ("commlens", signal.SIGINT, "stop"),
        ("commlens", signal.SIGTERM, "stall"),
        ("commlens", signal.SIGHUP, "stall"),
    )
}


@pytest.fixture(scope="module")
def interruptions(submit: Callable[..., Jobs]) -> Jobs:
    return submit(interrupted, INTERRUPTIONS)


@pytest.mark.parametrize("name", INTERRUPTIONS)
def test_an_interruption(name: str, interruptions: Jobs) -> None:
    future, records = interruptions[name]
    job = future.result()
    through, number, _ = INTERRUPTIONS[name]
    assert_kept(records)
    assert job.seconds < 15
    if through == "mpirun":
        assert job.status not in (OK, STALLED)
        assert "timing" in job.message, "one rank says what was interrupted"
    else:
        assert job.status == 128 + number
        said = [line for line in job.messages if f"interrupted by {number.name}" in line]
        assert len(said) == 1 and f"2 records kept in {records}" in said[0]
        assert foreign_lines(job) == []


# ---- the standard output ----


@pytest.mark.parametrize(
    ("through", "output_format"), [("mpirun", "table"), ("mpirun", "json"), ("commlens", "table"), ("commlens", "json")]
)
def test_a_reader_that_leaves(through: str, output_format: str, records: Path) -> None:
    """As with `| head -1`. The launcher may end the job for it, or let it run to its end unread."""
    words = ("latency", "--transport", "mpi", "--bytes", "1:256K", "--format", output_format, "--record", records)
    command = under_mpirun(2, *words) if through == "mpirun" else under_commlens(*words)
    line = "set -o pipefail; " + " ".join(f"'{word}'" for word in command) + " | head -1"
    job = start(["bash", "-c", line], records.parent, {"COMMLENS_BENCH": str(BENCH)}).wait(40)
    assert len(job.output.splitlines()) == 1
    assert records_in(records) == [] or {record["status"] for record in records_in(records)} == {"ok"}
    if through == "commlens":
        assert "Traceback" not in job.error


def test_a_standard_output_that_is_full(records: Path) -> None:
    """Started by itself, the program sees it; the records are kept."""
    command = f"'{BENCH}' allreduce --transport mpi --bytes 8:64 --repeat 2 --record '{records}' > /dev/full"
    job = start(["bash", "-c", command], records.parent).wait(20)
    assert job.status == FAILED
    assert "standard output" in job.message
    assert len(records_in(records)) == 4


# ---- what needs neither a launcher nor MPI ----


@pytest.mark.parametrize(
    "words",
    [(), ("--help",), ("-h",), ("--list",), ("--list", "--format", "json"), ("--about",), ("--version",)]
    + [(benchmark, "--help") for benchmark in BENCHMARKS],
    ids=lambda words: " ".join(words) or "nothing",
)
def test_what_works_without_mpi(words: tuple[str, ...], tmp_path: Path) -> None:
    no_mpi = {"PATH": "/nonexistent", "OMPI_MCA_pml": "nonexistent", "OMPI_MCA_ess": "nonexistent"}
    job = start([str(BENCH), *words], tmp_path, no_mpi).wait(10)
    assert job.status == OK
    assert job.error == ""
    assert job.output
    if "--help" in words and len(words) == 2:
        for option in (
            f"--{SIZED_BY[words[0]]}",
            "--transport",
            "--memory",
            "--repeat",
            "--timeout",
            "--record",
            "--format",
        ):
            assert option in job.output


def test_the_list_for_programs(tmp_path: Path) -> None:
    listed = json.loads(start([str(BENCH), "--list", "--format", "json"], tmp_path).wait(10).output)
    assert [entry["name"] for entry in listed] == list(BENCHMARKS)
    for entry in listed:
        assert SIZED_BY[entry["name"]] in [option["name"] for option in entry["options"]]


def test_what_the_build_has(tmp_path: Path) -> None:
    about = json.loads(start([str(BENCH), "--about"], tmp_path).wait(10).output)
    assert about["transports"] == list(TRANSPORTS)
    assert about["formats"] == ["table", "json", "osu", "dftfe"]
    assert about["backend"] in ("host", "cuda", "hip")
    assert about["mpi"]


# ---- large messages ----


SLOW = bool(os.environ.get("COMMLENS_SLOW_TESTS"))  # at import: the fake world of conftest.py has no variable of ours


@pytest.fixture
def much_memory() -> None:
    if not SLOW:
        pytest.skip("takes a minute and 11 GB: set COMMLENS_SLOW_TESTS=1")
    if available_memory() < 14 << 30:
        pytest.skip(f"needs 14 GiB of memory, {available_memory() / (1 << 30):.1f} are available")


ONCE = ("--repeat", 1, "--warmup", 0, "--batches", 1)

LARGE = [
    (2, ("latency", "--bytes", 2147483653), 2147483653),
    (2, ("bandwidth", "--bytes", 2147483653, "--window", 1), 2147483653),
    (2, ("bidirectional-bandwidth", "--bytes", 2147483653, "--window", 1), 2147483653),
    (1, ("allreduce", "--dtype", "i32", "--count", 2147483659), 4 * 2147483659),
    (2, ("allreduce", "--dtype", "i32", "--bytes", 4294967308), 4294967308),
]


@pytest.mark.slow
@pytest.mark.usefixtures("much_memory")
@pytest.mark.parametrize(("ranks", "words", "size"), LARGE, ids=lambda value: str(value))
def test_slow_more_than_2_31(ranks: int, words: tuple[object, ...], size: int, records: Path) -> None:
    options = ("--transport", "mpi", "--memory", "host", *ONCE, "--record", records)
    job = native(records.parent, ranks, *words, *options, limit_s=300)
    assert job.status == OK, job
    (record,) = records_in(records)
    assert record["status"] == "ok" and record["validation"]["status"] == "passed"
    assert record["parameters"]["bytes"] == size
    assert record["validation"]["elements"] >= size // 4
