"""What stands in a page, and that it needs nothing else."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from pathlib import Path

import pytest

from commlens.model import load_each
from commlens.render import report
from commlens.render.report import build, to_html
from commlens.render.report.html import MOST_COLUMNS, PageTable, _environment
from commlens.render.table import Column, Table
from conftest import Commlens
from record_helpers import write
from report_helpers import Page, assert_harmless, page_of, report_of, sweep, write_all
from sample_records import make_record


def test_the_page_has_everything_in_its_order(tmp_path: Path) -> None:
    page = to_html(build(load_each(write_all(tmp_path))))
    sections = re.findall(r'<section id="([\w-]+)"', page)
    assert sections[:3] == ["findings", "machine", "benchmark-1-latency"]
    assert sections[-3:] == ["timelines", "profiles", "data"]
    text = Page(page).text
    assert "2 NVIDIA H200 on node01, Open MPI 4.1.4" in text
    assert "what latency measures" in text and "the latency_us of latency" in text
    assert "memory copy a copy" in text, "how a ceiling was measured"
    assert "commlens-bench latency" in text, "the command line"
    assert_harmless(page)
    targets = [link[1:] for link in Page(page).attributes("href") if link.startswith("#")]
    assert len(targets) > 5 and set(targets) <= set(Page(page).ids), "every link leads somewhere"


def test_a_finding_leads_to_its_picture_and_has_a_fix(tmp_path: Path) -> None:
    report = report_of(tmp_path, *sweep())
    codes = {conclusion[0].finding.code: conclusion for conclusion in report.conclusions}
    conclusion = codes["mpi-slower-than-ccl"]
    page = to_html(report)
    (target,) = {link.target for entry in conclusion for link in entry.links}
    assert f'href="#{target}"' in page
    section = page[page.index(f'<article class="panel" id="{target}">') :]
    assert section.index("<svg") < section.index("<table") < section.index("</article>")
    assert conclusion[0].finding.sentence in Page(page).text.replace("\N{NO-BREAK SPACE}", " ")


def test_the_policy_allows_the_script_and_style_of_the_page_alone(tmp_path: Path) -> None:
    text = page_of(tmp_path, make_record())
    (policy,) = [meta["content"] for meta in Page(text).all("meta") if "http-equiv" in meta]
    assert "default-src 'none'" in policy and "unsafe" not in policy
    for tag in ("script", "style"):
        (source,) = re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = b64encode(hashlib.sha256(source.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_the_same_records_give_the_same_page(tmp_path: Path) -> None:
    """In which the points of curves say their results, and a size stands at each row to sort by."""
    page = page_of(tmp_path, *sweep())
    assert page == page_of(tmp_path, *sweep())
    assert "<title>mpi · 64 B · latency (us) 11.00</title>" in page
    assert '<td class="s-again">8 B<' in page


def test_long_texts_that_repeat_are_notes(tmp_path: Path) -> None:
    long = "sm,self,cuda_copy,cuda_ipc,gdr_copy,rc,ud,tcp"
    records = [
        make_record(bytes=size, start=tls, environment={"UCX_TLS": tls}, settings=["UCX_TLS"])
        for size in (8, 16, 32, 64)
        for tls in (long, "sm")
    ]
    page = page_of(tmp_path, *records)
    table = page[page.index('<dl class="notes">') : page.index("</table>")]
    assert table.count(long) == 1 and table.count("<td>[1]") == 4
    assert f"<dt>[1]</dt><dd>UCX_TLS={long}</dd>" in table
    commands = page[page.index('id="commands"') :]
    assert "commlens-bench latency" in commands


def test_the_style_of_a_column_is_said_once() -> None:
    ends = ("best", "2x")
    columns = [
        Column[int]("name", "ab".__getitem__, left=True),
        Column[int]("n", "12".__getitem__, style="dim"),
        Column[int]("check", "pp".__getitem__, left=True, style=lambda _: "green"),
        Column[int]("to best", ends.__getitem__, style=("green", "").__getitem__),
    ]
    table = PageTable.of(Table(columns, range(2)), 500)
    assert table.style == "left1 dim2 left3 green3"
    assert [cell.style for cell in table.rows[0]] == ["", "", "", "green"]
    wide = PageTable.of(Table([columns[0]] * (MOST_COLUMNS + 1), range(1)), 500)
    assert wide.rows[0][-1].style == "left", "of columns that the style cannot name"
    page_style = _environment().get_template("report.css").render()
    assert f".left{MOST_COLUMNS} " in page_style and ".green3 " in page_style


def test_of_more_records_than_a_report_can_hold_the_first_are_shown(
    commlens: Commlens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "MOST_RECORDS", 20)
    records = [make_record(bytes=size) for size in range(1, 50)]
    records.append(make_record(bytes=50, status="failed", reason="a wrong sum"))
    file = write(tmp_path / "records.jsonl", *records)
    assert commlens("report", file).returncode == 0
    text = Page(Path("report.html").read_text()).text
    assert "50 records 1 failed, 21 looked at" in text
    assert "looked at are 21 of 50 records, the first in the files and those that failed" in text
    assert "a wrong sum" in text, "what failed is shown, however late it came"
    assert "records.jsonl is too large to be in this page" in text


def test_a_long_table_is_cut_and_says_so(tmp_path: Path) -> None:
    records = [make_record(bytes=size) for size in range(1, 602)]
    page = Page(page_of(tmp_path, *records))
    assert len(page.all("tr")) < 520
    assert "The first 500 of 601 records are shown; all are in the raw records." in page.text


def test_unreadable_lines_are_named(commlens: Commlens, tmp_path: Path) -> None:
    file = write(tmp_path / "records.jsonl", make_record())
    file.write_text(file.read_text() + "rubbish\n")
    done = commlens("report", file)
    assert done.returncode == 1
    assert done.stdout == "report.html\n"
    assert "records.jsonl:3: not a record" in done.stderr
    assert "records.jsonl:3: not a record" in Path("report.html").read_text()


def test_starts_with_different_versions_are_unusual(tmp_path: Path) -> None:
    other = {"commlens": "0.1.0", "mpi": "Open MPI 5.0.7"}
    page = page_of(tmp_path, make_record(), make_record(bytes=8, versions=other))
    assert "launches differ in mpi" in Page(page).text


def test_a_file_that_cannot_be_written_is_named(commlens: Commlens, tmp_path: Path) -> None:
    file = write(tmp_path / "records.jsonl", make_record())
    done = commlens("report", file, "--out", file / "page.html")
    assert done.returncode != 0
    assert done.stderr.startswith(f"commlens: --out {file / 'page.html'} cannot be written: ")


def test_without_records_there_is_no_report(commlens: Commlens, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    done = commlens("report", tmp_path / "empty.jsonl")
    assert done.returncode == 2 and "there is no record in" in done.stderr
    assert not Path("report.html").exists()


def _first_benchmark(file: Path) -> str:
    """That of the first line of a file of records; empty for a profile."""
    with file.open() as lines:
        return str(json.loads(next(lines)).get("benchmark", {}).get("name", ""))


def test_a_page_of_every_benchmark_can_be_mailed() -> None:
    files = [*(Path(__file__).parents[4] / "docs" / "measured").rglob("*.jsonl")]
    files.sort(key=lambda file: file.stat().st_size, reverse=True)  # the smallest of each remains
    file_of = {name: file for file in files if (name := _first_benchmark(file))}
    assert len(file_of) > 8
    chosen = sorted(set(file_of.values()))
    assert len(to_html(build(load_each(chosen))).encode()) < 2_000_000


@pytest.mark.parametrize("name", ["latency-ucx", "latency-smcuda"])
def test_a_page_of_measured_records_is_small(name: str) -> None:
    file = Path(__file__).parents[4] / "docs" / "measured" / "h200-x2" / f"{name}.jsonl"
    assert len(to_html(build(load_each([file])))) < 300_000
