"""`commlens tune --matrix NAME`: a benchmark under a named list of settings, as a table and a
graph, beside what was published."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from commlens import knowledge
from commlens.base.errors import CommlensError, Status, say
from commlens.base.outputs import reserve
from commlens.base.terminal import console, echo
from commlens.base.text import format_bytes, format_number, labelled, shown
from commlens.compare.references import find
from commlens.jobs import process
from commlens.jobs.session import Session
from commlens.jobs.spec import JobSpec, Options
from commlens.render.plots.ranges import Point, SettingsCurve, draw, ranges_panel
from commlens.render.table import Column, Table
from commlens.render.terminal import print_things
from commlens.tuning import output
from commlens.tuning.bench import Bench, Budget
from commlens.tuning.launches import InterruptionError, Launches, Runner
from commlens.tuning.plan import situation
from commlens.tuning.scores import Slots
from commlens.tuning.space import Space, TuningSetting, Value, Where

_SETTING = "setting"


class Matrix(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The layout of a file of knowledge/matrices: settings to be measured side by side."""

    title: str
    benchmark: str
    options: Mapping[str, str]
    settings: tuple[Value, ...]
    needs: Where = Where()  # backends, and facts
    published: str = ""  # the source whose setups have the names of the settings


def matrix(name: str) -> Matrix:
    """Raises CommlensError where there is none of this name."""
    names = knowledge.names("matrices")
    if name not in names:
        near = difflib.get_close_matches(name[:80], names, 1)
        fix = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
        raise CommlensError(f"--matrix {shown(name, 80)}: no matrix has this name; {fix}")
    return knowledge.load(f"matrices/{name}", Matrix)


def missing(wanted: Matrix, session: Session, entry: JobSpec) -> list[str]:
    """What this machine lacks."""
    about, lacking = session.native.about, []
    if wanted.needs.backends and about.backend not in wanted.needs.backends:
        lacking.append(f"a build for {' or '.join(wanted.needs.backends)}")
    if about.gpus == 0:
        lacking.append("a GPU")
    facts = situation(session, entry)[0].facts
    return lacking + [fact for fact in wanted.needs.has if fact not in facts]


def measure(
    session: Session, entry: JobSpec, name: str, out: Path, budget_s: float, launches: int
) -> int:
    """Interleaved, each setting once per round; or shows what was published, where this machine
    lacks something. Raises CommlensError for what cannot be measured."""
    wanted = matrix(name)
    if entry.benchmark != wanted.benchmark:
        raise CommlensError(
            f"--matrix {name} is of {wanted.benchmark}, not of {entry.benchmark}: write"
            f" commlens tune {wanted.benchmark} --matrix {name}"
        )
    lacking = missing(wanted, session, entry)
    folder = reserve(out, f"tune-{name}")
    published = _published(wanted) if wanted.published else []
    if lacking:
        say(f"{wanted.title} cannot be measured here; missing: {', '.join(lacking)}")
        if published:
            source = find(wanted.published)
            echo(f"published: {source.title} ({source.machine})\n")
            _show(source.title, "latency (us)", True, published, (), folder)
        return Status.NOTHING_RAN
    entry = replace(entry, options=Options(wanted.options).replaced_by(entry.options))
    space = Space([TuningSetting(_SETTING, wanted.settings, wanted.title, "group")])
    transports = [entry.options.text("transport") or "mpi"]
    made = Launches(folder, Slots())
    bench = Bench(Runner(session, entry), made, space, transports, Budget(budget_s))
    choices = {value.name: {_SETTING: value.name} for value in wanted.settings}
    try:
        with process.signals_listed() as bench.requests:
            bench.interleave("matrix", list(choices.values()), launches, budget_s, final=True)
    except InterruptionError as interruption:
        return interruption.status
    reference = bench.reference
    output.print_failures(bench)
    if reference is None:
        raise CommlensError("no setting has measured anything", Status.FAILED)
    slots = list(reference.medians)
    curves = [output.curve_of(bench, name, choice, slots) for name, choice in choices.items()]
    metric = labelled(reference.metric.label, reference.metric.unit)
    in_bytes = any(slot.in_bytes for slot in slots)
    _show(wanted.title, metric, in_bytes, curves, published, folder)
    return Status.OK


def _published(wanted: Matrix) -> list[SettingsCurve]:
    source = find(wanted.published)
    curves = []
    for value in wanted.settings:
        points = [
            Point(int(result.size), result.value, result.value, result.value)
            for result in source.figures
            if result.setup == value.name and result.size is not None
        ]
        curves.append(SettingsCurve(f"{source.name}: {value.name}", points, is_published=True))
    return curves


def _show(title: str, metric: str, in_bytes: bool, curves: Sequence[SettingsCurve],
          published: Sequence[SettingsCurve], folder: Path) -> None:  # fmt: skip
    """The curves as a table, and with what was published as a picture."""
    text: Callable[[int], str] = format_bytes if in_bytes else str
    columns = [Column[int]("size", lambda size: size, format=text)]
    for curve in curves:
        values = {point.size: point.value for point in curve.points}
        head = curve.label.partition(": ")[2] or curve.label
        columns.append(Column(head, values.get, format=format_number))
    sizes = sorted({point.size for curve in curves for point in curve.points})
    print_things(console(), [Table(columns, sizes, title=metric)])
    picture = folder / "matrix.png"
    draw([ranges_panel(title, metric, in_bytes, [*curves, *published])], picture)
    echo(picture)
