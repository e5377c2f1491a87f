"""The overlap matrix with the real programs: its default, its notes, its records, its trace."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from native_helpers import AT_ONCE, BENCH, ROOT, Job, needs_native, records_in, start, under_commlens, under_mpirun

pytestmark = needs_native

EXAMPLES = ROOT / "build" / "host" / "tests" / "examples" / "commlens-bench-examples"
WRONG = ROOT / "build" / "host" / "tests" / "benchmarks" / "commlens-bench-wrong"
SMALL = ("--dofs", 1009, "--vectors", 53, "--block", 8)


def xtx(folder: Path, ranks: int, *words: object, program: Path = BENCH) -> Job:
    return start(under_mpirun(ranks, "xtx", *words, program=program), folder, AT_ONCE).wait(60)


def test_the_default_needs_no_option_and_says_what_it_chose(tmp_path: Path) -> None:
    environment = {**AT_ONCE, "COMMLENS_BENCH": str(BENCH), "OPENBLAS_CORETYPE": "HASWELL"}
    command = under_commlens("xtx", "--ranks", "2", "--memory", "host", "--batches", "1", "--out", str(tmp_path))
    job = start(command, tmp_path, environment).wait(120)
    assert job.status == 0, job
    note = re.search(r"# note: .*--dofs 16194277 --vectors 36600.*: --dofs (\d+) --vectors (\d+)", job.output)
    assert note, job
    rows, columns = map(int, note.groups())
    assert rows * columns * 8 <= 2 * 64 * 2**20, "64 MiB a rank"
    assert rows / columns == pytest.approx(16194277 / 36600, rel=0.02), "the published shape"


def test_what_is_given_stays(tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    job = xtx(tmp_path, 2, "--vectors", 40, "--dofs", 500, "--batches", 1, "--no-ceilings", "--record", records)
    assert job.status == 0, job
    assert "# note" not in job.output
    first = records_in(records)[0]
    assert (first["parameters"]["vectors"], first["parameters"]["dofs"], first["parameters"]["block"]) == (40, 500, 4)
    job = xtx(tmp_path, 2, "--vectors", 400, "--batches", 1, "--no-ceilings", "--repeat", 1, "--warmup", 0)
    assert "--vectors 400" in job.output, job


def test_a_record_has_parts_a_timeline_and_ceilings(tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    job = xtx(tmp_path, 3, *SMALL, "--batches", 2, "--transport", "mpi,staged", "--record", records)
    assert job.status == 0, job
    for record in records_in(records):
        assert [part["name"] for part in record["parts"]] == ["multiplications", "reductions", "copies"]
        assert all(len(part["samples"]["values_s"]) == 2 for part in record["parts"])
        spans = record["timeline"]["spans"]
        blocks = 7
        assert len(spans) == 3 * blocks * 3, "a span a block, a part and a rank"
        for rank in range(3):
            for part in ("multiplications", "reductions", "copies"):
                own = [span for span in spans if (span["rank"], span["part"]) == (rank, part)]
                assert [span["step"] for span in own] == list(range(blocks))
                assert all(span["start_us"] <= span["end_us"] for span in own)
                assert all(one["end_us"] <= two["start_us"] for one, two in pairwise(own))
        of_rank = [span for span in spans if span["rank"] == 0]
        for block in range(blocks):
            times = {span["part"]: span for span in of_rank if span["step"] == block}
            assert times["multiplications"]["end_us"] <= times["reductions"]["start_us"], "a block is reduced when done"
            assert times["reductions"]["end_us"] <= times["copies"]["start_us"]
        names = [ceiling["name"] for ceiling in record["ceilings"]]
        assert names[:3] == ["square GEMM", "block GEMM", "copy to host"]
        assert all(ceiling["fraction"] > 0 for ceiling in record["ceilings"])
        ideal = max(
            sum(p["statistics"]["time_us"]["median"] for p in record["parts"] if p["stream"] == stream)
            for stream in ("compute", "communication")
        )
        efficiency = record["statistics"]["overlap_efficiency"]["median"]
        times_us = [value * 1e6 for value in record["samples"]["values_s"]]
        assert efficiency == pytest.approx((ideal / times_us[0] + ideal / times_us[1]) / 2)


@pytest.mark.skipif(not WRONG.is_file(), reason="it is built with the host backend only")
def test_products_go_ahead_of_reductions_that_block(tmp_path: Path) -> None:
    """The next block is multiplied while a transport has the host: on the host in another thread."""
    records = tmp_path / "records.jsonl"
    words = (*SMALL, "--batches", 1, "--warmup", 0, "--transport", "sleepy", "--no-ceilings", "--record", records)
    for options in ((), ("--depth", 4), ("--no-overlap",), ("--depth", 1)):
        assert xtx(tmp_path, 2, *words, *options, program=WRONG).status == 0
    ahead = [_products_that_ended_before_the_reduction_before(record) for record in records_in(records)]
    assert ahead[:2] == [6, 6], "each product but the first is done while the sum before is made"
    assert ahead[2:] == [0, 0], "one stream, or one slot: one after the other"


def _products_that_ended_before_the_reduction_before(record: dict[str, Any]) -> int:
    ends = {(s["part"], s["step"]): s["end_us"] for s in record["timeline"]["spans"] if s["rank"] == 0}
    return sum(ends["multiplications", block + 1] < ends["reductions", block] for block in range(6))


def test_the_trace_holds_every_case(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    words = ("--block", "8,16", "--transport", "mpi,staged", "--batches", 1, "--no-ceilings", "--trace", trace)
    job = xtx(tmp_path, 2, "--dofs", 1009, "--vectors", 53, *words)
    assert job.status == 0, job
    events = json.loads(trace.read_text())["traceEvents"]
    processes = {event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert processes == {
        f"{transport}, block {block}, rank {rank}"
        for transport in ("mpi", "staged")
        for block in (8, 16)
        for rank in (0, 1)
    }
    steps = [event for event in events if event["ph"] == "X"]
    assert len(steps) == 2 * 2 * 3 * (7 + 4)


@pytest.mark.skipif(not EXAMPLES.is_file(), reason="the examples are built with the host backend only")
def test_complex_numbers_on_a_transport_without_them(tmp_path: Path) -> None:
    for benchmark in ("xtx", "allreduce"):
        size = ("--dofs", 100, "--vectors", 10) if benchmark == "xtx" else ("--count", 100)
        words = (benchmark, *size, "--dtype", "c128", "--transport", "synchronous", "--memory", "host")
        job = start(under_mpirun(2, *words, program=EXAMPLES), tmp_path, AT_ONCE).wait(30)
        assert job.status == 4, job
        assert "skipped" in job.message and "does not sum c128" in job.message, job


def test_the_trace_names_the_block_also_where_it_was_not_given(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    job = xtx(tmp_path, 1, "--dofs", 1009, "--vectors", 53, "--transport", "mpi", "--no-ceilings", "--trace", trace)
    assert job.status == 0, job
    assert '"mpi, block 6, rank 0"' in trace.read_text()


def test_the_trace_may_not_be_the_file_of_records(tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    records.write_text("kept\n")
    job = xtx(tmp_path, 2, *SMALL, "--record", records, "--trace", tmp_path / "." / "records.jsonl")
    assert job.status == 2, job
    assert "--trace" in job.message and "--record" in job.message, job
    assert records.read_text() == "kept\n"


def test_a_long_pipeline_is_alive_to_the_watchdog(tmp_path: Path) -> None:
    """Longer than --timeout in all, but not its steps."""
    words = ("--batches", 1, "--warmup", 0, "--transport", "sleepy", "--no-ceilings", "--timeout", 0.5)
    job = xtx(tmp_path, 2, "--dofs", 1009, "--vectors", 53, "--block", 2, *words, program=WRONG)
    assert job.status == 0, job
    assert job.seconds > 27 * 0.1 * 3


def test_what_does_not_fit_names_the_largest_that_does(tmp_path: Path) -> None:
    job = xtx(tmp_path, 2, "--dofs", "1e7", "--vectors", "1e6", "--block", 732)
    assert job.status == 2, job
    found = re.search(r"--vectors 1000000: needs .* on each rank, where .* are free; .* --vectors (\d+)", job.message)
    assert found, job
    assert 100 < int(found[1]) < 1_000_000


def test_tuning_where_there_is_nothing_to_tune(tmp_path: Path) -> None:
    job = xtx(tmp_path, 1, *SMALL, "--transport", "mpi", "--tune", "--memory", "host")
    assert job.status == 4, job
    assert "--tune" in job.message and "cuBLAS" in job.message, job
