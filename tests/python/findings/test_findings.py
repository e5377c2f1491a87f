"""Findings as a whole: their order, how they are printed, and whatever records may hold."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from commlens.findings import Finding, findings
from commlens.findings.finding import Cost, Evidence, finding_lines, shortened
from commlens.model import load, read
from commlens.render.show import findings_block
from commlens.tuning.space import curated
from conftest import Commlens
from hostile import ESCAPES, files
from record_helpers import parsed, write
from rule_records import (
    FAST,
    SLOW,
    below,
    both,
    failed,
    faulting,
    jump,
    overlap,
    placement,
    sweep,
    with_samples,
)
from run_helpers import cases
from sample_records import BUSY, make_record
from show_helpers import shown

EXAMPLES = int(os.environ.get("COMMLENS_EXAMPLES", "0"))
MEASURED = Path(__file__).resolve().parents[3] / "docs" / "measured"


def test_the_worst_comes_first() -> None:
    records = [
        *both([2.5], "ccl", [1.0]),
        *both([5.0], "ccl", [1.0], benchmark="bandwidth"),
        *failed("failed"),
    ]
    ordered = findings(parsed(*records))
    assert [finding.code for finding in ordered] == ["wrong-results", *["mpi-slower-than-ccl"] * 2]
    assert [round(finding.cost.share, 2) for finding in ordered if finding.cost] == [0.8, 0.6]


def test_a_sentence_has_the_worst_case_and_its_cost() -> None:
    (finding,) = findings(parsed(*both([3, 3, 10, 3, 3], "ccl", FAST)))
    assert finding.sentence == (
        "MPI takes 10 times as long as NCCL or RCCL (latency, 2 ranks, device, 512 B; slower at "
        "5 of 5 sizes): 90% of the time (9.000 us per operation)."
    )
    assert finding.evidence.where == "latency, 2 ranks, device, 8 B to 32 KiB"
    assert finding.evidence.records[0].size == 512 and len(finding.evidence.records) == 10
    assert str(finding) == f"{finding.sentence} {finding.fix}"


def test_a_finding_of_several_launches_has_all_records() -> None:
    shared = placement(gpus=(0, 0))
    (finding,) = findings(
        parsed(*sweep(FAST, placement=shared, start="one"), *sweep(FAST, placement=shared,
                                                                   start="two"))
    )  # fmt: skip
    assert finding.code == "ranks-share-gpu" and len(finding.evidence.records) == 10


def finding(code: str = "a-b", share: float = 0.5) -> Finding:
    return Finding(code, "warning", "t", "S.", Evidence("w"), Cost(1.0, share, "rank"), "C.")


def test_the_short_list_has_the_worst_of_each_code_and_counts_the_others() -> None:
    listed = [finding(), finding(), finding("c-d")]
    assert list(shortened(listed)) == [(listed[0], 1), (listed[2], 0)]
    many = [finding(f"x-{number}") for number in range(14)]
    lines = ["".join(text for text, _ in line) for line in findings_block(many, 80, False).lines]
    assert len([line for line in lines if line.startswith("warning")]) == 10
    assert lines[-2] == "4 more: commlens show --findings all"


def test_lines_are_wrapped_and_name_the_code() -> None:
    lines = finding_lines(finding(), "warning", width=20, more=2)
    assert " ".join(" ".join(lines).split()) == "warning: S. C. [a-b] (and 2 more)"
    assert max(map(len, finding_lines(parsed_finding(), "warning", 60))) <= 60


def threads(cores: list[str], **changes: Any) -> list[dict[str, Any]]:
    """Two ranks of 4 threads each."""
    environment = {"OMP_NUM_THREADS": "4"}
    return [make_record(placement=placement(cores), environment=environment, **changes)]


def busy(**changes: Any) -> list[dict[str, Any]]:
    return [make_record(interference={**BUSY, **changes})]


MAKERS = {"below": below, "busy": busy, "jump": jump, "overlap": overlap, "threads": threads}


@pytest.mark.parametrize(("make", "how", "has", "lacks"), cases("fixes that can be done here"))
def test_a_fix_can_be_done_here(make: str, how: dict[str, Any], has: str, lacks: str) -> None:
    (finding,) = findings(parsed(*map(with_samples, MAKERS[make](**how))))
    assert has in finding.fix and lacks not in finding.fix


def test_what_page_faults_propose_is_tried_by_tune() -> None:
    (finding,) = findings(parsed(*faulting(25, 1e-6)))
    allocator = next(setting for setting in curated() if setting.name == "allocator")
    variables = finding.setting.variables if finding.setting else {}
    assert variables == allocator.values[0].set
    assert all(f"{name}={value}" in finding.fix for name, value in variables.items())


def parsed_finding() -> Finding:
    return findings(parsed(*both(SLOW, "ccl", FAST)))[0]


def test_show_ends_with_findings() -> None:
    lines = shown(*both(SLOW, "ccl", FAST))
    assert "findings" in lines
    assert any(line.startswith("warning: MPI takes 4.0 times as long") for line in lines)
    assert "findings" not in shown(*sweep(FAST))


def test_show_has_every_finding_on_demand(commlens: Commlens, tmp_path: Path) -> None:
    names = ("latency", "bandwidth")
    records = [record for name in names for record in both(SLOW, "ccl", FAST, benchmark=name)]
    file = write(tmp_path / "records.jsonl", *records)
    short, every = (commlens("show", file, "--findings", word).stdout for word in ("worst", "all"))
    assert short.count("warning: MPI") == 1 and "1 more: commlens show --findings all" in short
    assert every.count("warning: MPI") == 2 and "1 more" not in every


def test_a_start_that_is_disturbed_says_nothing_but_so() -> None:
    shared = both(SLOW, "ccl", FAST, placement=placement(cores=("0", "0")))
    assert {finding.code for finding in findings(parsed(*shared))} == {"ranks-share-cores"}


@pytest.mark.parametrize("file", sorted(MEASURED.rglob("*.jsonl")), ids=lambda file: file.stem)
def test_findings_of_measured_records_are_no_others_than_known(file: Path) -> None:
    """Looked at by hand: a rule that says more of these has to be looked at again."""
    loaded = load([file])
    codes = {finding.code for finding in findings(loaded.records, loaded.profiles)}
    assert codes == KNOWN.get(str(file.relative_to(MEASURED)), set())


_CCL, _STAGED, _CEILING = "mpi-slower-than-ccl", "mpi-slower-than-staged", "below-ceiling"
_HIDDEN, _MADE, _GPU = "communication-not-hidden", "communicators-in-a-loop", "ranks-share-gpu"
KNOWN: dict[str, set[str]] = {
    **{
        f"{name}.jsonl": {"starts-differ"}
        for name in ("peer-host", "tune-host-allreduce", "tune-host-latency")
    },
    "fft-oversubscribed.jsonl": {"ranks-share-cores"},
    "history-host.jsonl": {"busy-machine"},
    "h200-x2/peer.jsonl": {_CCL},
    "profile-fft-per-transpose.jsonl": {_MADE},
    **{
        f"h100/{name}.jsonl": {_GPU}
        for name in ("allreduce-ucx", "bandwidth-smcuda", "bandwidth-ucx", "latency-smcuda",
                     "latency-ucx")
    },
    **{
        f"h200-x2/{name}.jsonl": {_CCL, _STAGED}
        for name in ("allreduce-smcuda", "allreduce-ucx", "pairs-smcuda",
                     "second-machine-allreduce-smcuda", "second-machine-allreduce-ucx")
    },
    **{
        f"h200-x2/{name}.jsonl": {_CCL, _STAGED, _CEILING}
        for name in ("bandwidth-smcuda", "bandwidth-ucx", "latency-smcuda", "latency-ucx")
    },
    **{
        f"h200-x2/{name}.jsonl": {_HIDDEN}
        for name in ("gather-scatter-overlap", "xtx", "xtx-blocks", "xtx-tuned", "xtx-tuned-512",
                     "xtx-tuned-ccl", "xtx-wide")
    },
    "h200/bp5-again.jsonl": {"gpu-clocks-changed"},  # at the GPU's power limit
    "h200-x2/gather-scatter.jsonl": {_CCL},
    "h200-x2/nccl-Simple.jsonl": {"busy-machine"},  # the protocol is looked at, not the time
    "h200-x4/one-sided.jsonl": {"busy-machine"},
    "h200-x2/tune-latency-ucx.jsonl": {"starts-differ"},
    "h200-x2/doctor.jsonl": {"ranks-share-cores", "starts-differ", "transport-not-available"},
}  # fmt: skip


@given(text=files())
@settings(max_examples=EXAMPLES or 200, deadline=None, suppress_health_check=list(HealthCheck))
def test_findings_survive_any_record(text: str) -> None:
    loaded = read(text.splitlines(keepends=True))
    for finding in findings(loaded.records, loaded.profiles):
        for line in finding_lines(finding, finding.severity):
            assert line.isprintable()
        if finding.cost:
            assert 0 <= finding.cost.share <= 1 and finding.cost.seconds >= 0


def hostile_texts() -> list[dict[str, Any]]:
    text = f"<script>{{0}}{{fix}}{ESCAPES}"
    bad = failed("failed", benchmark=text, start="two")
    bad[0]["validation"]["message"] = text * 500
    return [*both(SLOW, "ccl", FAST, versions={"ccl": text, "mpi": text}), *bad]


def test_texts_of_records_are_texts(commlens: Commlens, tmp_path: Path) -> None:
    file = write(tmp_path / "records.jsonl", *hostile_texts())
    done = commlens("show", file, "--findings", "all")
    assert done.stdout.replace("\n", "").isprintable()
    section = done.stdout.partition("\nfindings\n")[2]
    assert "[wrong-results]" in section and "[mpi-slower-than-ccl]" in section
    assert len(section) < 3000
