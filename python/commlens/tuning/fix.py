"""The settings that were found, in the forms in which people use them; and read back by
`commlens run --settings`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from commlens.base.errors import CommlensError, reason
from commlens.base.text import printable
from commlens.jobs.options import Options
from commlens.jobs.spec import parse_environment
from commlens.tuning.space import Change

EXPORTS = "best.env"
_MCA = "OMPI_MCA_"
# What is no variable stands in these, which `--settings` alone reads.
_LAUNCHER_ARGS, _OPTIONS = "COMMLENS_LAUNCHER_ARGS", "COMMLENS_OPTIONS"
_EXPORT = re.compile(r"(?:export\s+)?(?P<setting>[A-Za-z_]\w*=.*)", re.ASCII)


def write(folder: Path, change: Change, title: str) -> list[Path]:
    """Writes the files for a change, with a title that names its purpose."""
    folder.mkdir(parents=True, exist_ok=True)
    mca = {name: text for name, text in change.environment.items() if name.startswith(_MCA)}
    ucx = {name: text for name, text in change.environment.items() if name.startswith("UCX_")}
    texts = {
        EXPORTS: _exports(change),
        "launch.txt": _launch(change),
        "openmpi-mca-params.conf": [f"{name[len(_MCA) :]} = {text}" for name, text in mca.items()],
        "ucx.conf": [f"{name}={text}" for name, text in ucx.items()],
    }
    written = []
    for name, lines in texts.items():
        if lines:
            path = folder / name
            path.write_text("\n".join([f"# {printable(title)}", *lines, ""]), encoding="utf-8")
            written.append(path)
    return written


def _exports(change: Change) -> list[str]:
    variables = dict(change.environment)
    if change.launcher_arguments:
        variables[_LAUNCHER_ARGS] = shlex.join(change.launcher_arguments)
    if change.options:
        variables[_OPTIONS] = shlex.join(_options(change).words())
    return [f"export {name}={shlex.quote(text)}" for name, text in variables.items()]


def _launch(change: Change) -> list[str]:
    """srun passes the environment on; its --export would split values at their commas."""
    words = list(change.launcher_arguments)
    for name, text in change.environment.items():
        is_mca = name.startswith(_MCA)
        words += ["--mca", name[len(_MCA) :], text] if is_mca else ["-x", f"{name}={text}"]
    variables = [f"{name}={shlex.quote(text)}" for name, text in change.environment.items()]
    lines = [f"mpirun {shlex.join(words)}"] if words else []
    if variables:
        lines.append(f"env {' '.join(variables)} srun")
    if change.options:
        lines.append(f"# options of the benchmark: {shlex.join(_options(change).words())}")
    return lines


def _options(change: Change) -> Options:
    return Options({name: text or None for name, text in change.options.items()})


@dataclass(frozen=True)
class Given:
    """What a file of exports adds to a run."""

    environment: Mapping[str, str] = field(default_factory=dict)
    launcher_arguments: tuple[str, ...] = ()
    options: Options = field(default_factory=Options)


def read(path: Path) -> Given:
    """Raises CommlensError that names the file and the line."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = reason(error) if isinstance(error, OSError) else "no text in UTF-8"
        raise CommlensError(f"--settings {path}: it cannot be read ({why})") from None
    settings: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            settings.append(_setting(line.strip(), f"--settings {path}, line {number}"))
    variables = parse_environment(settings, f"--settings {path}:")
    words = shlex.split(variables.pop(_LAUNCHER_ARGS, ""))
    options = Options.parse(shlex.split(variables.pop(_OPTIONS, "")))
    return Given(variables, tuple(words), options)


def _setting(line: str, where: str) -> str:
    found = _EXPORT.fullmatch(line)
    try:
        words = shlex.split(found["setting"]) if found else []
    except ValueError:
        words = []
    if len(words) != 1:
        raise CommlensError(f"{where}: write export NAME=VALUE, one per line, quoted as needed")
    return words[0]
