"""The settings that were found, in the forms in which people use them; and read back by
`commlens run --settings`."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from commlens.base import inputs
from commlens.base.errors import CommlensError
from commlens.base.text import printable
from commlens.jobs.spec import Options, parse_environment
from commlens.tuning.space import Change

EXPORTS = "best.env"
_MCA = "OMPI_MCA_"
# What is no variable stands in these, which `--settings` alone reads.
_LAUNCHER_ARGS, _OPTIONS = "COMMLENS_LAUNCHER_ARGS", "COMMLENS_OPTIONS"
_LITERAL = re.compile(r"'[^']*'|\"[^\"$`\\]*\"|\\.")  # what no shell changes
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
        variables[_OPTIONS] = shlex.join(change.options.words())
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
        lines.append(f"# options of the benchmark: {shlex.join(change.options.words())}")
    return lines


def read(path: Path) -> Change:
    """What a file of exports adds to a run. Raises CommlensError that names file and line."""
    text = inputs.read_text(path, "--settings", "a file of exports")
    settings: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            settings.append(_setting(line.strip(), f"--settings {path}, line {number}"))
    variables = parse_environment(settings, f"--settings {path}:")
    words = shlex.split(variables.pop(_LAUNCHER_ARGS, ""))
    options = Options.parse(shlex.split(variables.pop(_OPTIONS, "")))
    return Change(variables, words, options)


def _setting(line: str, where: str) -> str:
    match = _EXPORT.fullmatch(line)
    try:
        words = shlex.split(match["setting"]) if match else []
    except ValueError:
        words = []
    if re.search(r"[$`]", _LITERAL.sub("", line)):
        raise CommlensError(
            f"{where}: a shell would replace what $ or ` stands before: write the value itself,"
            " or put it into '...'"
        )
    if len(words) != 1:
        raise CommlensError(f"{where}: write export NAME=VALUE, one per line, quoted as needed")
    return words[0]
