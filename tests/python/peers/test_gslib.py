"""tools/peers/gslib.py: gslib's gather-scatter in the place of commlens-bench."""

from __future__ import annotations

from pathlib import Path

import pytest

from commlens.model import load
from peer_helpers import printing, program, refusal, run

OPTIONS = ("--mode", "pairwise", "--repeat", 3, "--warmup", 1)
TIMES = "0.001000000\n0.003000000\n0.002000000\n"


def test_every_time_is_a_sample(home: Path, tmp_path: Path) -> None:
    printing(home / "gslib_pairwise", TIMES)
    path = tmp_path / "records.jsonl"
    ended = run("gslib.py", "gather-scatter", "--elements", "4,2,2", *OPTIONS, "--record", path)
    assert (ended.returncode, ended.stderr) == (0, "")
    loaded = load([path])
    assert loaded.problems == []
    (record,) = loaded.records
    assert list(record.samples.values_s) == [0.001, 0.003, 0.002]
    time = record.statistics["time_us"]
    assert (time.count, time.median, time.max) == (3, 2000, 3000)
    assert record.harness.timing == "each"
    assert record.parameters["elements"] == "4x2x2"
    assert record.validation.status == "passed"
    assert record.validation.elements == 4 * (4 * 2 * 2 * 8**3)


def test_gslib_is_asked_for_the_same(home: Path, tmp_path: Path) -> None:
    words = tmp_path / "words"
    program(home / "gslib_pairwise", f'echo "$@" > {words}')
    run("gslib.py", "gather-scatter", "--elements", "4", *OPTIONS)
    assert words.read_text().split() == ["4", "4", "4", "7", "1", "3"]


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        ("", 0, "gslib_pairwise has printed figures of 0 cases instead of 1"),
        ("0.001000000\n", 0, "gslib_pairwise has printed figures of 0 cases instead of 1"),
        (TIMES, 4, "gslib_pairwise ended with status 4"),
        ("0.000000000\n", 0, "gslib_pairwise has printed '0.000000000', which is no time"),
        ("gs_setup: 1 unique\n", 0, "which is no time"),
    ],
)
def test_odd_output_is_refused(home: Path, text: str, status: int, said: str) -> None:
    printing(home / "gslib_pairwise", text, status)
    assert said in refusal(1, "gslib.py", "gather-scatter", "--elements", "4,2,2", *OPTIONS)
