"""What adaptors in tools/peers/ refuse: cases that the other project's program does not have."""

from __future__ import annotations

from pathlib import Path

import pytest

from peer_helpers import HOMES, refusal
from run_helpers import table

TABLE = table(Path(__file__).with_name("refusals.yaml"))


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("adaptor", "words"), [(name, words) for name in HOMES for words in TABLE[name]]
)
def test_cases_that_are_not_compared_are_refused(adaptor: str, words: str) -> None:
    assert TABLE[adaptor][words] in refusal(2, adaptor, *words.split())
