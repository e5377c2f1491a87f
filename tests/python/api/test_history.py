"""`commlens.history`: the calls that the command is made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import commlens
from commlens.api.records import Records
from history_helpers import launch
from record_helpers import write


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = [launch(day, 4.0 if day > 19 else 2.0 + 0.001 * day) for day in range(24)]
    return write(tmp_path / "records.jsonl", *made)


def test_a_change_is_found_in_what_was_added(file: Path, tmp_path: Path) -> None:
    history = commlens.history.open(tmp_path / "store.sqlite")
    records = commlens.read(file)
    assert history.add(records, machine="mine").added == 24
    assert history.add(records, machine="mine").present == 24
    (series,) = history.series("latency", machine="mine")
    assert len(series.points) == 24
    (trend,) = history.trends(threshold=0.05)
    assert (trend.word, trend.since[:10]) == ("slower", "2026-01-21")
    assert len(history.series(since="2026-01-21")[0].points) == 4
    assert len(history.records().where(benchmark="latency")) == 24


def test_histories_are_merged_and_pruned(file: Path, tmp_path: Path) -> None:
    one, other = (commlens.history.open(tmp_path / name) for name in ("one", "other"))
    other.add(commlens.read(file))
    assert one.merge(tmp_path / "other").added == 24
    assert one.prune(keep=5, dry_run=True).records == 19 and len(one.records()) == 24
    assert one.prune(before="2026-01-11").records == 10 and len(one.records()) == 14


def test_a_data_frame_has_a_row_per_launch(file: Path, tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    history = commlens.history.open(tmp_path / "store.sqlite")
    history.add(commlens.read(file))
    frame = history.to_dataframe("latency", library="pandas")
    assert len(frame) == 24 and frame["median"].max() == 4.0


def test_it_is_the_store_of_the_command(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMLENS_STORE", str(file.parent / "shared.sqlite"))
    assert commlens.history.open().path == file.parent / "shared.sqlite"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda history: history.series(), "there is no history yet"),
        (lambda history: history.series(since="yesterday"), "since 'yesterday': write a day"),
        (lambda history: history.prune(before="then"), "before 'then': write a day"),
    ],
)
def test_mistakes_are_told(call: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(commlens.CommlensError, match=message):
        call(commlens.history.open(tmp_path / "none.sqlite"))  # type: ignore[operator]


def _records(tmp_path: Path, *medians_us: float, first_day: int = 0, **changes: Any) -> Records:
    made = [
        launch(day, median, **changes) for day, median in enumerate(medians_us, start=first_day)
    ]
    return commlens.read(write(tmp_path / f"from-{first_day}.jsonl", *made))


def _stable() -> list[float]:
    return [2 + 0.001 * (day % 3) for day in range(24)]


def test_a_baseline_is_what_a_case_has_measured_before(tmp_path: Path) -> None:
    history = commlens.history.open(tmp_path / "store.sqlite")
    new = _records(tmp_path, 2.0, first_day=50)
    assert history.baselines(new) == [None] and not history.path.exists()
    history.add(_records(tmp_path, *_stable()), machine="mine")
    assert history.baselines(new, machine="another") == [None]
    (baseline,) = history.baselines(new, machine="mine", threshold=0.1)
    assert baseline is not None and baseline.metric.name == "latency_us"
    assert baseline.value == 2.001
    assert baseline.limit == pytest.approx(1.1 * 2.002)


def test_a_baseline_takes_launches(tmp_path: Path) -> None:
    history = commlens.history.open(tmp_path / "store.sqlite")
    history.add(_records(tmp_path, *[2.0] * 16), machine="mine")
    assert history.baselines(history.records(), machine="mine") == [None] * 16


def test_a_baseline_is_from_before_a_change(tmp_path: Path) -> None:
    history = commlens.history.open(tmp_path / "store.sqlite")
    history.add(_records(tmp_path, *[2.0] * 20, *[4.0] * 5), machine="mine")
    (baseline,) = history.baselines(_records(tmp_path, 4.0, first_day=50), machine="mine")
    assert baseline is not None and baseline.value == 2.0


def test_a_limit_is_below_where_more_is_better(tmp_path: Path) -> None:
    history = commlens.history.open(tmp_path / "store.sqlite")
    rate: dict[str, Any] = {"metric": "bandwidth_GBps", "bytes": 2_000_000}
    history.add(_records(tmp_path, *_stable(), **rate), machine="mine")
    (baseline,) = history.baselines(_records(tmp_path, 2, first_day=50, **rate), machine="mine")
    assert baseline is not None and baseline.limit == pytest.approx(2000 / 2.002 / 1.03)
