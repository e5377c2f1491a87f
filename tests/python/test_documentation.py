"""The documentation shows what is there: tested examples, tables of records, links to somewhere."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from commlens.model import load, read
from native_helpers import BENCH
from record_helpers import write
from run_helpers import table
from sample_records import make_record

TOP = Path(__file__).parent.parent.parent
PAGES = sorted([*TOP.glob("*.md"), *TOP.glob("docs/**/*.md")])


def test_the_examples_of_contributing_are_the_files_that_are_tested() -> None:
    text = (TOP / "CONTRIBUTING.md").read_text(encoding="utf-8")
    shown = re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```\n", text, re.DOTALL)
    assert len(shown) == 5
    for name, code in shown:
        assert code == (TOP / name).read_text(encoding="utf-8"), name


def prose_of_contributing() -> str:
    text = (TOP / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return re.sub(r"```.*?```", "", text, flags=re.DOTALL)


def file_named(name: str) -> Path | None:
    """The file or folder that CONTRIBUTING.md calls so: by its path from a room, or by its name."""
    rooms = ("", "src", "python/commlens", "python/commlens/knowledge", "tests/python")
    places = [TOP / room / name for room in rooms if list((TOP / room).glob(name))]
    folders = ("src", "python", "tests", "tools")
    paths = places or [path for folder in folders for path in (TOP / folder).rglob(name)]
    return paths[0] if paths else None


def test_the_files_that_contributing_names_are_there() -> None:
    path = re.compile(r"`([\w./*-]+\.(?:py|yaml|cpp|hpp|txt|sh)|[\w-][\w./-]*/)`")
    names = path.findall(prose_of_contributing())
    assert len(names) > 50
    assert [name for name in names if file_named(name) is None] == []


def test_the_lists_that_contributing_names_are_in_their_files() -> None:
    lists = re.findall(r"`(\w+)`\s+(?:of|in)\s+`([\w./-]+\.\w+)`", prose_of_contributing())
    assert len(lists) > 5
    for name, file in lists:
        path = file_named(file)
        assert path and re.search(rf"\b{name}\b", path.read_text(encoding="utf-8")), (name, file)


def blocks(page: str, language: str) -> list[str]:
    """The code of a page in this language."""
    text = (TOP / "docs" / page).read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```\n", text, re.DOTALL)


def test_the_example_of_a_record_can_be_read() -> None:
    start, record = (
        json.dumps(json.loads(block)) + "\n" for block in blocks("records-reference.md", "json")
    )
    loaded = read([start, record])
    assert (len(loaded.records), loaded.problems) == (1, [])
    assert loaded.records[0].measured and loaded.records[0].ceiling is not None


def jq_examples() -> list[str]:
    block = next(block for block in blocks("records.md", "sh") if "jq" in block)
    return [example for example in block.split("\n\n") if "jq" in example]


needs_jq = pytest.mark.skipif(shutil.which("jq") is None, reason="there is no jq")


@needs_jq
@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0, ["1024\tmpi\t2\t1.96\t2.04"]),
        (1, ["latency over ccl: skipped: no GPU"]),
        (2, ['{"benchmark":"latency","transport":"mpi","bytes":1024,"fraction":0.25}']),
        (3, ["latency\tlatency_us\tus\tthe latency_us of latency",
             "latency\ttime_us\tus\tthe time_us of latency"]),
        (4, ['["latency","mpi","node","Open MPI 4.1.4"]',
             '["latency","ccl","node","Open MPI 4.1.4"]']),
    ],
)  # fmt: skip
def test_the_examples_of_jq_keep_their_promise(
    number: int, expected: list[str], tmp_path: Path
) -> None:
    skipped = make_record(transport="ccl", status="skipped", reason="no GPU")
    write(tmp_path / "records.jsonl", make_record(), skipped)
    command = ["sh", "-c", jq_examples()[number]]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == expected


@needs_jq
def test_whole_lines_are_saved_from_a_file_that_was_cut(tmp_path: Path) -> None:
    file = write(tmp_path / "records.jsonl", make_record(), make_record(transport="staged"))
    file.write_text(file.read_text()[:-100])
    command = ["sh", "-c", jq_examples()[5]]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert len(read([line + "\n" for line in run.stdout.splitlines()]).records) == 1


@needs_jq
def test_lines_can_be_chosen_for_a_picture(tmp_path: Path) -> None:
    write(tmp_path / "records.jsonl", make_record(), make_record(transport="staged"))
    subprocess.run(["sh", "-c", jq_examples()[6]], cwd=tmp_path, check=True)
    (chosen,) = load([tmp_path / "mpi.jsonl"]).records
    assert chosen.transport == "mpi"
    assert len(jq_examples()) == 7


def test_the_example_of_python_runs(tmp_path: Path) -> None:
    write(tmp_path / "records.jsonl", make_record())
    code = next(block for block in blocks("records.md", "python") if "commlens" in block)
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "2.0 us"


needs_program = pytest.mark.skipif(not BENCH.exists(), reason="no native program is built")


@pytest.mark.parametrize(
    "words",
    [
        ["findings"],
        ["tables"],
        pytest.param(["definitions", "--program", BENCH], marks=needs_program),
    ],
    ids=lambda words: words[0],
)
def test_generated_pages_agree_with_their_sources(words: list[Any]) -> None:
    tool, *options = words
    command = [sys.executable, TOP / "tools" / f"{tool}.py", "--check", *options]
    assert subprocess.run(command, check=False).returncode == 0


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(TOP)) for page in PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        if not target.startswith(("http:", "https:")):
            assert (page.parent / target).exists(), target


# ---- words ----

WORDS = table(Path(__file__).with_name("words.yaml"))
BAD = re.compile("|".join(rf"\b({pattern})\b" for pattern in WORDS["better"]), re.IGNORECASE)


def texts_of(path: Path) -> str:
    """The prose of a page without code; of a module its docstrings and texts of several words."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return re.sub(r"```.*?```|`[^`\n]*`|<!--.*?-->", "", text, flags=re.DOTALL)
    constants = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant))
    words = (node.value for node in constants if isinstance(node.value, str) and " " in node.value)
    return re.sub(r"`[^`\n]*`", "", "\n".join(words))


def is_right(name: str, word: str) -> bool:
    places = WORDS["right"].items()
    return any(re.search(place, name) and right in word.lower() for place, right in places)


def test_words_are_those_of_the_field() -> None:
    matches = [
        f"{name}: {match[0]}"
        for path in (*PAGES, *sorted(TOP.glob("python/commlens/**/*.py")))
        for name in [str(path.relative_to(TOP))]
        for match in BAD.finditer(texts_of(path))
        if not is_right(name, match[0])
    ]
    assert matches == []


def test_a_word_to_avoid_is_reported(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("Two figures, measured in turns, one a GPU; `figure`.\n")
    assert [match[0] for match in BAD.finditer(texts_of(page))] == [
        "figures",
        "in turns",
        "one a GPU",
    ]


def test_paragraphs_are_wrapped_at_100_columns() -> None:
    """Not tables, code, links, or a word that is longer."""
    long = []
    for page in PAGES:
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        prose = [re.sub(r"`[^`]*`", "``", line) for line in text.splitlines()]
        long += [
            line for line in prose if len(line) > 100 and line[:1] not in "|!#" and " " in line
        ]
    assert long == []
