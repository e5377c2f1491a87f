"""`commlens tune`, from the plan to the files."""

from __future__ import annotations

from pathlib import Path

import msgspec

from commlens.base.errors import CommlensError, Status, say
from commlens.base.terminal import echo
from commlens.base.text import plural
from commlens.compare import Verdict
from commlens.jobs import process
from commlens.jobs.session import Session
from commlens.tuning import fix as fix
from commlens.tuning import output, picture
from commlens.tuning.bench import DEFAULT, Bench, Budget
from commlens.tuning.finals import Final, play, reserve_s
from commlens.tuning.launches import OTHER_TRANSPORTS, Launch, Launches
from commlens.tuning.plan import SearchPlan
from commlens.tuning.scores import Slots
from commlens.tuning.search import Search
from commlens.tuning.situation import Applicable
from commlens.tuning.space import Change
from commlens.tuning.trial import InterruptionError, Runner

RESULT, PICTURE = "result.json", "curves.png"


def tune(session: Session, plan: SearchPlan, folder: Path, budget_s: float, launches: int) -> int:
    """Searches, plays the finals, prints and writes what was found; the exit status."""
    budget = Budget(budget_s)
    space = plan.space
    slots = Slots({name for one in plan.settings for value in one.values for name in value.options})
    bench = Bench(
        Runner(session, plan.job),
        Launches(folder, space, slots),
        space,
        slots,
        plan.transports,
        budget,
        plan.by_size,
    )
    for line in plan.summary:
        say(line)
    search = Search(bench, plan.here)
    try:
        with process.signals_listed() as requests:
            bench.requests = requests
            finals, others = _found(search, plan, launches)
    except InterruptionError as interruption:
        say(f"interrupted; go on with commlens tune --resume {folder}")
        return interruption.status
    finally:
        bench.launches.close()
    if not finals:
        output.print_failures(bench)
        raise CommlensError("no launch has measured anything: nothing was tuned", Status.FAILED)
    _report(search, finals, others, folder)
    decided = any(final.verdict is not Verdict.INCONCLUSIVE for final in finals)
    return Status.OK if decided else Status.NOTHING_RAN


def _found(search: Search, plan: SearchPlan, launches: int) -> tuple[list[Final], list[Launch]]:
    bench = search.bench
    search.begin()
    others = _other_transports(bench, plan)
    search.run(reserve_s(bench, launches))
    return play(bench, launches), others


def _other_transports(bench: Bench, plan: SearchPlan) -> list[Launch]:
    """Measured once: what they take without any tuning."""
    if plan.others and not bench.launches.others and bench.has_time():
        bench.launch(OTHER_TRANSPORTS, DEFAULT, transports=plan.others)
    return [launch for launch in bench.launches.others if launch.is_ok]


def _report(search: Search, finals: list[Final], others: list[Launch], folder: Path) -> None:
    bench = search.bench
    for final in finals:
        output.print_target(bench, final.target)
        output.print_importance(search.importance(final.target, final.choice))
    output.print_failures(bench)
    for final in finals:
        output.print_final(bench, final)
    output.print_transports(bench, finals, others)
    changes = [bench.space.change(final.choice) for final in finals]
    document = [output.plain(bench, final, change) for final, change in zip(finals, changes)]
    (folder / RESULT).write_bytes(msgspec.json.format(msgspec.json.encode(document)) + b"\n")
    for final, change in zip(finals, changes):
        if final.is_recommended:
            place = folder if len(finals) == 1 else folder / _file_name(final.target.name)
            _write_fix(place, change, search, final)
    picture.draw(bench, finals, folder / PICTURE)
    echo(folder / PICTURE)
    say(f"{plural(len(bench.launches.done), 'launch')} in {folder}")


def _write_fix(place: Path, change: Change, search: Search, final: Final) -> None:
    title = f"commlens tune: {output.verdict_text(search.bench, final)}"
    for path in fix.write(place, change, title):
        echo(path)


def _file_name(name: str) -> str:
    return name.replace(", ", "-").replace(" ", "-")


def show_plan(plan: SearchPlan, found: Applicable) -> None:
    """What would be tried, and what not."""
    echo(f"commlens run {plan.job}\n")
    for setting in plan.settings:
        names = ", ".join(value.name for value in setting.values)
        needs = ", ".join(f"{name}={text}" for name, text in setting.needs.items())
        with_needs = f" (with {needs})" if needs else ""
        echo(f"{setting.name}: {names}{with_needs}\n    {setting.meaning}")
        if setting.may_break:
            echo(f"    may break: {setting.may_break}")
    if found.why_not:
        echo("\nnot here:")
    for name, why in found.why_not.items():
        echo(f"  {name}: {why}")
    echo("\n" + "\n".join(plan.summary))
