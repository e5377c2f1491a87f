"""`commlens list`: the benchmarks, the suites, published results, and what this build has."""

from __future__ import annotations

from collections.abc import Mapping

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from commlens.base.text import plural
from commlens.compare.references import Source, load
from commlens.jobs import suite
from commlens.jobs.native import find_native
from commlens.render import show


@click.command("list")
def list_() -> None:
    """Show the benchmarks, the suites, the sources of published results, and what this build has.

    \b
    Example:
      commlens list
    """
    native = find_native()
    about = native.about
    console = show.console()
    benchmarks = {entry.name: entry.description for entry in native.benchmarks.values()}
    _print_names(console, "Benchmarks", benchmarks)
    suites = {name: suite.load(name).description for name in suite.shipped()}
    _print_names(console, "Suites", suites)
    _print_names(console, "Published results", {one.name: _summary(one) for one in load()})
    gpus = f" ({plural(about.gpus, 'GPU')} here)" if about.backend != "host" else ""
    _print_names(
        console,
        "This build",
        {
            "program": f"{native.path}, version {about.version}",
            "backend": about.backend + gpus,
            "transports": ", ".join(about.transports),
            "MPI": about.mpi,
            "formats": ", ".join(about.formats),
        },
    )


def _summary(source: Source) -> str:
    """`latency: 92 results; juliet, two nodes`"""
    benchmarks = dict.fromkeys(one.benchmark for one in source.figures if one.benchmark)
    return f"{', '.join(benchmarks)}: {plural(len(source.figures), 'result')}; {source.machine}"


def _print_names(console: Console, title: str, lines: Mapping[str, str]) -> None:
    table = Table.grid(padding=(0, 3, 0, 0))
    for name, description in lines.items():
        table.add_row(Text(f"  {name}", style="cyan"), Text(description))
    console.print(Text(title, style="bold"), table, "", sep="\n")
