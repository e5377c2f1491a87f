"""For tests with the real native programs. Most jobs wait more than they compute, so some of them
are under way at the same time; what they gave is looked at by a test for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from native_helpers import Job, Jobs


@pytest.fixture
def records(tmp_path: Path) -> Path:
    return tmp_path / "records.jsonl"


@pytest.fixture(scope="module")
def workers() -> Iterator[ThreadPoolExecutor]:
    pool = ThreadPoolExecutor(4)
    yield pool
    pool.shutdown(cancel_futures=True)


@pytest.fixture(scope="module")
def submit(
    workers: ThreadPoolExecutor, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Jobs]:
    """Starts the function with a file of records of its own and the arguments of each name."""

    def submit_all(function: Callable[..., Job], arguments: Mapping[str, Sequence[object]]) -> Jobs:
        jobs: Jobs = {}
        for name, words in arguments.items():
            records = tmp_path_factory.mktemp("job") / "records.jsonl"
            jobs[name] = (workers.submit(function, records, *words), records)
        return jobs

    return submit_all
