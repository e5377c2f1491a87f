"""What `commlens show` prints, without a command line."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from commlens.render.show import show
from record_helpers import parsed


def output(*records: dict[str, Any], width: int = 160, wide: bool = False) -> str:
    text = io.StringIO()
    show(parsed(*records), Console(file=text, width=width, highlight=False), wide=wide)
    return text.getvalue()


def shown(*records: dict[str, Any], width: int = 160, wide: bool = False) -> list[str]:
    """The lines, with a space where there are several."""
    return [" ".join(line.split()) for line in output(*records, width=width, wide=wide).split("\n")]
