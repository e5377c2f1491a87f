"""One-sided operations on memory of another rank: every synchronization and every way to make a
window, ranks without a partner, what is printed, and libraries that do them wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from native_helpers import (
    AT_ONCE,
    BRIEFLY,
    FAILED,
    NOTHING_RAN,
    ONE_SIDED,
    measured,
    native,
    needs_native,
    preloaded,
    records_in,
    start,
    under_mpirun,
)

pytestmark = needs_native

# Each with ranks: 3 leave one without a partner, 4 are two pairs.
WAYS = [
    ("flush", "allocate", 2),
    ("flush-local", "create", 3),
    ("lock", "dynamic", 4),
    ("lock-all", "allocate", 3),
    ("fence", "create", 4),
    ("pscw", "dynamic", 3),
    ("fence", "allocate", 2),
    ("pscw", "allocate", 4),
]
ACTIVE = ("fence", "pscw")
OF_ONE_ELEMENT = ("fetch-and-op-latency", "compare-and-swap-latency")
OPTIONS = "--transport mpi --memory host --repeat 3 --warmup 2 --batches 2 --no-ceilings"
CALLS = {
    "put-latency": "MPI_Put",
    "get-latency": "MPI_Get",
    "accumulate-latency": "MPI_Accumulate",
    "get-accumulate-latency": "MPI_Get_accumulate",
    "fetch-and-op-latency": "MPI_Fetch_and_op",
    "compare-and-swap-latency": "MPI_Compare_and_swap",
    "put-bandwidth": "MPI_Put",
    "get-bandwidth": "MPI_Get",
    "put-bidirectional-bandwidth": "MPI_Put",
}


def test_these_are_the_one_sided_benchmarks() -> None:
    assert sorted(CALLS) == ONE_SIDED


def sizes(benchmark: str, text: str) -> str:
    return "--no-parts" if benchmark in OF_ONE_ELEMENT else f"--bytes {text}"


@pytest.mark.parametrize(
    ("benchmark", "way"),
    [(name, way) for name in CALLS for way in range(len(WAYS)) if name == "put-latency"]
    + [
        (name, way)
        for place, name in enumerate(CALLS)
        for way in (place % 4, 4 + place % 4)
        if name != "put-latency" and (WAYS[way][0] in ACTIVE or "bidirectional" not in name)
    ],
)
def test_every_byte_and_every_sum_is_right(benchmark: str, way: int, tmp_path: Path) -> None:
    synchronization, creation, ranks = WAYS[way]
    records = measured(
        tmp_path,
        ranks,
        benchmark,
        sizes(benchmark, "1,3,4099"),
        OPTIONS,
        f"--synchronization {synchronization} --window-creation {creation}",
        "--pairs-across node --pairs 1" if ranks == 3 else f"--pairs {ranks // 2}",
    )
    assert len(records) == (1 if benchmark in OF_ONE_ELEMENT else 3)
    for record in records:
        assert record.validation.status == "passed" and record.validation.elements > 0
        assert record.facts["window_creation"] == creation
        both = synchronization in ACTIVE and "bandwidth" not in benchmark
        assert ("round trip" in record.samples.operation) == both
        windows = 64 if "bandwidth" in benchmark else 1
        both = both or "bidirectional" in benchmark
        of_pairs = 2 * (ranks // 2) if both else ranks // 2
        assert record.calls[CALLS[benchmark]] == pytest.approx(windows * of_pairs / ranks)


@pytest.mark.parametrize("dtype", ["u8", "i32", "i64", "f32", "f64"])
@pytest.mark.parametrize("benchmark", ["accumulate-latency", "get-accumulate-latency"])
def test_sums_are_exact_in_every_type(benchmark: str, dtype: str, tmp_path: Path) -> None:
    words = f"--bytes 8,4096 --dtype {dtype} --transport mpi,peer --memory host --batches 2"
    records = measured(tmp_path, 2, benchmark, words, "--repeat 500 --no-ceilings")
    assert [record.transport for record in records] == ["mpi", "peer"] * 2
    for record in records:
        assert record.validation.status == "passed" and record.validation.exact


def test_staged_says_why_it_skips(tmp_path: Path) -> None:
    words = "put-latency --bytes 8 --memory host --transport staged --record records.jsonl"
    assert native(tmp_path, 2, words).status == NOTHING_RAN
    (record,) = records_in(tmp_path / "records.jsonl")
    assert record.reason == "staged has no one-sided operations: use --transport mpi or peer"


PEER = "--transport peer --memory host --repeat 3 --warmup 2 --batches 2 --no-ceilings"


@pytest.mark.parametrize("benchmark", CALLS)
def test_loads_and_stores_are_right(benchmark: str, tmp_path: Path) -> None:
    place = list(CALLS).index(benchmark)
    for synchronization, creation, ranks in (WAYS[place % 4], WAYS[4 + place % 4]):
        if synchronization not in ACTIVE and "bidirectional" in benchmark:
            continue
        records = measured(
            tmp_path,
            ranks,
            benchmark,
            sizes(benchmark, "1,3,4099"),
            PEER,
            f"--synchronization {synchronization}",
            f"--window-creation {'create' if creation == 'dynamic' else creation}",
            "--pairs-across node --pairs 1" if ranks == 3 else f"--pairs {ranks // 2}",
        )
        assert len(records) == (1 if benchmark in OF_ONE_ELEMENT else 3)
        for record in records:
            assert record.validation.status == "passed" and record.validation.elements > 0
            assert record.facts["window_creation"] in ("allocate", "create")


def test_loads_and_stores_need_memory_from_the_beginning(tmp_path: Path) -> None:
    words = "put-latency --bytes 8 --record records.jsonl --window-creation dynamic"
    assert native(tmp_path, 2, words, PEER).status == NOTHING_RAN
    (record,) = records_in(tmp_path / "records.jsonl")
    assert record.reason == (
        "--window-creation dynamic: peer has no such windows of host memory; "
        "write allocate or create"
    )


@pytest.mark.parametrize("benchmark", ["put-latency", "get-bandwidth", "fetch-and-op-latency"])
def test_the_layout_of_osu(benchmark: str, tmp_path: Path) -> None:
    job = native(
        tmp_path, 2, benchmark, OPTIONS, sizes(benchmark, "8:32"), "--format osu --pairs 1"
    )
    lines = job.output.splitlines()
    title = {"put-latency": "Latency", "get-bandwidth": "Bandwidth"}.get(benchmark, "latency")
    assert lines[1] == f"# OSU {CALLS[benchmark]} {title} Test v7.4"
    assert "# Window creation: MPI_Win_allocate" in lines
    assert "# Synchronization: MPI_Win_flush" in lines
    rows = [line.split() for line in lines if line and line[0] != "#"]
    assert [row[0] for row in rows] == (["4"] if benchmark in OF_ONE_ELEMENT else ["8", "16", "32"])


# Does each operation wrong in its way: leaves out a byte, adds twice, fetches without adding, swaps
# whatever is there.
WRONG = r"""
#include <mpi.h>
int MPI_Put(const void* from, int n, MPI_Datatype a, int to, MPI_Aint at, int m, MPI_Datatype b,
            MPI_Win win) {
  if (n < 64) return PMPI_Put(from, n, a, to, at, m, b, win);
  PMPI_Put(from, 40, a, to, at, 40, b, win);
  return PMPI_Put((const char*)from + 41, n - 41, a, to, at + 41, n - 41, b, win);
}
int MPI_Get(void* data, int n, MPI_Datatype a, int from, MPI_Aint at, int m, MPI_Datatype b,
            MPI_Win win) {
  if (n < 64) return PMPI_Get(data, n, a, from, at, m, b, win);
  PMPI_Get(data, 40, a, from, at, 40, b, win);
  return PMPI_Get((char*)data + 41, n - 41, a, from, at + 41, n - 41, b, win);
}
int MPI_Accumulate(const void* from, int n, MPI_Datatype a, int to, MPI_Aint at, int m,
                   MPI_Datatype b, MPI_Op op, MPI_Win win) {
  PMPI_Accumulate(from, n, a, to, at, m, b, op, win);
  return PMPI_Accumulate(from, n, a, to, at, m, b, op, win);
}
int MPI_Get_accumulate(const void* from, int n, MPI_Datatype a, void* before, int k, MPI_Datatype c,
                       int to, MPI_Aint at, int m, MPI_Datatype b, MPI_Op op, MPI_Win win) {
  return PMPI_Get_accumulate(from, n, a, before, k, c, to, at, m, b, MPI_NO_OP, win);
}
int MPI_Fetch_and_op(const void* value, void* before, MPI_Datatype type, int to, MPI_Aint at,
                     MPI_Op op, MPI_Win win) {
  return PMPI_Fetch_and_op(value, before, type, to, at, MPI_NO_OP, win);
}
int MPI_Compare_and_swap(const void* value, const void* expected, void* before, MPI_Datatype type,
                         int to, MPI_Aint at, MPI_Win win) {
  return PMPI_Fetch_and_op(value, before, type, to, at, MPI_REPLACE, win);
}
"""
FOUND = {
    "put": "rank 1, after 5 operations: byte 40 of ",
    "get": "rank 0, after 5 operations: byte 40 of ",
    "accumulate": "rank 1, after 5 operations: element ",
    "get-accumulate": "rank 0, after 5 operations: element ",
    "fetch-and-op": "rank 0, after 5 operations: element 1 of 5 that were fetched is ",
    "compare-and-swap": "rank 0, after 5 operations: element 2 of 5 that were fetched is ",
    "put-bidirectional": "rank 0, after 5 operations: byte 40 of ",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return preloaded(tmp_path_factory.mktemp("preloaded"), WRONG)


@pytest.mark.parametrize("benchmark", CALLS)
def test_a_wrong_library_is_found(benchmark: str, library: Path, tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    words = ("--repeat 5 --warmup 0 --batches 1 --no-ceilings --memory host --transport mpi",)
    command = under_mpirun(2, benchmark, sizes(benchmark, "1000"), *words, "--record", records)
    job = start(command, tmp_path, {**AT_ONCE, "LD_PRELOAD": str(library)}).wait()
    assert job.status == FAILED, job
    (record,) = records_in(records)
    found = FOUND[benchmark.removesuffix("-latency").removesuffix("-bandwidth")]
    assert found in record.reason and ", must be " in record.reason


# ---- start-up ----


def test_init_is_the_time_of_mpi_init(tmp_path: Path) -> None:
    (record,) = measured(tmp_path, 3, "init --transport mpi --memory host")
    assert record.main is not None and record.samples.operation == "MPI_Init_thread"
    slowest = record.statistics["init_ms"].median
    least, mean = (float(str(record.facts[f"{name}_init_ms"])) for name in ("least", "mean"))
    assert 0 < least <= mean <= slowest * (1 + 1e-9)
    assert (record.harness.timing, record.harness.repeat) == ("each", 1)
    assert len(record.samples.values_s) == 1


@pytest.mark.parametrize("ranks", [1, 3])
def test_communicators_are_made_and_count_their_ranks(ranks: int, tmp_path: Path) -> None:
    words = "communicator-creation --transport mpi,staged,peer --memory host"
    records = measured(tmp_path, ranks, words, *BRIEFLY)
    assert [(record.transport, record.parameters["by"]) for record in records] == [
        (transport, by) for transport in ("mpi", "staged", "peer") for by in ("dup", "split")
    ]
    for record in records:
        assert record.validation.status == "passed"
        assert record.calls[f"MPI_Comm_{record.parameters['by']}"] >= 1
