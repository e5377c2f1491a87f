"""All tests of this folder run commlens-bench on simulated nodes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from simulated_helpers import why_not

_WHY_NOT = why_not()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    folder = f"{Path(__file__).parent}{os.sep}"
    for item in items:
        if str(item.path).startswith(folder):
            item.add_marker(pytest.mark.skipif(bool(_WHY_NOT), reason=_WHY_NOT or "-"))
