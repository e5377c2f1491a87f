"""Ends a job that does not start, shows no activity any more, has lost a node, or takes too long.

A rank that makes no progress is the business of the native program's own watchdog (`--timeout`),
which reports which rank was where. That cannot look before MPI has started the ranks, and not where
they are stopped; this can.
"""

from __future__ import annotations

import math
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from commlens.base.errors import CommlensError
from commlens.base.text import ranges
from commlens.jobs import causes
from commlens.jobs.process import Times
from commlens.jobs.spec import Options
from commlens.model import load

TOO_LONG = "the job took longer than"
_LIMIT_S = 120.0
_LEAST_S = 30.0  # MPI takes its time to start; and ranks that live report every ten seconds
_WITHOUT_NEWS_S = 2.0
_ANSWER_TIME_S = 1.0
_QUESTIONS = 4  # that a node does not answer, one after the other, before it is lost
_PAUSE_S = 0.5  # between two questions, and between two looks at the news
_POLL_S = 0.2
_PORT = 9  # "discard": a node that lives refuses the connection, or takes it
_PROGRESS = b"commlens progress"  # also where the program waits


def limit_of(options: Options) -> float:
    """The limit of `--timeout`, if it is not too short for a launch."""
    given = float(options.text("timeout") or _LIMIT_S)
    return max(given, _LEAST_S) if given > 0 else math.inf


class Watchdog:
    """A context within which a job is watched. Called all the time, it gives the reason to end the
    job, or an empty text; `lost` is that reason where a node was lost.

    MPI does not notice: a rank waits for as long as its peer sends nothing, and a resource manager
    looks after its nodes every few minutes. So nodes are asked themselves, but only while there is
    no news of the job: a measurement has the network for itself. A node counts only if it has
    answered when the job began: firewalls are no failures.
    """

    def __init__(
        self, record_file: Path, limit_s: float, most_s: float = math.inf, *, may_wait: bool = False
    ) -> None:
        self.lost = ""
        self._record_file = record_file  # written when all have started, with the node of each rank
        self._limit_s, self._most_s = limit_s, most_s  # without activity, and in all
        self._may_wait = may_wait  # for its start, as in the queue of a resource manager
        self._has_started = False
        self._news = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Watchdog:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(_ANSWER_TIME_S)

    def __call__(self, times: Times) -> str:
        """Why the job is to be ended; empty: it goes on."""
        with suppress(OSError):
            self._has_started = self._has_started or self._record_file.stat().st_size > 0
        code, seconds = "not-started", 0.0 if self._may_wait else times.since_start
        if self._has_started:
            code, seconds = "no-activity", times.since_output
        if self.lost or seconds > self._limit_s:
            return self.lost or causes.of_job(code, limit=f"{self._limit_s:g}")
        is_late = times.since_start > self._most_s
        return f"{TOO_LONG} {self._most_s:g} s, and was ended" if is_late else ""

    def observing(self, take: Callable[[bytes], object]) -> Callable[[bytes], None]:
        """Hands on what the job writes, and takes it for news."""

        def take_news(data: bytes) -> None:
            if not data.lstrip().startswith(_PROGRESS):
                self._news = time.monotonic()
            take(data)

        return take_news

    def _watch(self) -> None:
        ranks = self._ranks_by_node()
        if len(ranks) < 2:
            return
        addresses = answering(_addresses(ranks))
        silences = dict.fromkeys(addresses, 0)
        while addresses and not self._ended.wait(_POLL_S if any(silences.values()) else _PAUSE_S):
            has_news = time.monotonic() < self._news + _WITHOUT_NEWS_S
            alive = addresses if has_news else answering(addresses)
            silences = {node: 0 if node in alive else silences[node] + 1 for node in silences}
            gone = [node for node, count in silences.items() if count >= _QUESTIONS]
            if gone:
                lost = "the node is lost" if len(gone) == 1 else "these nodes are lost"
                who = _who(gone, ranks)
                self.lost = f"{who} not answer any more: {lost}, and the job was ended"
                return

    def _ranks_by_node(self) -> Mapping[str, Sequence[int]]:
        """The ranks of each node; empty where the job ends before they are known."""
        while not self._ended.wait(_POLL_S):
            with suppress(CommlensError, OSError):
                if ranks := _ranks_by_node(self._record_file):
                    return ranks
        return {}


def silent_nodes(record_file: Path) -> str:
    """After a job has ended by itself: `n2 (rank 1) does not answer`, of its nodes while others do;
    empty: all do, or none. Raises CommlensError where the file cannot be read."""
    ranks = _ranks_by_node(record_file)
    addresses = _addresses(ranks)
    alive: dict[str, str] = {}
    for _ in range(_QUESTIONS):
        alive.update(answering({node: addresses[node] for node in addresses if node not in alive}))
    gone = [node for node in addresses if node not in alive]
    return f"{_who(gone, ranks)} not answer" if gone and alive else ""


def _ranks_by_node(record_file: Path) -> Mapping[str, Sequence[int]]:
    ranks: dict[str, list[int]] = {}
    for start in load([record_file]).launches[-1:]:
        for place in start.placement:
            ranks.setdefault(place.host, []).append(place.rank)
    return ranks


def answering(addresses: Mapping[str, str]) -> dict[str, str]:
    """The nodes that answer at all, within a second."""
    import asyncio  # 30 ms, and jobs of one node do without

    async def answers(address: str) -> bool:
        try:
            connection = asyncio.open_connection(address, _PORT)
            _, writer = await asyncio.wait_for(connection, _ANSWER_TIME_S)
            writer.close()
        except ConnectionRefusedError:
            return True
        except (OSError, asyncio.TimeoutError):
            return False
        return True

    async def ask() -> list[bool]:
        return await asyncio.gather(*map(answers, addresses.values()))

    alive = asyncio.run(ask())
    return {node: addresses[node] for node, answered in zip(addresses, alive) if answered}


def _addresses(nodes: Iterable[str]) -> dict[str, str]:
    """Those whose names are known here."""
    addresses = {}
    for node in nodes:
        with suppress(OSError):
            *_, address = socket.getaddrinfo(node, _PORT, type=socket.SOCK_STREAM)[0]
            addresses[node] = str(address[0])
    return addresses


def _who(nodes: Sequence[str], ranks: Mapping[str, Sequence[int]]) -> str:
    """`n2 (rank 1) does`, `n2 (ranks 2-3), n3 (ranks 4-5) do`."""
    listed = ", ".join(
        f"{node} ({'rank' if len(ranks[node]) == 1 else 'ranks'} {ranges(ranks[node])})"
        for node in nodes
    )
    return f"{listed} {'does' if len(nodes) == 1 else 'do'}"
