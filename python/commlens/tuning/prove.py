"""Tries a fix that is a setting: the smallest run that shows the trouble, interleaved with and
without."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from commlens.base.errors import CommlensError
from commlens.compare import Side, judge, match
from commlens.compare.matching import case_names
from commlens.compare.verdicts import Proof
from commlens.findings import Setting
from commlens.findings.behaviour import Listener, Plan, folder_of, listened
from commlens.findings.examination import Examination
from commlens.jobs.causes import Result
from commlens.jobs.native import Native
from commlens.jobs.record_file import RecordFile
from commlens.jobs.run import JobRun, interleave
from commlens.jobs.spec import Options
from commlens.model import Record, case_key
from commlens.tuning.launches import InterruptionError

_LAUNCHES = 5  # of each side: fewer decide little
_SHORT = {
    "batches": "10", "max-time": "2", "repeat": "50", "warmup": "10", "no-ceilings": None,
    "timeout": "25",
}  # fmt: skip


@dataclass
class _Side(JobRun):
    """A side whose job fails once is not launched again: it has shown what it does."""

    environment: Mapping[str, str | None] = field(default_factory=dict)
    said: Listener | None = None
    why_none: str = ""

    @property
    def is_refused(self) -> bool:
        return bool(self.results) and not any(
            record.measured for record in self.results[-1].records
        )

    def run(self, launch: int, left: str = "") -> Result:
        with _without(name for name, value in self.environment.items() if value is None):
            result = super().run(launch, left)
        lines = self.said.take() if self.said else ()
        if self.is_refused:
            reasons = [record.reason or record.validation.message for record in result.records]
            self.why_none = next(filter(None, [*lines[-1:], *reasons]), f"status {result.status}")
        return result

    @property
    def records(self) -> list[Record]:
        return [record for result in self.results for record in result.records if record.measured]


@contextmanager
def _without(names: Iterator[str]) -> Iterator[None]:
    """The environment that jobs inherit, without some variables."""
    before = {name: os.environ.pop(name) for name in list(names) if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(before)


def prove_all(
    examination: Examination,
    native: Native,
    plan: Plan,
    proofs: dict[int, Proof],
    tell: Callable[[str], None],
) -> int:
    """Puts them into `proofs` by the id of the finding. Returns the status of the signal with which
    the user has ended it before, or 0."""
    for finding in examination.findings:
        if finding.setting is None or not finding.setting.shown_by:
            continue
        tell(f"trying {finding.setting} ({finding.code})")
        try:
            proofs[id(finding)] = _prove(finding.setting, native, plan)
        except InterruptionError as stopped:
            return stopped.status
        except (CommlensError, OSError, ImportError) as error:
            proofs[id(finding)] = Proof(finding.setting.shown_by[0], why_no_before=str(error))
    return 0


def _prove(setting: Setting, native: Native, plan: Plan) -> Proof:
    with folder_of(plan) as folder, listened() as said:
        sides = [_side(used, setting, native, plan, folder, said) for used in (Setting(), setting)]
        if interruption := interleave(sides):
            raise InterruptionError(interruption.status)
    return _proof(sides[0], sides[1])


def _side(
    used: Setting, shown: Setting, native: Native, plan: Plan, folder: Path, said: Listener
) -> _Side:
    arguments = used.launcher_arguments or plan.spec.launcher_arguments
    here = replace(plan, spec=replace(plan.spec, launcher_arguments=arguments))
    session = here.session(native, folder)
    benchmark, *words = shown.shown_by
    options = Options(_SHORT).replaced_by(Options.parse(words))
    entry = here.job(benchmark, session, options)
    variables = {name: value for name, value in used.variables.items() if value is not None}
    (job,) = session.jobs([replace(entry, environment=variables, launches=_LAUNCHES)])
    file = RecordFile(folder / "doctor-fixes.jsonl", collects=True)
    return _Side(session, job, lambda _: file, environment=used.variables, said=said)


def _proof(before: _Side, after: _Side) -> Proof:
    matched = match(Side("before", before.records), Side("after", after.records))
    record = next(iter(after.records or before.records), None)
    reasons = before.why_none, after.why_none
    if record is None:
        return Proof(before.job.benchmark, "", None, None, *reasons)
    (case,) = case_names({case_key(record): [record]}).values()
    for row in judge([matched]).rows:
        return Proof(case, row.case.metric.unit, *row.medians, row=row)
    metric = record.metrics[0]
    value = record.statistics[metric.name].median
    medians = [value if side.records else None for side in (before, after)]
    return Proof(case, metric.unit, medians[0], medians[1], *reasons)
