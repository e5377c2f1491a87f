"""A lost node is noticed while there is no news of the job, and only then."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from commlens.run import node_watch
from commlens.run.node_watch import NodeWatch
from run_helpers import wait_for
from sample_records import lines, make_record

ADDRESSES = {"n1": ("127.0.0.1", 2), "n2": ("127.0.0.2", 2)}


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The nodes that answer."""
    alive = set(ADDRESSES)
    monkeypatch.setattr(node_watch, "_addresses", lambda ranks: dict(ADDRESSES))
    monkeypatch.setattr(
        node_watch, "answering", lambda asked: {n: a for n, a in asked.items() if n in alive}
    )
    for name in ("_WITHOUT_NEWS_S", "_PAUSE_S", "_POLL_S"):
        monkeypatch.setattr(node_watch, name, 0.02)
    monkeypatch.setattr(NodeWatch, "_ranks_by_node", lambda _: {"n1": [0, 1], "n2": [2, 3]})
    return alive


def test_a_node_that_falls_silent_is_lost(answering: set[str], tmp_path: Path) -> None:
    with NodeWatch(tmp_path / "records") as watch:
        time.sleep(0.2)
        assert watch.lost == ""
        answering.remove("n2")
        wait_for(lambda: bool(watch.lost))
    assert watch.lost == (
        "n2 (ranks 2-3) does not answer any more: the node is lost, and the job was ended"
    )


def test_a_node_that_never_answered_is_not_watched(answering: set[str], tmp_path: Path) -> None:
    answering.remove("n2")
    with NodeWatch(tmp_path / "records") as watch:
        time.sleep(0.5)
    assert watch.lost == ""


def test_no_node_is_asked_while_there_is_news(
    answering: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_watch, "_WITHOUT_NEWS_S", 30)
    taken: list[bytes] = []
    with NodeWatch(tmp_path / "records") as watch:
        time.sleep(0.1)
        answering.clear()
        hear = watch.observing(taken.append)
        hear(b"a row\n")
        hear(b"commlens progress: timing\n")
        time.sleep(0.4)
    assert watch.lost == "" and len(taken) == 2


def test_which_rank_is_where_stands_in_the_records(tmp_path: Path) -> None:
    file = tmp_path / "records.jsonl"
    record = make_record()
    file.write_text("".join(lines([record])))
    hosts = {place["host"] for place in record["start"]["placement"]}
    assert set(NodeWatch(file)._ranks_by_node()) == hosts


def test_this_machine_answers() -> None:
    asked = node_watch._addresses(["localhost", "no.such.node.invalid"])
    assert list(node_watch.answering(asked)) == ["localhost"]
