"""A meaning has one color and one marker in all pictures, and no two of a picture share them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from commlens.model import Record, load, over_launches
from commlens.model.levels import place_of
from commlens.render import plots as plot
from commlens.render.plots.colors import looks
from commlens.render.plots.content import Content
from commlens.render.plots.layout import MAX_HEIGHT_INCHES

MEASURED = Path(__file__).parents[4] / "docs" / "measured"
FILES = sorted(MEASURED.glob("**/*.jsonl"))


def measured(files: list[Path]) -> list[Record]:
    return [record for record in load(files).records if record.measured]


def kind_of(records: list[Record]) -> tuple[object, ...]:
    """Its benchmarks, transports, memories, parts and ceilings."""
    return (
        frozenset((record.benchmark, record.transport, record.memory) for record in records),
        frozenset(part.name for record in records for part in record.parts),
        frozenset(ceiling.name for record in records for ceiling in record.ceilings),
    )


@cache
def pictures() -> list[tuple[str, Figure]]:
    """Of the file with the most records of each kind, of a record of each benchmark (but of
    replays, which would make the picture too high), and their timelines."""
    figures = []
    by_file = {str(file.relative_to(MEASURED)): measured([file]) for file in FILES}
    ordered = sorted(by_file.items(), key=lambda item: len(item[1]))
    most = {kind_of(records): (name, records) for name, records in ordered if records}
    firsts = {records[0].benchmark: records[0] for records in by_file.values() if records}
    overview = [record for name, record in firsts.items() if name != "replay"]
    for name, records in [*most.values(), ("overview", overview)]:
        figures.append((name, plot.draw(over_launches(records))))
        steps, _ = plot.draw_timelines(records)
        figures += [(f"{name}, timelines", steps)] if steps else []
    return figures


def meanings(figure: Figure) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Of each entry of the legends its name, and its looks without the shade of variants."""
    for legend in figure.legends:
        handles: list[Any] = list(legend.legend_handles)
        for handle in handles:
            name = handle.get_label()
            if isinstance(handle, Patch):
                yield name, (to_hex(handle.get_facecolor()), "part")
            elif isinstance(handle, Line2D):
                dashes = handle._unscaled_dash_pattern  # type: ignore[attr-defined]
                color = to_hex(handle.get_color())
                yield name, (color, str(handle.get_marker()), str(dashes))


def test_the_records_of_the_documentation_have_pictures() -> None:
    assert len(pictures()) > 30
    names = {name for _, figure in pictures() for name, _ in meanings(figure)}
    assert {"mpi", "ccl", "ceiling: peer copy", "local FFT", "reductions", "unpack"} < names


def test_a_meaning_has_the_same_look_in_all_pictures() -> None:
    by_name: dict[str, set[tuple[Any, ...]]] = {}
    for _, figure in pictures():
        for name, look in meanings(figure):
            if name in ("mpi", "staged", "ccl") or "," not in name:
                by_name.setdefault(name, set()).add(look)
    assert [name for name, seen in by_name.items() if len(seen) > 1] == []


def test_two_meanings_of_a_picture_look_different() -> None:
    for name, figure in pictures():
        shown = list(meanings(figure))
        assert len({label for label, _ in shown}) == len(shown), name
        assert len({look for _, look in shown}) == len(shown), name


def test_all_parts_and_transports_of_the_documentation_are_in_the_table() -> None:
    content = Content.of(measured(FILES))
    # A part's color is that of its kind: `p7 smoother` and `p3 smoother` are two parts of one.
    kinds = {place_of(part).kind: color for part, color in content.part_colors.items()}
    assert all(kinds[place_of(part).kind] == color for part, color in content.part_colors.items())
    assert {kind: looks("parts", [kind])[kind] for kind in kinds} == kinds, "alone as among others"
    assert len(set(kinds.values())) == len(kinds)
    colors = [*kinds.values(), *(color for color, _ in content.transports.values())]
    for color, other in itertools.combinations(colors, 2):
        distance = sum((a - b) ** 2 for a, b in zip(to_rgb(color), to_rgb(other))) ** 0.5
        assert distance > 0.12, (color, other)


def test_other_names_take_looks_that_their_picture_has_left() -> None:
    chosen = looks("parts", ["a", "multiplications", "b"])
    assert chosen["multiplications"] == looks("parts", ["multiplications"])["multiplications"]
    assert len(set(chosen.values())) == 3
    many = looks("dashes", range(20), lambda number: "peer copy")
    assert len(set(many.values())) > 3, "one ceiling of several memories"


def test_no_picture_is_higher_than_two_screens_and_no_line_is_cut() -> None:
    for name, figure in pictures():
        assert figure.get_size_inches()[1] <= MAX_HEIGHT_INCHES, name
        for axes in figure.axes:
            assert "…" not in axes.get_title(loc="left"), name
            assert not any("…" in text.get_text() for text in axes.texts), name
        assert not any("…" in text.get_text() for text in figure.texts), name


@pytest.mark.parametrize("kind", ["transports", "parts", "dashes", "marks"])
def test_the_looks_that_are_left_differ(kind: str) -> None:
    chosen = list(looks(kind, "abcd").values())
    assert len(set(chosen)) == 4
