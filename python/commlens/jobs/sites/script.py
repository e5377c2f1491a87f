"""The batch script of a job: plain, and without need of anything else of commlens' own."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from importlib.resources import files

import jinja2

import commlens
from commlens.jobs.options import Options
from commlens.jobs.sites.request import Request
from commlens.jobs.sites.site import Site

STATUS_FILE = "status"
LOG_FILE = "log"
RECORDS = "records"


def render(site: Site, request: Request, program: str | None = None) -> str:
    """`program` is how the script calls commlens."""
    loader = jinja2.FunctionLoader(
        lambda name: (files(__package__) / "templates" / name).read_text(encoding="utf-8")
    )
    environment = jinja2.Environment(
        loader=loader,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["quote"] = shlex.quote
    values = numbers(site, request.nodes)
    text = environment.get_template(f"{site.scheduler}.sh.j2").render(
        version=commlens.__version__,
        site=site,
        request=request,
        what=shlex.join(request.words),
        queue=request.queue or site.queue,
        time=f"{request.minutes // 60:02}:{request.minutes % 60:02}:00",
        directives=[text.format_map(values) for text in site.directives],
        modules=[*site.modules, *_modules_of_transports(site, request.words)],
        command=_lines(program or _program(), site, request, values),
        log=LOG_FILE,
        status=STATUS_FILE,
        **values,
    )
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def numbers(site: Site, nodes: int) -> dict[str, int]:
    """What directives and launcher arguments name in braces."""
    return {
        "nodes": nodes,
        "ranks": nodes * site.node.ranks,
        "ranks_per_node": site.node.ranks,
        "gpus": site.node.gpus,
        "cores_per_rank": site.node.cores_per_rank,
    }


def _modules_of_transports(site: Site, words: Sequence[str]) -> list[str]:
    """Where a transport is asked for by its name."""
    first = next((index for index, word in enumerate(words) if word.startswith("-")), len(words))
    wanted = Options.parse(words[first:]).text("transport").split(",")
    return [module for name in wanted for module in site.modules_for.get(name, ())]


def _lines(program: str, site: Site, request: Request, values: dict[str, int]) -> list[str]:
    """The command, an option or two on each line. What the user says is left as it is."""
    given = {word.partition("=")[0] for word in request.words}
    arguments = shlex.join(text.format_map(values) for text in site.launcher_arguments)
    wanted = [["--out", RECORDS]]
    if not given & {"--ranks", "-n", "--ranks-per-node", "--scaling"}:
        wanted.insert(0, ["--ranks-per-node", str(site.node.ranks)])
    if not given & {"--nodes", "--scaling"}:
        wanted.insert(0, ["--nodes", str(request.nodes)])
    if "--launcher" not in given:
        wanted.append(["--launcher", site.launcher])
        if arguments and "--launcher-args" not in given:
            wanted.append(["--launcher-args", arguments])
    if "--out" in given:
        wanted.remove(["--out", RECORDS])
    return [f"{program} {shlex.join(request.words)}", *map(shlex.join, wanted)]


def _program() -> str:
    """By its name where that is on the PATH, which the job inherits."""
    return "commlens" if shutil.which("commlens") else f"{shlex.quote(sys.executable)} -m commlens"
