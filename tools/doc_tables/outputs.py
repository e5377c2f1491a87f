"""What commands print of records in docs/measured/, for pages that quote it."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"<!-- output: (.*?) -->\n.*?<!-- end -->", re.DOTALL)
_CUT = "\n  published"  # of a group, up to the table of published results


def rewritten(text: str) -> str:
    """The text of a page with the outputs between <!-- output: WORDS --> and <!-- end -->."""
    return _BLOCK.sub(lambda match: _block(match[1]), text)


def _block(words: str) -> str:
    """What `commlens WORDS` prints; of `show` the first group of records and the first finding."""
    output = _printed(words.split()).rstrip()
    if words.startswith("show "):
        finding = re.search(r"^findings\n\w+: .*?\]", output, re.DOTALL | re.MULTILINE)
        output = output.partition(_CUT)[0].rstrip() + "\n..."
        output += f"\n{finding[0]}\n..." if finding else ""
    return f"<!-- output: {words} -->\n```\n$ commlens {words}\n{output}\n```\n<!-- end -->"


def _printed(words: Sequence[str]) -> str:
    """To a terminal of 80 columns without colors."""
    terminal, end = pty.openpty()
    environment = {
        **os.environ, "NO_COLOR": "1", "TERM": "dumb", "PYTHONPATH": str(TOP / "python")
    }  # fmt: skip
    command = [sys.executable, "-m", "commlens", *words]
    with subprocess.Popen(command, cwd=TOP, env=environment, stdout=end, stderr=end) as running:
        os.close(end)
        pieces = []
        while piece := _read(terminal):
            pieces.append(piece)
    os.close(terminal)
    if running.returncode:
        raise ChildProcessError(f"{command}: exit status {running.returncode}")
    text = b"".join(pieces).decode("utf-8").replace("\r\n", "\n")
    return "\n".join(line.rstrip() for line in text.split("\n"))


def _read(terminal: int) -> bytes:
    """Nothing at the end, which Linux reports as an error."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""
