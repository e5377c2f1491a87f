"""Runs benchmarks and suites of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Union

from commlens.api.records import Place, Records
from commlens.base.errors import CommlensError, Status, status_text
from commlens.base.text import plural
from commlens.compare import history
from commlens.compare.history.store import check as check_store
from commlens.compare.history.writing import Added
from commlens.jobs import suite
from commlens.jobs.launchers import CHOICES
from commlens.jobs.native import find_native
from commlens.jobs.process import signals_restored
from commlens.jobs.run import Ran, run_into_file, run_suite
from commlens.jobs.session import Session, Settings
from commlens.jobs.sites import site as sites
from commlens.jobs.sites.site import Site
from commlens.jobs.spec import JobSpec, Options
from commlens.model import option_text

Value = Union[str, int, float]
OUT = "results"  # the folder for records, of which commands make theirs, too


class RunError(CommlensError):
    """A launch failed, or a result was wrong. `records` are those that were measured."""

    def __init__(self, message: str, status: int, records: Records) -> None:
        super().__init__(message, status)
        self.records = records


def run(
    *benchmarks: str,
    ranks: int = 0, nodes: int = 0, ranks_per_node: int = 0, launches: int = 0,
    env: Mapping[str, str] | None = None, launcher: str = "auto", launcher_args: Sequence[str] = (),
    site: str = "", out: Place = OUT, keep: bool = False, check: bool = True,
    **options: Value | Sequence[Value] | None,
) -> Records:  # fmt: skip
    """Runs benchmarks, or a suite, as `commlens run` does, and returns their records, which are
    also in files in the folder `out`.

    `options` are those of the benchmarks, with `_` in the place of `-`: a list is several values,
    True is an option without a value, False and None leave it out. `keep` adds the records to the
    history, as a site's `keep: true` does. Prints nothing. Raises CommlensError for what cannot be
    run, before anything runs, and RunError where something failed; without `check`, the records say
    so themselves.
    """
    if not benchmarks:
        raise CommlensError("run what? name a benchmark or a suite: `commlens list` shows them")
    if launcher not in CHOICES:
        raise CommlensError(f"launcher '{launcher}': write one of {', '.join(CHOICES)}")
    given = JobSpec(
        "", options_of(options), ranks, dict(env or {}), launcher_args, launches, nodes,
        ranks_per_node,
    )  # fmt: skip
    of_site = sites.load(site) if site else None
    keeps = keep or (of_site is not None and of_site.keep)
    settings = Settings(launcher, Path(out), silent=True)
    with signals_restored():
        ran = run_jobs(benchmarks, given, settings, of_site=of_site, keeps=keeps)
    assert ran is not None, "it is no dry run"
    records = Records.of(ran.records, " ".join(benchmarks))
    if keeps and ran.records:
        try:
            keep_records(ran, of_site)
        except CommlensError as error:
            raise RunError(str(error), Status.FAILED, records) from error
    if ran.interruption:
        raise KeyboardInterrupt
    if check and ran.status != Status.OK:
        reasons = dict.fromkeys(result.reason for result in ran.results if result.reason)
        wrong = (record.validation.message for record in ran.records if record.status == "failed")
        text = "; ".join(filter(None, [*reasons, *dict.fromkeys(wrong)]))
        what = f"{records.name}: {status_text(ran.status)}"
        raise RunError(f"{what}: {text}" if text else what, ran.status, records)
    return records


def options_of(values: Mapping[str, Value | Sequence[Value] | None]) -> Options:
    """Named arguments as options of a benchmark."""
    options = Options()
    for name, value in values.items():
        if value is None or value is False:
            continue
        words = [value] if isinstance(value, (str, int, float)) else value
        text = None if value is True else ",".join(option_text(word) for word in words)
        options[name.replace("_", "-")] = text
    return options


def run_jobs(
    names: Sequence[str],
    given: JobSpec,
    settings: Settings,
    *,
    counts: Sequence[int] = (),
    of_site: Site | None = None,
    keeps: bool = False,
) -> Ran | None:
    """Runs a benchmark, on each of these numbers of ranks if there are any, several benchmarks or a
    suite, with the options and numbers of `given`; None after a dry run.

    Raises CommlensError for what cannot be run, before anything runs.
    """
    overrides = given
    if of_site is not None:
        launcher, overrides = sites.on_site(of_site, settings.launcher, given)
        settings = replace(settings, launcher=launcher)
    if keeps:
        check_store(history.store_of(of=of_site))
    wanted = suite.of_names(names) if len(names) > 1 or suite.is_suite(names[0]) else None
    session = Session(find_native(), settings)
    if wanted is not None:
        return run_suite(session, wanted.name, _entries(wanted, overrides, session))
    spec = JobSpec(names[0]).overridden_by(overrides)
    titles = [
        f"[{number}/{len(counts)}] {names[0]} on {plural(count, 'rank')}"
        for number, count in enumerate(counts, 1)
    ]
    specs = [replace(spec, ranks=count) for count in counts] or [spec]
    return run_into_file(session, specs, titles)


def _entries(wanted: suite.Suite, overrides: JobSpec, session: Session) -> list[JobSpec]:
    native, settings = session.native, session.settings
    is_here = settings.dry_run or "memory" in overrides.options or native.about.has_gpu
    if wanted.needs_gpu and not is_here:
        raise CommlensError(
            f"{wanted.name} needs GPUs, and there are none that commlens can use here (backend"
            f" {native.about.backend}); --memory host runs it in host memory"
        )
    specs, smaller = suite.overridden(wanted.entries, overrides, native)
    for count in sorted({job.ranks for job in smaller}):
        alike = dict.fromkeys(job.benchmark for job in smaller if job.ranks == count)
        ranks = f"{plural(count, 'rank')} of the {overrides.ranks}"
        session.say(f"on {ranks}, two for each pair: {', '.join(alike)}")
    return specs


def keep_records(ran: Ran, of_site: Site | None) -> Added:
    """Adds what was run just now to the history, after an interruption too."""
    return history.keep(ran.records, history.store_of(of=of_site), of_site)
