"""A report as Markdown, for a ticket."""

from __future__ import annotations

import re
from pathlib import Path

from commlens.render.markdown import escaped, paragraphs, prose, table_lines
from commlens.render.table import Column, Table
from conftest import Commlens
from record_helpers import write
from report_helpers import markdown_of, sweep
from sample_records import make_record


def test_it_has_the_sections_of_the_page_in_their_order(tmp_path: Path) -> None:
    text = markdown_of(tmp_path, *sweep())
    heads = re.findall(r"^## (.*)$", text, re.MULTILINE)
    assert heads == ["What was found", "The machine", "latency", "How it was made"]
    assert "(`mpi-slower-than-ccl`)" in text
    assert "| 8 B | mpi | device | 10.00 |" in text
    assert "| 8 B | ccl | device | 2.000 |" in text, "a size stands at each row"


def test_it_goes_to_the_standard_output_or_to_a_file(commlens: Commlens, tmp_path: Path) -> None:
    file = write(tmp_path / "records.jsonl", make_record())
    printed = commlens("report", file, "--format", "markdown")
    assert printed.returncode == 0 and printed.stdout.startswith("# node, Open MPI 4.1.4\n")
    named = commlens("report", file, "--format", "markdown", "--out", "report.md")
    assert named.stdout == "report.md\n"
    assert Path("report.md").read_text() == printed.stdout
    assert not Path("report.html").exists()


def test_no_text_is_markup() -> None:
    assert escaped("1,234.5") == "1,234.5" and escaped("mpi") == "mpi"
    assert escaped("a|b <c> `d` *e* @f") == "a\\|b &lt;c&gt; \\`d\\` \\*e\\* &#64;f"
    assert escaped("https://x.example") == "https&#58;//x.example"
    assert escaped("x\x1b[31m\ny") == "x?\\[31m y" and escaped("- x") == "\\- x"
    assert len(escaped("x" * 10_000)) < 400


def test_settings_in_sentences_of_ours_are_code() -> None:
    assert prose("Set `UCX_TLS=a_b` (or *c*).") == r"Set `UCX_TLS=a_b` (or \*c\*)."
    assert prose("one ` alone_") == "one  alone\\_"


def test_tables_are_cut_and_say_so() -> None:
    columns = [Column[int]("size\n(B)", "112".__getitem__), Column[int]("a|b", "xxx".__getitem__)]
    lines = list(table_lines(Table(columns, range(3)), most_rows=2))
    assert lines == [
        r"| size (B) | a\|b |",
        "| --: | --: |",
        "| 1 | x |",
        "| 1 | x |",
        "",
        "The first 2 of 3 rows.",
    ]


def test_a_block_does_not_end_by_its_content() -> None:
    lines = [[("```", "")], [("<script>", "dim")], [("more", "")]]
    assert list(paragraphs(lines, most=2)) == [
        "```text", "'''", "<script>", "and 1 more lines", "```",
    ]  # fmt: skip
