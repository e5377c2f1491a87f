"""The overlap matrix with the real programs: its default, its notes, its records, its trace."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from commlens.model import Record
from native_helpers import (
    AT_ONCE,
    BENCH,
    WRONG,
    Job,
    measured,
    native,
    needs_native,
    needs_wrong,
    records_in,
    start,
    under_commlens,
    under_mpirun,
)

pytestmark = needs_native

SHAPE = "--dofs 1009 --vectors 53"
SMALL = f"{SHAPE} --block 8"
PARTS = ("multiplications", "reductions", "copies")


def xtx(folder: Path, ranks: int, *words: object, program: Path = BENCH) -> Job:
    return native(folder, ranks, "xtx", *words, program=program)


def test_sizes_need_no_option_and_the_choice_is_said(tmp_path: Path) -> None:
    environment = {**AT_ONCE, "COMMLENS_BENCH": str(BENCH), "OPENBLAS_CORETYPE": "HASWELL"}
    options = "--ranks 2 --memory host --transport mpi --batches 1 --no-ceilings"
    command = under_commlens("xtx", options, "--record records.jsonl")
    job = start(command, tmp_path, environment).wait()
    assert job.status == 0, job
    (note,) = records_in(tmp_path / "records.jsonl")[0].start.notes
    match = re.search(r"--dofs 16194277 --vectors 36600.*: --dofs (\d+) --vectors (\d+)", note)
    assert match, job
    assert note in job.table, "it is told"
    rows, columns = map(int, match.groups())
    assert rows * columns * 8 <= 2 * 64 * 2**20, "64 MiB per rank"
    assert rows / columns == pytest.approx(16194277 / 36600, rel=0.02), "the published shape"


def test_given_values_stay(tmp_path: Path) -> None:
    words = "xtx --vectors 40 --dofs 500 --batches 1"
    first, *_ = measured(tmp_path, 2, words)
    assert list(first.start.notes) == []
    chosen = [first.parameters[name] for name in ("vectors", "dofs", "block")]
    assert chosen == [40, 500, 4]
    words = "xtx --vectors 100 --transport mpi --batches 1 --repeat 1 --warmup 0"
    first, *_ = measured(tmp_path, 2, words)
    assert "--vectors 100" in first.start.notes[0]


def test_a_record_has_parts_a_timeline_and_ceilings(tmp_path: Path) -> None:
    words = ("xtx --batches 2 --transport mpi,staged", SMALL)
    for record in measured(tmp_path, 3, *words, ceilings=True):
        assert [part.name for part in record.parts] == list(PARTS)
        assert all(len(part.samples.values_s) == 2 for part in record.parts)
        assert_blocks_follow_each_other(record, ranks=3, blocks=7)
        names = [ceiling.name for ceiling in record.ceilings]
        assert names[:3] == ["multiply-adds", "block GEMM", "copy to host"]
        assert all(ceiling.fraction > 0 for ceiling in record.ceilings)
        times = {
            stream: sum(part.time_s for part in record.parts if part.stream == stream)
            for stream in ("compute", "communication")
        }
        ideal, samples = max(times.values()), record.samples.values_s
        efficiency = record.statistics["overlap_efficiency"].median
        assert efficiency == pytest.approx((ideal / samples[0] + ideal / samples[1]) / 2)


def assert_blocks_follow_each_other(record: Record, ranks: int, blocks: int) -> None:
    assert record.timeline is not None
    spans = record.timeline.spans
    assert len(spans) == ranks * blocks * 3, "a span per block, part and rank"
    for rank in range(ranks):
        for part in PARTS:
            track = [span for span in spans if (span.rank, span.part) == (rank, part)]
            assert [span.step for span in track] == list(range(blocks))
            assert all(span.start_us <= span.end_us for span in track)
            assert all(earlier.end_us <= later.start_us for earlier, later in zip(track, track[1:]))
    for block in range(blocks):
        of_rank = {span.part: span for span in spans if (span.rank, span.step) == (0, block)}
        product, reduction, copy = (of_rank[part] for part in PARTS)
        assert product.end_us <= reduction.start_us, "a block is reduced when done"
        assert reduction.end_us <= copy.start_us


@needs_wrong
def test_products_go_ahead_of_reductions_that_block(tmp_path: Path) -> None:
    """The next block is multiplied while a transport has the host: there in another thread."""
    words = "xtx --batches 1 --warmup 0 --transport sleepy --no-ceilings"
    running = []
    # At the same time, as the transport sleeps.
    for number, options in enumerate(("--depth 2", "--depth 4", "--no-overlap", "--depth 1")):
        records = tmp_path / f"{number}.jsonl"
        command = under_mpirun(2, words, SMALL, options, "--record", records, program=WRONG)
        running.append((start(command, tmp_path, AT_ONCE), records))
    ahead = []
    for job, records in running:
        assert job.wait().status == 0
        (record,) = records_in(records)
        ahead.append(products_that_ended_before_the_reduction_before(record))
    assert ahead[:2] == [6, 6], "each product but the first is done while the sum before is made"
    assert ahead[2:] == [0, 0], "one stream, or one slot: one after the other"


def products_that_ended_before_the_reduction_before(record: Record) -> int:
    assert record.timeline is not None
    ends = {(s.part, s.step): s.end_us for s in record.timeline.spans if s.rank == 0}
    return sum(ends["multiplications", block + 1] < ends["reductions", block] for block in range(6))


def test_the_trace_holds_every_case(tmp_path: Path) -> None:
    words = "--block 8,16 --transport mpi,staged --batches 1 --no-ceilings --timeline timeline.json"
    job = xtx(tmp_path, 2, SHAPE, words)
    assert job.status == 0, job
    events = json.loads((tmp_path / "timeline.json").read_text())["traceEvents"]
    processes = {event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert processes == {
        f"{transport}, block {block}, rank {rank}"
        for transport in ("mpi", "staged")
        for block in (8, 16)
        for rank in (0, 1)
    }
    steps = [event for event in events if event["ph"] == "X"]
    assert len(steps) == 2 * 2 * 3 * (7 + 4)


def test_the_trace_names_the_block_also_where_it_was_not_given(tmp_path: Path) -> None:
    job = xtx(tmp_path, 1, SHAPE, "--transport mpi --no-ceilings --timeline timeline.json")
    assert job.status == 0, job
    assert '"mpi, block 6, rank 0"' in (tmp_path / "timeline.json").read_text()


def test_the_trace_may_not_be_the_file_of_records(tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    records.write_text("kept\n")
    job = xtx(tmp_path, 2, SMALL, "--record", records, "--timeline", f"{tmp_path}/./records.jsonl")
    assert job.status == 2, job
    assert "--timeline" in job.message and "--record" in job.message, job
    assert records.read_text() == "kept\n"


@needs_wrong
def test_a_long_pipeline_is_alive_to_the_watchdog(tmp_path: Path) -> None:
    """Longer than --timeout in all, but not its steps."""
    words = "--block 2 --batches 1 --warmup 0 --transport sleepy --no-ceilings --timeout 2"
    job = xtx(tmp_path, 2, SHAPE, words, program=WRONG)
    assert job.status == 0, job
    assert job.seconds > 27 * 0.1 * 3


def test_a_size_that_does_not_fit_names_the_largest_that_does(tmp_path: Path) -> None:
    job = xtx(tmp_path, 2, "--dofs 1e7 --vectors 1e6 --block 732")
    assert job.status == 2, job
    match = re.search(
        r"--vectors 1000000: needs .* on each rank, where .* are free; .* --vectors (\d+)",
        job.message,
    )
    assert match, job
    assert 100 < int(match[1]) < 1_000_000
