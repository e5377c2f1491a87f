"""`commlens history`: records kept over time, and what has become slower."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from commlens.api.history import DAY_FIX, History
from commlens.api.history import open as open_history
from commlens.base import outputs
from commlens.base.errors import CommlensError, Status, say
from commlens.base.terminal import echo
from commlens.base.text import plural, shown
from commlens.cli import option
from commlens.cli.group import CommandGroup
from commlens.cli.records import (
    load_any,
    tell_pictures,
    tell_problems,
    telling,
    without_collections,
)
from commlens.compare.history import machine_named, writing
from commlens.compare.history.series import BASELINE, CaseSeries, day

if TYPE_CHECKING:
    from commlens.compare.history.trends import Trend

_MOST_LAUNCHES = 1_000_000
_MANY_RECORDS = 20_000

FEWEST_BEFORE = 14  # launches, which 3 new ones can be told from
_store = click.option(
    "--store", type=option.path, metavar="FILE",
    help="The history.  [default: COMMLENS_STORE, that of this site, else one of the user's data]",
)  # fmt: skip


def _selecting(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options that choose cases and launches."""
    benchmark = click.argument("benchmark", required=False)
    machine = click.option("--machine", metavar="NAME", help="Only cases on this machine.")
    since = click.option(
        "--since", metavar="DAY", callback=option.value(day, DAY_FIX),
        help="Leave out earlier launches: a day, as 2026-03-02, or 90d, 8w, 1y.",
    )  # fmt: skip
    return benchmark(_store(machine(since(command))))


def _judging(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options of verdicts."""
    baseline = click.option(
        "--baseline", metavar="N", default=str(BASELINE), show_default=True,
        callback=option.count(_MOST_LAUNCHES, FEWEST_BEFORE),
        help="Launches of a baseline, at most.",
    )  # fmt: skip
    threshold = click.option(
        "--threshold", metavar="PERCENT", callback=option.percent, default="3%",
        show_default=True, help="What counts as the same.",
    )  # fmt: skip
    busy = click.option(
        "--busy", "with_busy", is_flag=True,
        help="Also use launches during which the machine was busy.",
    )  # fmt: skip
    return _selecting(baseline(threshold(busy(command))))


@click.group(cls=CommandGroup)
def history() -> None:
    """Keep records over time, and say which cases have become slower since when, and what changed
    at once.

    \b
    Examples:
      commlens run latency --launches 3 --keep
      commlens history add results
      commlens history show
      commlens history check --junit history.xml
    """


@history.command("add", short_help="Add records.")
@click.argument("paths", metavar="RECORDS...", nargs=-1, required=True, type=option.path)
@_store
@click.option(
    "--machine", metavar="NAME", default=machine_named,
    help="The machine they are of.  [default: COMMLENS_MACHINE, the site of their host, the host]",
)  # fmt: skip
def add_(paths: tuple[Path, ...], store: Path | None, machine: str) -> None:
    """Add RECORDS, files or folders of them, to the history. A record that is there is not added
    again.

    Where others write to the history all the time, or it cannot be written, the records are kept in
    a folder beside it, and the next `history add` takes them in.

    \b
    Examples:
      commlens history add results
      commlens history add results --store /shared/commlens/history.sqlite
    """
    kept = open_history(store)
    loaded = load_any(paths)
    status = tell_problems(loaded)
    if not len(loaded):
        raise CommlensError(f"there is no record of a benchmark in {', '.join(map(str, paths))}")
    with without_collections(), telling() as tell:
        if len(loaded) > _MANY_RECORDS:
            tell(f"adding {len(loaded):,} records")
        added = kept.add(loaded, machine)
    echo(added)
    sys.exit(status)


def _judged(store: Path | None, **chosen: Any) -> list[Trend]:
    with without_collections(), telling() as tell:
        kept = _opened(store)
        tell("comparing the launches of each case")
        return kept.trends(**_given(chosen))


def _series(store: Path | None, **chosen: Any) -> list[CaseSeries]:
    with without_collections():
        return _opened(store).series(**_given(chosen))


def _opened(store: Path | None) -> History:
    kept = open_history(store)
    if writing.waiting(kept.path):
        say(f"records wait beside {kept.path}: the next `commlens history add` takes them in")
    return kept


def _given(chosen: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in chosen.items() if value is not None}


@history.command(short_help="Show each case: launches, baseline, verdict.")
@_judging
@option.form(("table", "markdown", "csv", "json"))
def show(form: str, threshold: float, **chosen: Any) -> None:
    """Show a row for each case, or each of BENCHMARK: its launches, the last value, the baseline
    with its 95% interval, and the verdict.

    The baseline is the launches before the newest change. A case that has changed is explained by
    the versions and settings that changed at once.

    \b
    Examples:
      commlens history show
      commlens history show latency --since 90d
      commlens history show --format json
    """
    from commlens.render.history import history_of

    history_of(_judged(threshold=threshold, **chosen), threshold).print_as(form)


@history.command(short_help="End with a status for cron and CI.")
@_judging
@click.option(
    "--fail-if-slower", metavar="PERCENT", callback=option.percent, default="3%",
    show_default=True, help="End with status 1 only if a case is slower by at least this.",
)  # fmt: skip
@click.option("--junit", type=option.path, metavar="FILE", help="Also write a JUnit file.")
def check(junit: Path | None, fail_if_slower: float, **chosen: Any) -> None:
    """Print a line for each case, or each of BENCHMARK, and end with a status for cron and CI.

    Exit status: 0 no case is slower, 1 a case is slower or its newest launch failed, 2 no case has
    enough launches (or bad usage, as of other commands).

    To accept a change, leave out what was before it: `--since`.

    \b
    Examples:
      commlens history check || mail -s "slower" support@example.org
      commlens history check allreduce --fail-if-slower 5% --junit history.xml
      commlens history check --since 2026-03-02
    """
    from commlens.render import history_files

    if junit is not None:
        path = open_history(chosen["store"]).path
        outputs.check(junit, outputs.JUNIT, "--junit", [path])
    trends = _judged(**chosen)
    failing = [trend for trend in trends if trend.is_worse_by(fail_if_slower)]
    for trend in trends:
        about = history_files.about(trend)
        passes = " (less than --fail-if-slower)" if trend.is_slower and trend not in failing else ""
        echo(f"{trend.word}{passes}: {trend.series.name}{f': {about}' if about else ''}")
    if junit is not None:
        outputs.write_at_once(junit, history_files.junit(trends, failing), outputs.JUNIT, "--junit")
    if not failing and not any(trend.has_enough for trend in trends):
        say("no case has enough launches: nothing was tested")
        sys.exit(Status.USAGE)
    sys.exit(Status.FAILED if failing else Status.OK)


@history.command(short_help="Draw each case over time.")
@_judging
@click.option(
    "--out", type=option.path, required=True, metavar="PATH",
    help="Picture to write: .png, .svg or .pdf.",
)  # fmt: skip
def plot(out: Path, **chosen: Any) -> None:
    """Draw each case, or each of BENCHMARK, over time: launches, baseline and changes.

    \b
    Examples:
      commlens history plot --out history.png
      commlens history plot allreduce --since 1y --out allreduce.pdf
    """
    from commlens.render import plots
    from commlens.render.plots.history import plot_history

    plots.check_picture(out)
    tell_pictures(plot_history(_judged(**chosen), out))


@history.command()
@_judging
@click.option(
    "--prometheus", type=option.path, metavar="FILE",
    help="Gauges of each case, for the textfile collector of Prometheus' node exporter.",
)  # fmt: skip
@click.option("--csv", type=option.path, metavar="FILE", help="A row per case and launch.")
@click.option("--parquet", type=option.path, metavar="FILE", help="Likewise; takes pyarrow.")
@click.option("--records", type=option.path, metavar="FILE", help="All records, as they were.")
def export(
    prometheus: Path | None, csv: Path | None, parquet: Path | None, records: Path | None,
    **chosen: Any,
) -> None:  # fmt: skip
    """Write the history for other programs.

    A file that is there is replaced if commlens wrote it, at once: it may be read at any time.
    --records has all records of the history, whatever else is chosen.

    \b
    Examples:
      commlens history export --prometheus /var/lib/node_exporter/commlens.prom
      commlens history export latency --since 1y --csv latency.csv
      commlens history export --records all.jsonl
    """
    from commlens.render import history_files as files

    kept = open_history(chosen["store"])
    given = {"--prometheus": prometheus, "--csv": csv, "--parquet": parquet, "--records": records}
    wanted = {name: out for name, out in given.items() if out is not None}
    if not wanted:
        raise CommlensError(f"export to what? name a file with one of {', '.join(given)}")
    for name, out in wanted.items():
        outputs.check(out, files.FILES[name], name, [kept.path])
        if [other for other in wanted.values() if other.resolve() == out.resolve()] != [out]:
            raise CommlensError(f"{name} {shown(out)}: two options name this file; write another")
    if records is not None:
        lines = b"".join(kept.lines())
        outputs.write_at_once(records, lines, files.FILES["--records"], "--records")
    of_cases = {name: chosen[name] for name in ("benchmark", "store", "machine", "since")}
    for name, out in wanted.items():
        data: str | bytes
        if name == "--prometheus":
            data = files.prometheus(_judged(**chosen))
        elif name == "--csv":
            data = files.table(_series(**of_cases))
        elif name == "--parquet":
            data = files.parquet(_series(**of_cases), out)
        else:
            continue
        outputs.write_at_once(out, data, files.FILES[name], name)
    for out in wanted.values():
        echo(out)


@history.command()
@_store
@click.option(
    "--older-than", "before", metavar="DAY", callback=option.value(day, DAY_FIX),
    help="Remove launches from before this day: 2026-03-02, or 90d, 8w, 1y.",
)  # fmt: skip
@option.number("--keep", "Of each case keep this many launches, the newest.", _MOST_LAUNCHES)
@click.option("--dry-run", is_flag=True, help="Print what would be removed, and remove nothing.")
def prune(store: Path | None, before: str | None, keep: int | None, dry_run: bool) -> None:
    """Remove old launches from the history.

    \b
    Examples:
      commlens history prune --older-than 2y --dry-run
      commlens history prune --keep 500
    """
    if before is None and keep is None:
        raise CommlensError("prune what? write --older-than DAY or --keep N")
    kept = open_history(store)
    with telling() as tell:
        tell("removing")
        pruned = kept.prune(before=before or "", keep=keep, dry_run=dry_run)
    verb = "would be removed" if dry_run else "removed"
    launches = plural(pruned.launches, "launch")
    records = plural(pruned.records, "record")
    echo(f"{records} and {launches} {verb}; {plural(pruned.kept, 'record')} kept in {kept.path}")


@history.command(short_help="Add another history.")
@click.argument("other", type=option.path)
@_store
def merge(other: Path, store: Path | None) -> None:
    """Add all that the history OTHER has. It is left as it is; a record that is there is not added
    again.

    \b
    Example:
      commlens history merge /scratch/history.sqlite
    """
    with without_collections(), telling() as tell:
        tell(f"adding {other.name}")
        echo(open_history(store).merge(other))
