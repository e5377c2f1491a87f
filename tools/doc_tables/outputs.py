"""What `commlens show` prints of records in docs/measured/, for pages that quote it."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"<!-- output: (\S+) -->\n.*?<!-- end -->", re.DOTALL)
_CUT = "\n  published"  # of a group, up to the table of published results


def rewritten(text: str) -> str:
    """The text of a page with the outputs between <!-- output: FILE --> and <!-- end -->."""
    return _BLOCK.sub(lambda match: _block(match[1]), text)


def _block(name: str) -> str:
    """The output for docs/measured/NAME.jsonl: the first group of records and the first finding."""
    output = _shown(f"docs/measured/{name}.jsonl")
    group = output.partition(_CUT)[0].rstrip()
    finding = re.search(r"^findings\n\w+: .*?\]", output, re.DOTALL | re.MULTILINE)
    quoted = f"{group}\n...\n{finding[0]}\n" if finding else f"{group}\n"
    return f"<!-- output: {name} -->\n```\n{quoted}...\n```\n<!-- end -->"


def _shown(file: str) -> str:
    """What the command prints to a terminal of 80 columns without colors."""
    terminal, end = pty.openpty()
    environment = {
        **os.environ, "NO_COLOR": "1", "TERM": "dumb", "PYTHONPATH": str(TOP / "python")
    }  # fmt: skip
    command = [sys.executable, "-m", "commlens", "show", file]
    with subprocess.Popen(command, cwd=TOP, env=environment, stdout=end, stderr=end) as running:
        os.close(end)
        pieces = []
        while piece := _read(terminal):
            pieces.append(piece)
    os.close(terminal)
    if running.returncode:
        raise ChildProcessError(f"commlens show {file}: exit status {running.returncode}")
    text = b"".join(pieces).decode("utf-8").replace("\r\n", "\n")
    return "\n".join(line.rstrip() for line in text.split("\n"))


def _read(terminal: int) -> bytes:
    """Nothing at the end, which Linux reports as an error."""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""
