"""Results that are corrupted on their way between the real programs: one wrong bit is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from native_helpers import (
    AT_ONCE,
    BRIEFLY,
    FAILED,
    needs_native,
    preloaded,
    records_in,
    start,
    under_mpirun,
)

pytestmark = needs_native

# Those that receive by the functions below.
CORRUPTED = ("allreduce", "bandwidth", "bidirectional-bandwidth", "latency", "message-rate")
# Changes a bit of what rank RANK receives into the program's buffers, which are longer than 64
# bytes.
CORRUPTION = r"""
#include <mpi.h>
#include <stdlib.h>
static unsigned char* last; static int last_bytes;
static int due(void) {
  int rank; PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank == atoi(getenv("CORRUPTED_RANK"));
}
static void corrupt(void* data, int bytes) {
  if (bytes > 64 && due()) ((unsigned char*)data)[40] ^= 1;
}
int MPI_Recv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
             MPI_Status* status) {
  int size, result = PMPI_Recv(data, count, type, from, tag, comm, status);
  PMPI_Type_size(type, &size); corrupt(data, count * size); return result;
}
int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request* request) {
  int size; PMPI_Type_size(type, &size); last = data; last_bytes = count * size;
  return PMPI_Irecv(data, count, type, from, tag, comm, request);
}
int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  int result = PMPI_Waitall(count, requests, statuses);
  if (last) corrupt(last, last_bytes);
  last = 0; return result;
}
int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  int size, result = PMPI_Allreduce(in, out, count, type, op, comm);
  PMPI_Type_size(type, &size); if (op == MPI_SUM) corrupt(out, count * size); return result;
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return preloaded(tmp_path_factory.mktemp("preloaded"), CORRUPTION)


@pytest.mark.parametrize("benchmark", CORRUPTED)
@pytest.mark.parametrize("transport", ["mpi", "staged"])
def test_one_wrong_bit_is_detected(
    benchmark: str, transport: str, library: Path, records: Path
) -> None:
    options = f"--transport {transport} --bytes 64,1000 --memory host --format osu"
    command = under_mpirun(2, benchmark, options, *BRIEFLY, "--record", records)
    environment = {**AT_ONCE, "LD_PRELOAD": str(library), "CORRUPTED_RANK": "1"}
    job = start(command, records.parent, environment).wait()
    assert job.status == FAILED
    good, bad = records_in(records)
    assert good.status == "ok" and bad.status == "failed"
    element = "element 5 of 125 is " if benchmark == "allreduce" else "byte 40 of 1000 is "
    assert f"rank 1, after 2 operations: {element}" in bad.reason
    assert ", must be " in bad.reason
    assert job.table.count(bad.reason) == 1
    rows = [line.split() for line in job.output.splitlines() if line and not line.startswith("#")]
    assert [size for size, *_ in rows] == ["64"], "no wrong result passes for a right one"


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        ("latency --layout vector", "the gap at byte 40 of 2000 is "),
        ("bandwidth --layout vector --packing application", "byte 80 of 2000 is "),
        ("threaded-latency", "thread "),
        ("fan-bandwidth --fan out", "from rank 0: byte 40 of 1000 is "),
    ],
)
def test_one_wrong_bit_of_other_messages_is_detected(
    words: str, wrong: str, library: Path, records: Path
) -> None:
    options = "--transport mpi --bytes 1000 --memory host --no-ceilings"
    once = "--repeat 1 --warmup 0 --batches 1"  # the second time a gap would be as before
    command = under_mpirun(2, words, options, once, "--record", records)
    environment = {**AT_ONCE, "LD_PRELOAD": str(library), "CORRUPTED_RANK": "1"}
    assert start(command, records.parent, environment).wait().status == FAILED
    (record,) = records_in(records)
    assert record.status == "failed" and f"operation: {wrong}" in record.reason


@pytest.mark.parametrize("benchmark", ["latency", "bandwidth"])
def test_one_wrong_bit_of_a_pair_that_is_not_the_slowest_is_detected(
    benchmark: str, library: Path, records: Path
) -> None:
    command = under_mpirun(
        3, benchmark, "--matrix --transport mpi --bytes 1000", *BRIEFLY, "--record", records
    )
    for rank in range(3):
        environment = {**AT_ONCE, "LD_PRELOAD": str(library), "CORRUPTED_RANK": str(rank)}
        records.unlink(missing_ok=True)
        assert start(command, records.parent, environment).wait().status == FAILED
        (record,) = records_in(records)
        assert record.status == "failed" and f"wrong result: rank {rank}" in record.reason
        assert "byte 40 of 1000 is " in record.reason
