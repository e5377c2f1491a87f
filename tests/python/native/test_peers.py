"""What adaptors to other programs write has the keys of what the real commlens-bench writes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from commlens.model import Record, case_key
from native_helpers import BENCH, measured, native, needs_native, records_in
from peer_helpers import adaptor, printing, run

pytestmark = needs_native


def roles(record: Record) -> dict[str, str]:
    return {name: record.start.parameters[name].role for name in record.parameters}


@pytest.mark.parametrize(
    ("adaptor", "program", "printed", "words"),
    [
        ("osu.py", "osu_latency", "1 0.4\n2 0.4\n4 0.4\n", "latency --bytes 1:4 --batches 1"),
        ("osu.py", "osu_bw", "8 4.0\n", "bandwidth --bytes 8 --batches 1"),
        ("osu.py", "osu_bibw", "8 4.0\n", "bidirectional-bandwidth --bytes 8 --batches 1"),
        (
            *("osu.py", "osu_allreduce", "8 0.3 0.2 0.4 2\n"),
            "allreduce --bytes 8 --batches 1 --dtype f32 --out-of-place",
        ),
        *(
            ("osu.py", f"osu_{program}", "8 0.3 0.2 0.4 2\n", f"{words} --bytes 8 --batches 1")
            for program, words in (
                ("alltoall", "alltoall"),
                ("alltoallv", "alltoallv"),
                ("alltoallw", "alltoallw"),
                ("bcast", "broadcast"),
                ("allgather", "allgather --out-of-place"),
                ("gather", "gather --out-of-place"),
                ("scatter", "scatter --out-of-place"),
            )
        ),
        (
            *("gslib.py", "gslib_pairwise", "0.001\n0.002\n"),
            "gather-scatter --elements 4,2,2 --order 3 --mode pairwise --no-ceilings --no-parts",
        ),
    ],
)
def test_keys_and_metrics_are_the_same(
    tmp_path: Path, adaptor: str, program: str, printed: str, words: str
) -> None:
    printing(tmp_path / "home" / program, printed)
    options = f"{words} --repeat 2 --warmup 1 --memory host --transport mpi".split()
    path = tmp_path / "peer.jsonl"
    home = str(tmp_path / "home")
    ended = run(
        *(adaptor, *options, "--record", path, "--expect-ranks", 2),
        COMMLENS_BENCH=str(BENCH),
        OSU_HOME=home,
        GSLIB_HOME=home,
    )
    assert ended.returncode == 0, ended.stderr
    theirs, ours = records_in(path), measured(tmp_path, 2, *options)
    assert [case_key(record) for record in theirs] == [case_key(record) for record in ours]
    for peer, other in zip(theirs, ours):
        assert peer.main == other.main
        assert {**roles(other), **roles(peer)} == roles(other)
        assert peer.samples.operation == other.samples.operation


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "--out-of-place is missing, for OSU"),
        ("--out-of-place", "--dtype is missing, for OSU"),
        ("--out-of-place --dtype f64", "--dtype f64: for OSU write one of"),
    ],
)
def test_an_allreduce_that_osu_does_not_have_is_refused(
    tmp_path: Path, words: str, said: str
) -> None:
    printing(tmp_path / "osu_allreduce", "")
    options = f"--bytes 8 --batches 1 --repeat 9 --warmup 1 {words}".split()
    ended = run(
        *("osu.py", "allreduce", *options), COMMLENS_BENCH=str(BENCH), OSU_HOME=str(tmp_path)
    )
    assert ended.returncode == 2
    assert said in ended.stderr


ROW = "8 {} {} sum -1 9.1 0.0 0.0 0 9.2 0.0 0.0 0\n"
ON_GPUS = ("--transport", "ccl", "--memory", "device")
ONCE = ("--bytes", 8, "--batches", 1, "--warmup", 1)


def reduced(folder: Path, printed: str, *words: object) -> tuple[int, str]:
    """Of the adaptor to nccl-tests: its status, and what it says."""
    printing(folder / "all_reduce_perf", printed)
    ended = run(
        *("nccl.py", "allreduce", *ONCE, *ON_GPUS, *words),
        COMMLENS_BENCH=str(BENCH),
        NCCL_TESTS_HOME=str(folder),
    )
    return ended.returncode, ended.stderr


@pytest.mark.parametrize(
    "args", [(), ("--out-of-place",), ("--dtype", "f32"), ("--dtype", "i32", "--in-place")]
)
def test_an_allreduce_of_nccl_tests_has_the_same_key(tmp_path: Path, args: tuple[str, ...]) -> None:
    """But for transport and memory: a build without GPUs has neither."""
    path = tmp_path / "peer.jsonl"
    ranks = "".join(f"#  Rank {rank} Group 0 Pid 1 on node\n" for rank in range(2))
    printed = ranks + ROW.format(1, "double")
    words = (*args, "--repeat", 2)
    assert reduced(tmp_path, printed, *words, "--record", path) == (0, "")
    (peer,) = records_in(path)
    (other,) = measured(
        *(tmp_path, 2, "allreduce", *ONCE, *words, "--transport", "mpi", "--memory", "host")
    )
    assert case_key(peer)._replace(transport="mpi", memory="host") == case_key(other)
    assert peer.main == other.main
    assert {**roles(other), **roles(peer)} == roles(other)
    assert peer.samples.operation == other.samples.operation


@pytest.mark.parametrize(
    ("dtype", "ranks", "most"), [("f64", 2, 1018), ("f32", 2, 122), ("i32", 2, 25), ("f64", 3, 30)]
)
def test_no_more_sums_in_place_than_commlens_times_at_once(
    tmp_path: Path, dtype: str, ranks: int, most: int
) -> None:
    def checks(repeat: int) -> int:
        words = ("--dtype", dtype, "--repeat", repeat, "--transport", "mpi", "--memory", "host")
        (record,) = measured(tmp_path, ranks, "allreduce", *ONCE, *words)
        return record.validation.checks

    assert checks(most + 1) == checks(most) + 1, "the array has been filled once more"
    words = ("--dtype", dtype, "--expect-ranks", ranks, "--repeat")
    assert "has printed figures of 0 cases" in reduced(tmp_path, "", *words, most)[1]
    status, said = reduced(tmp_path, "", *words, most + 1)
    assert (status, f"{most} sums of {dtype} in place are exact on {ranks} ranks" in said) == (
        *(2, True),
    )


@pytest.mark.parametrize("ranks", [2, 3])
def test_commlens_bench_in_place_of_a_peer_writes_its_records(tmp_path: Path, ranks: int) -> None:
    words = ("allreduce", "--bytes 8:64 --batches 1 --transport mpi --memory host")
    path = tmp_path / "own.jsonl"
    program = adaptor("own.py", tmp_path)
    job = native(tmp_path, ranks, *words, "--record", path, program=program)
    assert job.status == 0, job
    ours = measured(tmp_path, ranks, *words)
    assert [case_key(case) for case in records_in(path)] == [case_key(case) for case in ours]
    assert "64 B" in job.table


@pytest.mark.parametrize("words", ["latency --bytes much", "allreduce --bytes 8 --transport ccl"])
def test_in_place_of_a_peer_it_ends_as_it_does_by_itself(words: str) -> None:
    ended = run("own.py", *words.split(), COMMLENS_BENCH=str(BENCH))
    itself = subprocess.run([BENCH, *words.split()], capture_output=True, check=False)
    assert ended.returncode == itself.returncode != 0
