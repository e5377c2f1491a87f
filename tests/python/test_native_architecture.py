"""The folders of src/: which of them may include which. No arrow goes up, and there is no circle.

CONTRIBUTING.md, "Where things are", has the same in words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parents[2] / "src"
# Each folder may use those named behind it, and those that these may use.
MAY_USE: dict[str, tuple[str, ...]] = {
    "base": (),
    "measure": ("base",),
    "device": ("base",),
    "transport": ("device",),
    "gather_scatter": ("transport",),
    "fft": ("transport",),
    "sem": ("gather_scatter",),
    "solvers": ("sem",),
    "harness": ("transport", "measure"),
    "benchmarks": ("harness", "solvers", "fft"),
}
# The preloaded libraries include these beside their own, and of C++ only what needs no library at
# run time.
PRELOADED_MAY_USE: dict[str, tuple[str, ...]] = {
    "preload": (),
    "profile": ("base/environment_variables.hpp", "preload"),
    "reroute": ("preload",),
}
WITHOUT_LIBRARY = {
    "algorithm", "atomic", "bit", "cerrno", "cfloat", "climits", "cmath", "csignal", "cstdarg",
    "cstddef", "cstdint", "cstdio",
    "cstdlib", "cstring", "ctime", "initializer_list", "iterator", "new", "numeric",
    "string_view", "type_traits",
}  # fmt: skip
_INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


def sources(folder: str) -> Iterator[Path]:
    for ending in ("*.cpp", "*.hpp"):
        yield from sorted((SRC / folder).rglob(ending))


def includes(path: Path) -> Iterator[tuple[str, str]]:
    """Ours and others', one of them empty."""
    yield from _INCLUDE.findall(path.read_text(encoding="utf-8"))


def reachable(folder: str) -> set[str]:
    below = set(MAY_USE[folder])
    return below.union(*(reachable(name) for name in below)) if below else below


@pytest.mark.parametrize("folder", MAY_USE)
def test_includes_go_down(folder: str) -> None:
    allowed = reachable(folder) | {folder}
    assert folder not in reachable(folder)
    wrong = [
        f"{path.relative_to(SRC)}: {ours}"
        for path in sources(folder)
        for ours, _ in includes(path)
        if ours and ours.partition("/")[0] not in allowed
    ]
    assert wrong == []


def test_every_folder_has_its_place() -> None:
    folders = {path.name for path in SRC.iterdir() if path.is_dir()}
    assert folders == {*MAY_USE, *PRELOADED_MAY_USE}


@pytest.mark.parametrize("folder", PRELOADED_MAY_USE)
def test_preloaded_libraries_use_the_c_library_alone(folder: str) -> None:
    others = PRELOADED_MAY_USE[folder]
    files = [*sources(folder), *(SRC / name for name in others if name.endswith(".hpp"))]
    folders = [folder, *(name for name in others if not name.endswith(".hpp"))]
    ours_allowed = {*others, "base/knowledge_lists.hpp", "names.hpp"}  # two are generated
    for each in folders:
        paths = [path.relative_to(SRC / each) for path in sources(each)]
        ours_allowed |= {str(path) if each == folder else f"{each}/{path}" for path in paths}
    assert [
        f"{path.relative_to(SRC)}: {ours or other}"
        for path in files
        for ours, other in includes(path)
        if (ours and ours not in ours_allowed)
        or (other and not other.endswith(".h") and other not in WITHOUT_LIBRARY)
    ] == []


def test_an_include_of_another_folder_is_seen() -> None:
    assert reachable("transport") == {"device", "base"}
    text = '#include <map>\n#include "harness/run.hpp"\n'
    assert _INCLUDE.findall(text) == [("", "map"), ("harness/run.hpp", "")]


def test_the_gpu_compiler_gets_the_files_with_kernels() -> None:
    """A launch in another file would run on the host. Other files would take longer to compile."""

    launches = {SRC / "device/launch.hpp", SRC / "device/gpu/launch.hpp"}

    def includes_launch(path: Path, seen: set[Path]) -> bool:
        seen.add(path)
        below = {SRC / ours for ours, _ in includes(path) if ours} - seen
        return bool(launches & below) or any(
            includes_launch(each, seen) for each in below if each.exists()
        )

    for folder in MAY_USE:
        text = (SRC / folder / "CMakeLists.txt").read_text(encoding="utf-8")
        lists = dict(re.findall(r"set\((\w+)\s([^)]*)\)", text))
        words = " ".join(re.findall(r"commlens_gpu_sources\(([^)]*)\)", text))
        for name, files in lists.items():
            words = words.replace(f"${{{name}}}", files)
        handed_over = {SRC / folder / name for name in words.split()}
        with_kernels = {
            path
            for path in (SRC / folder).rglob("*.cpp")
            if path.parent.name != "gpu"
            if "__global__" in path.read_text(encoding="utf-8") or includes_launch(path, set())
        }
        assert handed_over == with_kernels
