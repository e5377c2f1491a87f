"""What `commlens run` and `commlens submit` print when jobs have ended: tables, a suite's summary,
and where records and pictures are."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path

from rich.console import Console

from commlens.base.errors import Status, say, status_text
from commlens.base.terminal import echo
from commlens.base.text import format_bytes, plural
from commlens.compare.references import Beside, nearest
from commlens.jobs.progress import plain
from commlens.jobs.run import JobRun, Ran
from commlens.jobs.spec import JobSpec, Options
from commlens.knowledge.secrets import mask_words
from commlens.model import Record, groups, load, over_launches
from commlens.model.reading import record_files
from commlens.model.scaling import scalings
from commlens.render import show
from commlens.render.table import Column, Lines, Table
from commlens.render.terminal import print_things


def print_run(ran: Ran, *, wide: bool) -> None:
    """Prints the tables of a benchmark, and how many records are where."""
    _print_tables(ran.records, ran.specs[0].options, partial(show.show, ran.records, wide=wide))
    _print_count(ran)


def print_rows(ran: Ran) -> None:
    """Prints the rows that were shown as progress, where no table will have them: after an
    interruption all, else those of launches without a record."""
    for result in ran.results:
        if ran.interruption or not result.records:
            for row in result.rows:
                echo(plain(row))


def print_scaling(ran: Ran) -> None:
    """Prints what the records show by ranks, and the numbers of ranks without any record."""
    for run in ran.runs:
        if run.status != Status.OK and not run.records:
            ranks = plural(run.job.ranks, "rank")
            say(f"{ranks}: {status_text(run.status)}, and no record to show")
    by_ranks = scalings(groups(over_launches(ran.records)), fewest=1)
    tables = [partial(show.show_scaling, scaling) for scaling in by_ranks]
    _print_tables(ran.records, ran.specs[0].options, *tables)
    _print_count(ran)


def print_suite(ran: Ran, options: Options, *, wide: bool) -> None:
    """Prints the summary of a suite, draws it, and prints where everything is: on standard error
    where the output is for programs."""
    with redirect_stdout(sys.stdout if options.has_tables else sys.stderr):
        _print_suite(ran, options, wide=wide)


def _print_suite(ran: Ran, options: Options, *, wide: bool) -> None:
    table = Table(_SUMMARY, list(zip(ran.specs, ran.runs)))
    print_things(show.console(), [table, Lines([[]])])
    if wide:
        _print_tables(ran.records, options, partial(show.show, ran.records, wide=True))
    if not ran.records or ran.folder is None:
        say(f"no record was written, so there is no picture in {ran.folder}")
        return
    print(f"records:  {' '.join(map(str, ran.places))}")
    _draw(ran.records, ran.folder)
    print(f"tables:   commlens show {shlex.join(map(str, ran.places))}")


def show_folder(folder: Path) -> int:
    """Prints the tables of all records in the folder of a job, and returns an exit status."""
    files = record_files(folder)
    loaded = load(files) if files else None
    if loaded is None or not loaded.records:
        say(f"no record in {folder}")
        return Status.FAILED
    for problem in loaded.problems:
        say(problem)
    console = show.console()
    console.print()
    show.show(loaded.records, console)
    places = sorted({str(file.parent) for file in files})
    say(f"{plural(len(loaded.records), 'record')} in {', '.join(places)}")
    return Status.FAILED if loaded.problems else Status.OK


def _print_tables(
    records: Sequence[Record], options: Options, *tables: Callable[[Console], None]
) -> None:
    """The tables, unless the output is for programs; for the format of DFT-FE the nearest published
    lines."""
    if options.text("format") == "dftfe":
        for line in published_lines(records):
            echo(line)
    if records and options.has_tables:
        console = show.console()
        for print_table in tables:
            console.print()
            print_table(console)


def published_lines(records: Sequence[Record]) -> Iterator[str]:
    """The published results that are nearest to the records, each once, as comments in the words of
    the DFT-FE mini-app."""
    measured = [record for record in records if record.measured]
    if not measured:
        return
    pairs = [pair for record in measured for pair in nearest(record)]
    closest: dict[int, Beside] = {}
    for pair in pairs:
        other = closest.get(id(pair.published))
        if other is None or (pair.same_size and not other.same_size):
            closest[id(pair.published)] = pair
    if not closest:
        yield "# published: nothing for these parameters (docs/reference.md)"
        return
    yield "# published, nearest in memory, size, nodes and ranks; ratios are ours over theirs"
    head = ""
    for pair in closest.values():
        figure = pair.published
        size = format_bytes(figure.size) if figure.size else ""
        words = (figure.where, size, f"{figure.memory} memory" if figure.memory else "")
        line = f"# {pair.source.name}: {', '.join(filter(None, words))}"
        if line != head:
            head = line
            yield head
        # No ratio where sizes or kinds of memory differ.
        ratio = f" ({pair.verdict})" if pair.verdict else ""
        yield f"#   {figure.quantity}: {figure.as_printed}{ratio}"


def _print_count(ran: Ran) -> None:
    """Prints how many records are in the file, unless the end of the only job has named them."""
    results, (path,) = ran.results, ran.places
    kept = [result.kept for result in results if result.kept and result.kept.path == path]
    count = sum(len(file.records) for file in kept)
    if count and (len(results) > 1 or not results[0].counted):
        say(f"{plural(count, 'record')} in {path}")


_Row = tuple[JobSpec, JobRun]
_SUMMARY: tuple[Column[_Row], ...] = (
    Column("benchmark", lambda row: row[1].job.benchmark, left=True),
    Column("options", lambda row: shlex.join(mask_words(row[0].words())), left=True, wraps=True),
    Column("launches", lambda row: len(row[1].results)),
    Column("records", lambda row: len(row[1].records)),
    Column("seconds", lambda row: row[1].seconds, format="{:.1f}".format),
    Column(
        "status",
        lambda row: status_text(row[1].status),
        left=True,
        style=lambda row: "green" if row[1].status == Status.OK else "red",
    ),
)


def _draw(records: Sequence[Record], folder: Path) -> None:
    """An overview, and a picture of each benchmark that was measured; prints where they are."""
    try:
        from commlens.render import plots
    except ModuleNotFoundError as error:
        if str(error.name).startswith("commlens"):
            raise
        say(f"there are no pictures: Python has no {error.name}")
        return
    measured = [record for record in records if record.measured]
    for name in dict.fromkeys(["overview", *(record.benchmark for record in measured)]):
        chosen = [record for record in measured if name in ("overview", record.benchmark)]
        if chosen:
            for picture in plots.plot(chosen, folder / f"{name}.png").pictures:
                print(f"picture:  {picture}")
