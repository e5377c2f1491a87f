"""The rooms of the Python package, from the ground up: imports go down, never up, and in no circle.

CONTRIBUTING.md, "Where things are", has the same list.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "python" / "commlens"
ROOMS = (
    "base", "knowledge", "model", "machine", "jobs", "findings", "profile", "reroute", "compare",
    "render", "tuning", "api", "cli",
)  # fmt: skip
TOP = ("__init__", "__main__")


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        yield ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts), path


def imports(source: str) -> Iterator[str]:
    """Of this package, wherever they stand: within a function, too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def room(module: str) -> str:
    words = module.split(".")
    return words[1] if words[0] == "commlens" and len(words) > 1 and words[1] in ROOMS else ""


def arrows_up(module: str, source: str) -> Iterator[tuple[str, str]]:
    home = room(module)
    for name in imports(source):
        other = room(name)
        if home and other and ROOMS.index(other) > ROOMS.index(home):
            yield home, other


def test_imports_go_down() -> None:
    arrows = {
        arrow: name
        for name, path in modules()
        for arrow in arrows_up(name, path.read_text(encoding="utf-8"))
    }
    assert arrows == {}


def test_every_module_stands_in_a_room() -> None:
    assert [name for name, path in modules() if not room(name) and path.stem not in TOP] == []


def test_no_modules_import_each_other() -> None:
    """Not in a circle within a room either; what stands in a function counts, too."""
    known = {name.removesuffix(".__init__"): path for name, path in modules()}
    graph = {
        name: {
            other
            for module in imports(path.read_text(encoding="utf-8"))
            for other in (module if module in known else module.rpartition(".")[0],)
            if other in known and other != name
        }
        for name, path in known.items()
    }
    while leaves := {name for name, others in graph.items() if not others}:
        graph = {name: others - leaves for name, others in graph.items() if name not in leaves}
    assert sorted(graph) == []


@pytest.mark.parametrize(
    "source",
    [
        "from commlens.render import show",
        "import commlens.cli.run",
        "def f():\n import commlens.cli",
    ],
)
def test_an_arrow_up_is_seen(source: str) -> None:
    assert list(arrows_up("commlens.jobs.session", source))


def classes() -> Iterator[tuple[str, str]]:
    """Public classes: name and module."""
    for module, path in modules():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield node.name, module


def test_a_class_name_means_a_single_class() -> None:
    counts = Counter(name for name, _ in classes())
    again = {name for name, count in counts.items() if count > 1}
    assert [(name, module) for name, module in classes() if name in again] == []
