from __future__ import annotations

from pathlib import Path

import pytest

from peer_helpers import HOMES


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that takes the place of each other project's."""
    folder = tmp_path / "home"
    folder.mkdir()
    for variable in HOMES.values():
        monkeypatch.setenv(variable, str(folder))
    return folder
