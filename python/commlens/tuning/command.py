"""`commlens tune`, from the plan to the files."""

from __future__ import annotations

from pathlib import Path

import msgspec

from commlens.base.errors import CommlensError, Status, say
from commlens.base.terminal import echo
from commlens.base.text import plural, printable
from commlens.compare import Verdict
from commlens.jobs import process
from commlens.jobs.remaining import rough_time
from commlens.jobs.session import Session
from commlens.knowledge.secrets import mask_variables
from commlens.tuning import fix as fix
from commlens.tuning import output
from commlens.tuning.bench import DEFAULT, Bench, Budget
from commlens.tuning.finals import Final, play, reserve_s
from commlens.tuning.launches import OTHER_TRANSPORTS, InterruptionError, Launches, Runner
from commlens.tuning.plan import SearchPlan
from commlens.tuning.scores import Slots
from commlens.tuning.search import Search

RESULT, PICTURE = "result.json", "curves.png"


def tune(session: Session, plan: SearchPlan, folder: Path, budget_s: float, launches: int) -> int:
    """Searches, plays the finals, prints and writes what was found; the exit status."""
    budget, space = Budget(budget_s), plan.space
    values = [value for setting in plan.settings for value in setting.values]
    slots = Slots({name for value in values for name in value.options})
    made = Launches(folder, slots)
    for launch in made.done:
        if not space.has(launch.choice):
            made.close()
            raise CommlensError(
                f"--resume {folder}: its journal has settings that its search has not"
                f" ({printable(str(mask_variables(launch.choice)))[:80]}); begin another search"
            )
    runner = Runner(session, plan.job)
    bench = Bench(runner, made, space, plan.transports, budget, plan.by_size)
    for line in plan.summary:
        say(line)
    search = Search(bench, plan.here)
    try:
        with process.signals_listed() as bench.requests:
            search.begin()
            if plan.others and not made.others and bench.has_time():  # without any tuning
                bench.launch(OTHER_TRANSPORTS, DEFAULT, plan.others)
            search.run(reserve_s(bench, launches))
            finals = play(bench, launches)
    except InterruptionError as interruption:
        say(f"interrupted; go on with commlens tune --resume {folder}")
        return interruption.status
    finally:
        made.close()
    if not finals:
        output.print_failures(bench)
        raise CommlensError("no launch has measured anything: nothing was tuned", Status.FAILED)
    _report(search, finals, folder)
    is_complete = not search.skipped and not any(final.choice for final in finals)
    if not is_complete and not any(final.is_compared for final in finals):
        return Status.FAILED
    decided = any(final.verdict is not Verdict.INCONCLUSIVE for final in finals)
    return Status.OK if decided else Status.NOTHING_RAN


def _report(search: Search, finals: list[Final], folder: Path) -> None:
    bench = search.bench
    for final in finals:
        output.print_target(bench, final.target)
        output.print_importance(search, final)
    output.print_failures(bench)
    for final in finals:
        output.print_final(bench, final)
    output.print_transports(bench, finals)
    document = msgspec.json.encode([output.plain(bench, final) for final in finals])
    (folder / RESULT).write_bytes(msgspec.json.format(document) + b"\n")
    for final in finals:
        if final.is_recommended:
            name = final.target.name.replace(", ", "-").replace(" ", "-")
            place = folder if len(finals) == 1 else folder / name
            title = f"commlens tune: {output.verdict_text(bench, final)}"
            for path in fix.write(place, bench.space.change(final.choice), title):
                echo(path)
    output.draw_curves(bench, finals, folder / PICTURE)
    echo(folder / PICTURE)
    say(f"{plural(len(bench.launches.done), 'launch')} in {folder}")


def show_plan(plan: SearchPlan, budget_s: float) -> None:
    """What would be tried, and what not, and how long it would take."""
    echo(f"commlens run {plan.job}\n")
    for setting in plan.settings:
        choices = [{setting.name: value.name} for value in setting.values]
        names = ", ".join(mask_variables(choice)[setting.name] for choice in choices)
        needs = ", ".join(f"{name}={text}" for name, text in setting.needs.items())
        with_needs = f" (with {needs})" if needs else ""
        echo(f"{setting.name}: {names}{with_needs}\n    {setting.meaning}")
        if setting.may_break:
            echo(f"    may break: {setting.may_break}")
    if plan.why_not:
        echo("\nnot here:")
    for name, why in plan.why_not.items():
        echo(f"  {name}: {why}")
    echo("\n" + "\n".join(plan.summary))
    echo(f"it takes at most {rough_time(budget_s)}, the finals included (--budget)")
