"""Whatever stands in records: a report of them harms nobody, and is not larger than can be sent."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from commlens.model import load_each
from commlens.render.report import build, to_html, to_markdown
from conftest import Commlens
from hostile import ESCAPES, files, paths, replaced, samples, text_of, value_at
from report_helpers import Page, assert_harmless, calls_of, page_of
from sample_records import lines, make_record

MARKUP = (
    "</script><script>alert(1)</script></style><style>*{}</style><!-- -->"
    "<img src=x onerror=alert(1)>\"'><a href='https://evil.example/'>&lt;{{ 7*7 }}{% raw %}]]>"
)
EXAMPLES = int(os.environ.get("COMMLENS_EXAMPLES", "0"))
few = settings(
    max_examples=EXAMPLES // 10 or 10,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)


@given(text=files())
@few
def test_a_report_survives_any_record(text: str, commlens: Commlens) -> None:
    Path("records.jsonl").write_text(text, encoding="utf-8")
    Path("report.html").unlink(missing_ok=True)
    done = commlens("report", "records.jsonl")
    assert done.returncode in (0, 1, 2)
    assert all(line.startswith("commlens: ") for line in done.stderr.splitlines()), done.stderr
    if done.stdout:
        assert_harmless(Path("report.html").read_text())


@given(text=files())
@settings(few, max_examples=EXAMPLES or 40)
def test_markdown_survives_any_record(text: str, commlens: Commlens) -> None:
    Path("records.jsonl").write_text(text, encoding="utf-8")
    done = commlens("report", "records.jsonl", "--format", "markdown")
    assert done.returncode in (0, 1, 2)
    assert done.stdout.replace("\n", "").isprintable()


def filled(file: list[dict[str, Any]], text: str) -> list[dict[str, Any]]:
    """With the text in every place that takes any."""
    fixed = {"kind", "schema", "start", "time", "status", "role", "better", "timing", "memory"}
    changed = []
    for line in file:
        for path in list(paths(line)):
            free = not fixed & {part for part in path if isinstance(part, str)}
            named = path[-1] in _FREE or "environment" in path or "versions" in path
            if free and named and isinstance(value_at(line, path), str):
                line = replaced(line, path, text)
        changed.append(line)
    return changed


_FREE = {"description", "definition", "label", "help", "host", "name", "uuid", "pci", "method",
         "message", "reason", "text", "unit", 0}  # fmt: skip


@pytest.mark.parametrize("text", [MARKUP, ESCAPES.encode("utf-8", "replace").decode(), "x" * 900])
def test_no_text_of_a_record_is_markup(text: str, tmp_path: Path) -> None:
    hostile = make_record(
        transport=text,
        reason=text,
        environment={"UCX_TLS": text},
        warnings=[text],
        notes=[text],
        versions={"mpi": text, "commlens": text},
        command=[text],
        report=[text, text],
        placement=_ranks(2, text),
    )
    start = hostile["start"]
    start["transports"] = [text]
    for declared in (*start["benchmark"]["metrics"], *start["benchmark"]["parameters"]):
        declared.update({"label": text, "definition": text} if "label" in declared else {})
    start["benchmark"]["description"] = text
    hostile["ceilings"][0].update(name=text, method=text)
    file = tmp_path / "a<b>&.jsonl"
    file.write_text("".join(lines([hostile])))
    report = build(load_each([file]))
    assert len(report.loaded.records) == 1, report.loaded.problems
    page = to_html(report)
    assert_harmless(page)
    assert not [comment for comment in Page(page).comments if comment.strip()]
    if text == MARKUP:
        assert "<script>alert(1)" not in page
        markdown = to_markdown(report)
        code = False
        for line in markdown.splitlines():
            code ^= line.startswith("```")
            assert code or ("<script" not in line and "https://" not in line)


@pytest.mark.parametrize("file", samples(), ids=lambda file: file[-1].get("benchmark", "profile"))
def test_all_names_may_be_markup(file: list[dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "records.jsonl").write_text("".join(map(text_of, filled(file, MARKUP[:200]))))
    sources = load_each([tmp_path / "records.jsonl"])
    assert_harmless(to_html(build(sources)))


def test_very_many_records_make_no_larger_page(tmp_path: Path) -> None:
    """Of many groups, launches and sizes."""
    records = [
        make_record(bytes=size, start=f"s{start}", parameters={"bytes": size, "pairs": start})
        for start in range(1, 301)
        for size in (8, 16)
    ]
    page = page_of(tmp_path, *records)
    assert len(page) < 1_500_000
    text = Page(page).text
    assert "shown are the first 120 of 300 groups of records" in text
    assert "shown are the first 200 of 300 launches" in text
    assert "600 records" in text


def test_numbers_of_any_size_are_shown(tmp_path: Path) -> None:
    records = [make_record(median_us=time, bytes=2**62) for time in (1e-29, 1e29)]
    records += [make_record(ranks=1, bytes=size, placement=_ranks(1)) for size in (0, 2**63 - 1)]
    assert_harmless(page_of(tmp_path, *records))


def test_a_start_with_very_many_ranks_is_drawn(tmp_path: Path) -> None:
    count = 20_000
    record = make_record(ranks=count, placement=_ranks(count), nodes=count // 4)
    page = page_of(tmp_path, record)
    assert "and 4996 more nodes" in page
    assert len(page) < 500_000


def _ranks(count: int, host: str = "") -> list[dict[str, Any]]:
    return [
        {"rank": rank, "host": host or f"n{rank // 4}", "cores": "0", "numa_nodes": "0"}
        for rank in range(count)
    ]


def test_the_picture_of_a_case_measured_very_often_takes_few_calls(tmp_path: Path) -> None:
    """Records of one start, size and transport are one bar, here beside published results."""
    measured = Path(__file__).parents[4] / "docs" / "measured" / "h200-x2" / "allreduce-ucx.jsonl"
    start, record = measured.read_text().splitlines(keepends=True)[:2]

    def calls(count: int) -> int:
        (tmp_path / "records.jsonl").write_text(start + record * count)
        return calls_of(to_html, build(load_each([tmp_path / "records.jsonl"])))

    calls(2)  # what is done once
    assert (calls(600) - calls(300)) / 300 < 4000


def test_a_record_takes_few_calls(tmp_path: Path) -> None:
    """However many there are: a report of a million is to end."""

    def calls(count: int) -> int:
        content = lines(make_record(bytes=size + 1) for size in range(count))
        (tmp_path / "records.jsonl").write_text("".join(content))
        return calls_of(build, load_each([tmp_path / "records.jsonl"]))

    calls(10)  # what is done once
    assert (calls(2600) - calls(1600)) / 1000 < 200
