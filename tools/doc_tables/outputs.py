"""What commands print of records in docs/measured/, for pages that quote it."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"<!-- output: (.*?) -->\n.*?<!-- end -->", re.DOTALL)
_PROGRAM = (sys.executable, "-m", "commlens")
_HISTORY = "docs/measured/history-host.jsonl"  # what is in the history that pages show
_CUT = "\n  published"  # of a group, up to the table of published results


def rewritten(text: str) -> str:
    """The text of a page with the outputs between <!-- output: WORDS --> and <!-- end -->."""
    return _BLOCK.sub(lambda match: _block(match[1]), text)


def _block(words: str) -> str:
    """What `commlens WORDS` prints; of `show` the first group of records and the first finding."""
    is_history = words.startswith("history ")
    output = _of_history(words.split()) if is_history else _printed(words.split()).rstrip()
    if words.startswith("show "):
        finding = re.search(r"^findings\n\w+: .*?\]", output, re.DOTALL | re.MULTILINE)
        output = output.partition(_CUT)[0].rstrip() + "\n..."
        output += f"\n{finding[0]}\n..." if finding else ""
    return f"<!-- output: {words} -->\n```\n$ commlens {words}\n{output}\n```\n<!-- end -->"


def _of_history(words: Sequence[str]) -> str:
    """To a file that has room for all columns."""
    with tempfile.TemporaryDirectory() as folder:
        store = {"COMMLENS_STORE": f"{folder}/history.sqlite", "COLUMNS": "160"}
        for command in (["history", "add", _HISTORY], words):
            printed = subprocess.run(
                [*_PROGRAM, *command], cwd=TOP, env={**_environment(), **store},
                capture_output=True, text=True, check=True,
            )  # fmt: skip
    return "\n".join(line.rstrip() for line in printed.stdout.rstrip().split("\n"))


def _environment() -> dict[str, str]:
    more = {"NO_COLOR": "1", "TERM": "dumb", "PYTHONPATH": str(TOP / "python")}
    return {**os.environ, **more}


def _printed(words: Sequence[str]) -> str:
    """To a terminal of 80 columns without colors."""
    terminal, end = pty.openpty()
    environment = _environment()
    command = [*_PROGRAM, *words]
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
