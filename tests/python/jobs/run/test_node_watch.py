"""A lost node is noticed while there is no news of the job, and only then."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from commlens.jobs import watchdog
from commlens.jobs.watchdog import Watchdog
from run_helpers import wait_for
from sample_records import lines, make_record

ADDRESSES = {"n1": "127.0.0.1", "n2": "127.0.0.2"}


@dataclass
class Nodes:
    """Those that answer, and how often they were asked."""

    alive: set[str] = field(default_factory=lambda: set(ADDRESSES))
    questions: int = 0

    def answering(self, asked: Mapping[str, str]) -> dict[str, str]:
        addresses = {node: address for node, address in asked.items() if node in self.alive}
        self.questions += 1
        return addresses


@pytest.fixture
def nodes(monkeypatch: pytest.MonkeyPatch) -> Nodes:
    nodes = Nodes()
    monkeypatch.setattr(watchdog, "_addresses", lambda ranks: dict(ADDRESSES))
    monkeypatch.setattr(watchdog, "answering", nodes.answering)
    for name in ("_WITHOUT_NEWS_S", "_PAUSE_S", "_POLL_S"):
        monkeypatch.setattr(watchdog, name, 0.02)
    monkeypatch.setattr(Watchdog, "_ranks_by_node", lambda _: {"n1": [0, 1], "n2": [2, 3]})
    return nodes


def test_a_node_that_falls_silent_is_lost(nodes: Nodes, tmp_path: Path) -> None:
    with Watchdog(tmp_path / "records", math.inf) as watch:
        wait_for(lambda: nodes.questions > 2 * watchdog._QUESTIONS)
        assert watch.lost == ""
        nodes.alive.remove("n2")
        wait_for(lambda: bool(watch.lost))
    assert watch.lost == (
        "n2 (ranks 2-3) does not answer any more: the node is lost, and the job was ended"
    )


def test_a_node_that_never_answered_is_not_watched(nodes: Nodes, tmp_path: Path) -> None:
    nodes.alive.remove("n2")
    with Watchdog(tmp_path / "records", math.inf) as watch:
        wait_for(lambda: nodes.questions > 2 * watchdog._QUESTIONS)
    assert watch.lost == ""


def test_no_node_is_asked_while_there_is_news(
    nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watchdog, "_WITHOUT_NEWS_S", 30)
    taken: list[bytes] = []
    with Watchdog(tmp_path / "records", math.inf) as watch:
        wait_for(lambda: nodes.questions == 1)  # when the job begins
        nodes.alive.clear()
        hear = watch.observing(taken.append)
        hear(b"a row\n")
        hear(b"commlens progress: timing\n")
        time.sleep(0.4)
    assert watch.lost == "" and len(taken) == 2
    assert nodes.questions == 1


def test_which_rank_is_where_stands_in_the_records(tmp_path: Path) -> None:
    file = tmp_path / "records.jsonl"
    record = make_record()
    file.write_text("".join(lines([record])))
    hosts = {place["host"] for place in record["start"]["placement"]}
    assert set(Watchdog(file, math.inf)._ranks_by_node()) == hosts


def test_this_machine_answers() -> None:
    asked = watchdog._addresses(["localhost", "no.such.node.invalid"])
    assert list(watchdog.answering(asked)) == ["localhost"]
