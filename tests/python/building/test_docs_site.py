"""The documentation's site, the command reference and the manual pages."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from building_helpers import ROOT, tool
from commlens.cli import command
from commlens.cli.history import history
from commlens.cli.sites import sites
from commlens.cli.trace import trace

TOOL = ROOT / "tools" / "command_reference.py"
REFERENCE = tool(TOOL.stem)
COMMANDS = command.list_commands(click.Context(command))


def test_the_command_reference_is_the_help() -> None:
    """Otherwise run tools/command_reference.py."""
    assert (ROOT / "docs" / "commands.md").read_text(encoding="utf-8") == REFERENCE.page()


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_option_is_the_same_for_a_command_that_runs_by_itself(name: str) -> None:
    found = command.get_command(click.Context(command), name)
    assert found is not None
    alone = found.make_context(name, [], resilient_parsing=True)
    assert alone.help_option_names == ["--help", "-h"]


def test_every_command_has_a_manual_page(tmp_path: Path) -> None:
    subprocess.run([sys.executable, TOOL, "--man", tmp_path], check=True)
    nested = {"history": history, "sites": sites, "trace": trace}
    names = [
        *COMMANDS, *(f"{group}-{name}" for group, own in nested.items() for name in own.commands),
    ]  # fmt: skip
    expected = {"commlens.1", *(f"commlens-{name}.1" for name in names)}
    assert {path.name for path in tmp_path.iterdir()} == expected
    text = (tmp_path / "commlens-run.1").read_text(encoding="utf-8")
    assert r"commlens\-run \- " in text
    assert ".B \\-n, \\-\\-ranks N\n" in text


@pytest.mark.skipif(shutil.which("groff") is None, reason="there is no groff")
def test_manual_pages_are_without_a_warning(tmp_path: Path) -> None:
    for text in REFERENCE.manual_pages().values():
        formatted = subprocess.run(
            ["groff", "-man", "-Tutf8", "-ww"], input=text, capture_output=True, text=True
        )
        assert (formatted.returncode, formatted.stderr) == (0, "")


@pytest.mark.skipif(importlib.util.find_spec("mkdocs") is None, reason="there is no mkdocs")
@pytest.mark.parametrize("link", ["nowhere.md", "docs/fft.md#nowhere"])
def test_a_broken_link_is_an_error(link: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "tools", tmp_path / "tools")
    kept = ("mkdocs.yml", "docs", "packaging", "recipes", "src", "tests", "LICENSE")
    for name in (*kept, "CONTRIBUTING.md", "CHANGELOG.md"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "README.md").write_text(f"[somewhere]({link})\n", encoding="utf-8")
    site = str(tmp_path / "site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", site]
    built = subprocess.run(build, cwd=tmp_path, capture_output=True, text=True)
    assert built.returncode != 0
    assert link in built.stderr + built.stdout
