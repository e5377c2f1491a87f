"""What adaptors to other programs write has the keys of what the real commlens-bench writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from commlens.records import Record, case_key
from native_helpers import BENCH, measured, needs_native, records_in
from peer_helpers import printing, run

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
            *("osu.py", "osu_allreduce", "8 0.4\n"),
            "allreduce --bytes 8 --batches 1 --dtype f32 --out-of-place",
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
    assert [case_key(one) for one in theirs] == [case_key(one) for one in ours]
    for one, other in zip(theirs, ours):
        assert one.main == other.main
        assert {**roles(other), **roles(one)} == roles(other)
        assert one.samples.operation == other.samples.operation


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
