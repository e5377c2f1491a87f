"""Results above their ceiling: a statement about the ceiling, which nothing else uses."""

from __future__ import annotations

from typing import Any

import pytest

from commlens.base.text import format_fraction
from commlens.findings import findings
from commlens.model import Record
from commlens.model.launches import over_launches
from commlens.tuning.scores import Slots
from plot_helpers import drawn, legends
from record_helpers import launches, parsed
from rule_records import below
from sample_records import ceiling, make_record


def record(*ceilings: dict[str, Any]) -> Record:
    return parsed(make_record(ceilings=list(ceilings)))[0]


def copied(fraction: float, name: str = "memory copy", **others: Any) -> dict[str, Any]:
    metrics = {"latency_us": 2.0 * fraction}
    return ceiling(name, 2 * fraction, fraction, rate=10.0, unit="GB/s", metrics=metrics, **others)


@pytest.mark.parametrize(
    ("fraction", "said", "is_exceeded"),
    [
        (0.9, None, False),
        (1.0, None, False),
        (1.01, None, True),
        (1.3, True, True),
        (1, False, False),
    ],
)
def test_a_record_says_it_and_an_old_one_is_judged_by_its_fraction(
    fraction: float, said: bool | None, is_exceeded: bool
) -> None:
    others = {} if said is None else {"ceiling_exceeded": said}
    (found,) = record(copied(fraction, **others)).ceilings
    assert found.is_exceeded is is_exceeded


def test_the_tightest_ceiling_is_shown_but_not_used_where_it_was_exceeded() -> None:
    above = record(copied(1.5), copied(0.5, "peer copy"))
    assert above.ceiling is not None and above.ceiling.name == "memory copy"
    assert format_fraction(above.ceiling.fraction) == "> 100% (ceiling not reached)"
    assert above.valid_ceiling is None
    assert [one.name for one in above.valid_ceilings] == ["peer copy"]


def test_the_mean_over_launches_leaves_it_out() -> None:
    lines = launches(2.0, 2.0, 2.0)
    for line, fraction in zip(lines, (0.5, 1.8, 0.7)):
        line["ceilings"] = [copied(fraction)]
    (merged,) = over_launches(parsed(*lines))
    (mean,) = merged.ceilings
    assert mean.fraction == pytest.approx(0.6) and not mean.is_exceeded
    for line in lines:
        line["ceilings"] = [copied(1.8)]
    (merged,) = over_launches(parsed(*lines))
    assert merged.ceilings[0].is_exceeded, "all launches did"


def test_no_picture_finding_or_tuning_uses_it() -> None:
    above = make_record(ceilings=[copied(1.5)])
    assert not any("ceiling" in label for labels in legends(drawn(above)) for label in labels)
    (value,) = Slots().values(parsed(above)).values()
    assert value.ceiling is None
    codes = [{one.code for one in findings(parsed(*below(share)))} for share in (0.2, 1.2)]
    assert ["below-ceiling" in found for found in codes] == [True, False]
