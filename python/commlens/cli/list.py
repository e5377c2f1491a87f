"""`commlens list`: the benchmarks, the suites, published results, and what this build has."""

from __future__ import annotations

import click

from commlens.base.terminal import console
from commlens.base.text import plural
from commlens.compare.references import Source, load
from commlens.jobs import suite
from commlens.jobs.native import find_native
from commlens.render.table import Column, Table
from commlens.render.terminal import print_things


@click.command("list")
def list_() -> None:
    """Show the benchmarks, the suites, the sources of published results, and what this build has.

    \b
    Example:
      commlens list
    """
    native = find_native()
    about = native.about
    benchmarks = {entry.name: entry.description for entry in native.benchmarks.values()}
    suites = {name: suite.load(name).description for name in suite.shipped()}
    published = {source.name: _summary(source) for source in load()}
    gpus = f" ({plural(about.gpus, 'GPU')} here)" if about.backend != "host" else ""
    build = {
        "program": f"{native.path}, version {about.version}",
        "backend": about.backend + gpus,
        "transports": ", ".join(about.transports),
        "MPI": about.mpi,
        "formats": ", ".join(about.formats),
    }
    lists = {
        "Benchmarks": benchmarks,
        "Suites": suites,
        "Published results": published,
        "This build": build,
    }
    tables = [Table(_LINES, list(lines.items()), title) for title, lines in lists.items()]
    print_things(console(), tables)


def _summary(source: Source) -> str:
    """`latency: 92 results; juliet, two nodes`"""
    benchmarks = dict.fromkeys(result.benchmark for result in source.figures if result.benchmark)
    return f"{', '.join(benchmarks)}: {plural(len(source.figures), 'result')}; {source.machine}"


_LINES: tuple[Column[tuple[str, str]], ...] = (
    Column("name", lambda line: line[0], left=True, style="cyan"),
    Column("description", lambda line: line[1], left=True, wraps=True),
)
