"""`commlens compare`: two sets of records, groups in one, or A and B interleaved."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from commlens.api.records import Records
from commlens.base.errors import CommlensError, Status, say, worst
from commlens.base.text import plural
from commlens.cli import option
from commlens.cli.records import (
    load_any,
    tell_pictures,
    tell_problems,
    telling,
    without_collections,
)
from commlens.compare.verdicts import ComparisonResult, gate
from commlens.jobs.session import Settings
from commlens.jobs.spec import JobSpec, Options
from commlens.render.comparison import FORMATS, comparison_of, published_comparison_of

_OF_RUN = ("a", "b", "launches", "ranks", "launcher", "launcher_args", "out")
_MANY_RECORDS = 100  # which take longer than somebody looks at nothing
_HELP = """Say what is faster, slower or the same: AFTER against BEFORE, which are files of records
or folders of them.

\b
Examples:
  commlens compare before.jsonl after.jsonl
  commlens compare results --by transport
  commlens compare results --reference dftfe-frontier
  commlens compare before after --fail-if-slower 5%
  commlens compare --run allreduce --a UCX_RNDV_THRESH=8192 --b UCX_RNDV_THRESH=inf
  commlens compare --run latency --a COMMLENS_BENCH=old/commlens-bench \\
                   --b COMMLENS_BENCH=new/commlens-bench --launches 10 -- --memory host

--reference compares with published results (`commlens list`) instead of AFTER, and gives ratios
without verdicts. AFTER may also be the name of such results.

--by takes transport, memory, host, ranks, a parameter of the benchmark, or an environment variable;
the first value is the baseline.

--run measures, A and B interleaved, and then compares; options of the benchmark follow `--`. A
setting is NAME=VALUE of an environment variable; COMMLENS_BENCH chooses the native program.

Exit status with --fail-if-slower: 1 where a case is slower, is missing or fails now; 4 where
none of the cases could be decided.
"""


@click.command(help=_HELP)
@click.argument("words", metavar="[BEFORE AFTER | RECORDS... | OPTIONS]", nargs=-1)
@click.option("--by", metavar="NAME", help="Compare groups of RECORDS with each other.")
@click.option("--reference", metavar="NAME", help="Compare RECORDS with published results.")
@click.option("--run", "benchmark", metavar="BENCHMARK", help="Measure first, interleaved.")
@click.option("--a", multiple=True, metavar="NAME=VALUE", help="A setting of the baseline.")
@click.option("--b", multiple=True, metavar="NAME=VALUE", help="A setting of the other side.")
@option.number(
    "--launches", "Launches of each side with --run: fewer than 5 decide little.", 1000, "5"
)
@option.ranks
@option.launcher
@option.launcher_arguments
@option.out(help="Folder for the records of --run.")
@click.option(
    "--threshold", metavar="PERCENT", callback=option.percent, default="3%", show_default=True,
    help="What counts as the same.",
)  # fmt: skip
@click.option(
    "--fail-if-slower", metavar="PERCENT", callback=option.percent,
    help="End with status 1 if a case is slower by at least this.",
)  # fmt: skip
@option.form(FORMATS)
@click.option(
    "--plot", "picture", type=option.path, metavar="PATH", help="Draw it: .png, .svg or .pdf."
)
@click.pass_context
def compare(
    context: click.Context,
    /,
    words: tuple[str, ...],
    by: str | None,
    reference: str | None,
    benchmark: str | None,
    a: tuple[str, ...],
    b: tuple[str, ...],
    launcher: str,
    out: Path,
    threshold: float,
    fail_if_slower: float | None,
    form: str,
    picture: Path | None,
    **job: Any,  # its ranks ...
) -> None:
    """Runs the command; its help is _HELP."""
    if picture:
        from commlens.render.plots import check_picture

        check_picture(picture, "--plot")
    if reference is not None and (by is not None or benchmark is not None or len(words) != 1):
        raise CommlensError(
            f"--reference {reference}: name the records that it is compared with, one file or"
            " folder; leave out --by and --run"
        )
    if benchmark is not None:
        if by is not None:
            raise CommlensError("--by beside --run: --run compares --a with --b; leave out --by")
        entry = option.spec(benchmark, Options.parse(words), **job)
        if "record" in entry.options:
            raise CommlensError("--record beside --run: name the folder of the records with --out")
        status, sides = _measured(entry, a, b, launcher, out)
    else:
        if of_run := option.given(context, _OF_RUN):
            raise CommlensError(
                f"{' and '.join(of_run)} without --run: name the benchmark with --run, or leave"
                f" {'it' if len(of_run) == 1 else 'them'} out"
            )
        if by is None and len(words) == 2 and _may_be_reference(words[1]):
            reference = words[1]
        if reference is not None:
            if fail_if_slower is not None or picture:
                raise CommlensError(
                    f"{reference} has single values, of which no difference is significant:"
                    " leave out --fail-if-slower and --plot (`commlens plot` draws them)"
                )
            sys.exit(_published(words[0], reference, form))
        status, sides = _group(words, by) if by is not None else _two(words)
    with without_collections(), telling() as tell:
        if (count := sum(map(len, sides))) > _MANY_RECORDS:
            tell(f"comparing {count:,} records")
        result = sides[0].compare(*sides[1:], by=by, threshold=threshold)
    comparison_of(result).print_as(form)
    if picture:
        from commlens.render.plots.comparison import plot_comparison

        tell_pictures(plot_comparison(result, picture))
    sys.exit(worst([status, _status(result, fail_if_slower)]))


def _status(result: ComparisonResult, fail_if_slower: float | None) -> int:
    if fail_if_slower is not None:
        return gate(result, fail_if_slower)
    if result.rows:
        return Status.OK
    say("no case was measured on both sides: nothing was compared")
    return Status.FAILED


def _two(paths: Sequence[str]) -> tuple[int, list[Records]]:
    if len(paths) != 2:
        raise CommlensError(
            f"compare what? {plural(len(paths), 'name')} given: name the records BEFORE and"
            " AFTER, or groups of one set with --by"
        )
    loaded = [load_any([option.path(name)]) for name in paths]
    return worst(tell_problems(side) for side in loaded), loaded


def _may_be_reference(word: str) -> bool:
    """What is no file may be the name of published results."""
    return not (word.endswith(".jsonl") or "/" in word or os.path.lexists(option.path(word)))


def _published(records: str, name: str, form: str) -> int:
    from commlens.compare.references import find

    source = find(name)
    loaded = load_any([option.path(records)])
    published_comparison_of(loaded.as_side(), source).print_as(form)
    return tell_problems(loaded)


def _group(paths: Sequence[str], by: str) -> tuple[int, list[Records]]:
    if not paths:
        raise CommlensError(f"--by {by}: name the records, files or folders")
    loaded = load_any([option.path(name) for name in paths])
    return tell_problems(loaded), [loaded]


def _measured(
    entry: JobSpec, a: Sequence[str], b: Sequence[str], launcher: str, out: Path
) -> tuple[int, list[Records]]:
    from commlens.compare.interleaved import measure

    measured = measure(entry, [a, b], Settings(launcher, out, quiet=True))
    if measured.interrupted:
        sys.exit(measured.status)
    if empty := [side.name for side in measured.sides if not side.records]:
        raise CommlensError(
            f"nothing is compared: no launch of {' and of '.join(empty)} left a record",
            Status.FAILED,
        )
    return measured.status, [Records.of(side.records, side.name) for side in measured.sides]
