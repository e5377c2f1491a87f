"""How long it will still take."""

from __future__ import annotations

from pathlib import Path

import pytest

from commlens.jobs.remaining import CasesLeft, launches_left, rough_time, time_left


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "1 s"), (9.1, "10 s"), (31, "35 s"), (55, "55 s"), (56, "1 min"), (61, "2 min"),
        (3540, "59 min"), (3550, "1 h"), (3601, "1 h 10 min"), (7200, "2 h"),
    ],
)  # fmt: skip
def test_a_rough_time_has_few_digits(seconds: float, text: str) -> None:
    assert rough_time(seconds) == text


@pytest.mark.parametrize(
    ("done", "total", "seconds", "text"),
    [
        (1, 4, 10, ", about 30 s left"),
        (0, 4, 10, ""),  # nothing is known
        (1, 4, 1, ""),
        (4, 4, 10, ""),
        (0.5, 1, 600, ", about 10 min left"),
    ],
)
def test_time_left(done: float, total: float, seconds: float, text: str) -> None:
    assert time_left(done, total, seconds) == text


@pytest.mark.parametrize(
    ("done", "left", "text"),
    [
        ([[], []], [2, 1], ""),  # nothing is known yet
        ([[10.0], [30.0]], [0, 0], ""),
        ([[10.0, 10.0]], [3], ", about 30 s left"),
        ([[3.0, 3.0]], [3], ""),  # too short to be waited for
        ([[10.0], [30.0]], [1, 2], ", about 2 min left"),  # 70 s
        ([[60.0, 180.0]], [4], ", 4 min to 12 min left"),  # 480 s, give or take 240
        ([[20.0, 40.0], []], [0, 1], ", 10 s to 50 s left"),  # like the other
        ([[1.0, 100.0]], [1], ", 15 s to 3 min left"),  # never less than a quarter
    ],
)
def test_the_time_left_of_launches(done: list[list[float]], left: list[int], text: str) -> None:
    assert launches_left(done, left) == text


def test_the_time_left_of_a_launch_is_by_the_cases_in_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    file = tmp_path / "records.jsonl"
    earlier = '{"kind":"start","records":50}\n{"kind":"record"}\n'
    file.write_text(earlier)
    left = CasesLeft(file)
    now[0] = 120.0
    assert left() == ""
    file.write_text(f'{earlier}{{"kind": "start", "records": 4}}\n{{"kind":"record"}}\n{{"kin')
    assert left() == left() == ", about 1 min left"
    file.write_text(file.read_text() + 'd":"record"}\n')
    assert left() == ", about 20 s left"
    file.unlink()
    assert left() == ", about 20 s left"


def test_a_program_that_does_not_say_how_many_records_has_no_estimate(tmp_path: Path) -> None:
    left = CasesLeft(tmp_path / "records.jsonl")
    assert left() == ""
    (tmp_path / "records.jsonl").write_text('{"kind":"start"}\n{"kind":"record"}\n')
    assert left() == ""
