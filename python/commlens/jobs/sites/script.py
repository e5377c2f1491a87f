"""The batch script of a job: plain, and without need of anything else of commlens."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, dropwhile

import jinja2

import commlens
from commlens.base.errors import CommlensError
from commlens.base.text import plural
from commlens.jobs.sites.site import Site
from commlens.jobs.spec import Options
from commlens.knowledge.secrets import mask_words

_NAME = re.compile(r"[\w.@+:/-]+")
STATUS_FILE = "status"
LOG_FILE = "log"
RECORDS = "records"


@dataclass(frozen=True)
class Request:
    """What a job asks a site for."""

    nodes: int
    minutes: int
    words: Sequence[str]  # `run allreduce bp5`: what commlens is to do
    account: str = ""
    queue: str = ""

    def check(self, site: Site) -> None:
        """Raises CommlensError for what the site would refuse, or leave waiting for ever."""
        if not self.words or self.words[0] != "run":
            raise CommlensError(
                f"-- {' '.join(self.words) or 'nothing'}: a job runs `commlens run`; write "
                f"`-- run BENCHMARK ...`"
            )
        if site.account == "required" and not self.account:
            raise CommlensError(
                f"--account is missing: {site.site} takes no job without the name of a project"
            )
        for option, name in (("--account", self.account), ("--queue", self.queue)):
            if name and not _NAME.fullmatch(name):
                raise CommlensError(f"{option} {name!r}: write a name without spaces")
        most = site.most_nodes
        if most and self.nodes > most:
            raise CommlensError(
                f"--nodes {self.nodes}: a job on {site.site} has at most {plural(most, 'node')}"
            )
        hours = next((limit.hours for limit in site.limits if self.nodes <= limit.nodes), None)
        if hours is not None and self.minutes > hours * 60:
            raise CommlensError(
                f"--time {self.minutes} (minutes): a job of {plural(self.nodes, 'node')} on "
                f"{site.site} may take at most {hours:g} hours"
            )


def render(site: Site, request: Request, program: str | None = None) -> str:
    """The script that `commlens job` prints and `commlens submit` submits.

    `program` is how it calls commlens. Raises CommlensError for what the site would refuse.
    """
    request.check(site)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(__package__),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["quote"] = _quoted
    if program is None:  # by its name where that is on the PATH, which the job inherits
        here = f"{shlex.quote(sys.executable)} -m commlens"
        program = "commlens" if shutil.which("commlens") else here
    options = Options.parse(list(dropwhile(lambda word: word[:1] != "-", request.words)))
    modules = [site.modules_for.get(name, ()) for name in options.text("transport").split(",")]
    values = site.numbers(request.nodes)
    text = environment.get_template(f"{site.scheduler}.sh.j2").render(
        version=commlens.__version__,
        site=site,
        request=request,
        words=_joined(mask_words(request.words)),
        queue=request.queue or site.queue,
        time=f"{request.minutes // 60:02}:{request.minutes % 60:02}:00",
        directives=[text.format_map(values) for text in site.directives],
        modules=[*site.modules, *chain(*modules)],
        command=_command(program, site, request),
        log=LOG_FILE,
        status=STATUS_FILE,
        **values,
    )
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def _quoted(word: str) -> str:
    """For a shell, in one line that can be printed, whatever it holds: bash knows $'\\x0a'."""
    if word.isprintable():
        return shlex.quote(word)
    safe = [
        chr(byte) if 32 <= byte < 127 and byte not in b"'\\" else f"\\x{byte:02x}"
        for byte in word.encode("utf-8", "surrogateescape")
    ]
    return f"$'{''.join(safe)}'"


def _joined(words: Sequence[str]) -> str:
    return " ".join(map(_quoted, words))


def _command(program: str, site: Site, request: Request) -> list[str]:
    """The command, an option on each line. What the user has given is left as it is."""
    given = {word.partition("=")[0] for word in request.words}
    job = site.job_spec(request.nodes)
    ranks = {"--ranks", "-n", "--ranks-per-node", "--scaling"}
    options = [  # each with those of the user in whose place it would be
        ("--out", RECORDS, {"--out"}),
        ("--launcher", site.launcher, {"--launcher"}),
        ("--nodes", str(job.nodes), {"--nodes", "--scaling"}),
        ("--ranks-per-node", str(job.ranks_per_node), ranks),
        ("--launcher-args", shlex.join(job.launcher_arguments), {"--launcher", "--launcher-args"}),
    ]
    lines = [_joined([name, text]) for name, text, others in options if text and not others & given]
    keep = ["--keep"] if site.keep and "--keep" not in given else []
    return [f"{program} {_joined(request.words)}", *lines, *keep]
