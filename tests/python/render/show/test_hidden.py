"""How much communication is hidden, as far as the samples can say it."""

from __future__ import annotations

import pytest

from commlens.findings import findings
from commlens.model import Statistic
from commlens.render.show.parts import efficiency_text, hidden_text
from record_helpers import parsed
from rule_records import overlap


def hidden(*samples: float) -> str:
    return hidden_text(Statistic.of(samples))


@pytest.mark.parametrize(
    ("samples", "text"),
    [
        ([0.8, 0.82, 0.83, 0.83, 0.84, 0.86], "83% [80%, 86%]"),
        ([0.2, 0.4, 0.6], "40% (n=3)"),
        ([0.9, 0.95, 1.0, 1.0, 1.05, 1.1], "all [90%, all]"),
        ([-0.3, -0.2, -0.1, -0.1, 0.0, 0.1], "none [none, 10%]"),
        ([-70.74, -20.0, -10.5, -10.0, 5.0, 8.21], "below the noise"),
        ([-0.3, 0.2, 0.9], "below the noise"),
    ],
)
def test_a_share_that_its_samples_do_not_support_is_not_shown(
    samples: list[float], text: str
) -> None:
    assert hidden(*samples) == text


def test_nothing_overlaps_better_than_perfectly() -> None:
    assert [*map(efficiency_text, (0.934, 1.0, 1.2))] == ["93%", "100%", "> 100% (noise)"]


def test_noise_is_no_finding() -> None:
    (line,) = overlap(0.1)
    assert "communication-not-hidden" in {finding.code for finding in findings(parsed(line))}
    line["statistics"]["hidden_communication"].update(min=-9.0, ci_low=-8.0)
    assert "communication-not-hidden" not in {finding.code for finding in findings(parsed(line))}
