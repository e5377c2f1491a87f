"""Imported before commlens: makes it and its libraries found.

A launcher may put another Python first on the PATH of its processes than that of the `commlens`
command. Where this one has not the libraries, the script is started anew with that one.
"""

from __future__ import annotations

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))

if find_spec("msgspec") is None:
    python = Path(shutil.which("commlens") or sys.executable).with_name("python3")
    if not python.is_file() or python == Path(sys.executable):
        sys.exit("commlens: its libraries are missing: put the command `commlens` on the PATH")
    os.execv(python, [str(python), *sys.argv])
