"""Pictures within a page, and the drawing of a machine."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from matplotlib.figure import Figure

from commlens.render import plots as plot
from commlens.render.report.compact import compact, shorter_path
from commlens.render.report.looks import Looks
from commlens.render.report.machine import machines
from commlens.render.report.svg import inline_svg
from commlens.render.report.topology import Drawing, topology
from record_helpers import parsed
from report_helpers import placement, sweep
from sample_records import make_record


def pictures() -> list[str]:
    with plot.styled():
        singles = list(plot.draw_singly(parsed(*sweep())))
        return [
            inline_svg(one.figure, f"p{n}", one.title, Looks()) for n, one in enumerate(2 * singles)
        ]


def test_a_picture_has_no_styles_and_ids_of_its_own() -> None:
    first, second = pictures()[:2]
    ids = [set(re.findall(r' id="([^"]*)"', one)) for one in (first, second)]
    assert ids[0] and not ids[0] & ids[1]
    for one in (first, second):
        assert "style" not in one and "xmlns" not in one and "font-family" not in one
        references = set(re.findall(r"#([\w.-]+-[\w.-]+)", one))
        assert references <= set(re.findall(r' id="([^"]*)"', one))
        assert ElementTree.fromstring(one).get("role") == "img"


def test_what_looks_alike_is_one_path() -> None:
    """The lines of the grid, the marks of an axis: each of the two axes has few paths."""
    root = ElementTree.fromstring(pictures()[0])
    small = [one.get("d", "") for one in root.iter("path") if one.get("d", "").count("M") > 2]
    assert any(len(set(re.findall(r"M[\d.]+ ([\d.]+)", path))) == 1 for path in small), "marks"
    unsaid = [one for one in root.iter("use") if one.find("title") is None]
    assert len(list(root.iter("path"))) < 40 and len(unsaid) < 40


def test_a_moved_symbol_is_not_clipped() -> None:
    """A clip path is in the coordinates of its element: a use with x and y would move it away."""
    figure = Figure()
    figure.subplots().plot([1.0], [1.0], "o")
    for text in (*pictures(), inline_svg(figure, "p", "a point", Looks())):
        used = list(ElementTree.fromstring(text).iter("use"))
        assert used and not [one for one in used if "clip-path" in one.attrib]


def test_looks_are_classes_that_the_style_has() -> None:
    looks = Looks()
    root = ElementTree.fromstring(
        '<svg><path stroke="#888888" fill="none" d="M0 0"/><g fill="none" stroke="#888888">'
        '<text fill="red;} * {color:red">a</text></g></svg>'
    )
    looks.move(root)
    assert looks.style == ".p0 { fill:none;stroke:#888888 }"
    path, group = root
    assert path.attrib == {"class": "p0", "d": "M0 0"} and group.attrib == {"class": "p0"}
    assert group[0].get("fill") == "red;} * {color:red", "an attribute can do nothing to others"


def test_numbers_keep_their_meaning_without_blanks() -> None:
    assert shorter_path("M 0.5 0.5 L 0.7 -0.1 L 1.2 0.4") == "M.5.5L.7-.1l.5.5"
    assert shorter_path("M 100.5 7 L 100.5 9 L 101 10 L 101.5 9.5") == "M100.5 7V9l.5 1 .5-.5"


def test_each_panel_is_a_picture_without_the_head_of_all() -> None:
    records = parsed(*sweep(), make_record(benchmark="bandwidth", metric="bandwidth_GBps"))
    singles = list(plot.draw_singly(records))
    assert [one.title for one in singles] == ["latency", "bandwidth of 1 KiB"]
    assert all(one.group is not None for one in singles)
    assert not [text for one in singles for text in one.figure.texts]


def drawing(hosts: int, gpus: int) -> Drawing:
    places = placement([f"node{number}" for number in range(hosts)], gpus)
    (record,) = parsed(make_record(ranks=len(places), nodes=hosts, placement=places))
    (machine,), _ = machines([record.start], [record])
    return topology(machine)


def kinds(own: Drawing) -> dict[str, int]:
    found = [box.kind for box in own.boxes]
    return {kind: found.count(kind) for kind in sorted(set(found))}


def test_a_machine_is_drawn_with_its_nodes_ranks_and_gpus() -> None:
    own = drawing(1, 2)
    assert kinds(own) == {"gpu": 2, "node": 1, "rank": 2}
    words = [line for box in own.boxes for line in box.lines]
    assert {"node0", "rank 1", "cores 4-7, NUMA 0", "NVIDIA H200"} <= set(words)
    assert "GPU 1, 140 GiB, NUMA 0" in words and "0000:01:00.0" in words


def test_nodes_are_joined_by_a_network() -> None:
    assert kinds(drawing(3, 1)) == {"gpu": 3, "network": 1, "node": 3, "rank": 3}


def test_of_a_large_machine_a_part_is_drawn() -> None:
    own = drawing(6, 12)
    assert kinds(own) == {"gpu": 32, "network": 1, "node": 4, "rank": 32}
    texts = [label.text for label in own.labels]
    assert texts.count("and 4 more GPUs") == 4 and "and 2 more nodes" in texts


def test_boxes_are_within_their_node_and_the_drawing() -> None:
    own = drawing(2, 6)
    nodes = [box for box in own.boxes if box.kind == "node"]
    for box in own.boxes:
        assert box.x + box.width <= own.width and box.y + box.height <= own.height
        if box.kind in ("rank", "gpu"):
            assert any(
                node.x < box.x
                and node.y < box.y
                and box.x + box.width < node.x + node.width
                and box.y + box.height <= node.y + node.height
                for node in nodes
            )


def test_links_have_the_rates_that_ceilings_measured() -> None:
    ceiling = {"name": "peer copy", "method": "a copy", "time_us": 1.0, "rate": 390.0,
               "unit": "GB/s", "metrics": {"latency_us": 1.0}, "fraction": 0.5}  # fmt: skip
    (record,) = parsed(make_record(placement=placement(), ceilings=[ceiling]))
    (machine,), left_out = machines([record.start], [record])
    assert not left_out
    assert "peer copy 390.0 GB/s" in [label.text for label in topology(machine).labels]


def test_starts_on_the_same_gpus_are_of_one_machine() -> None:
    one, two, other = parsed(
        make_record(placement=placement()),
        make_record(bytes=8, placement=placement(gpus=1), ranks=1),
        make_record(bytes=16, placement=placement(["node02"])),
    )
    found, _ = machines([one.start, two.start, other.start], [])
    assert [len(machine.launches) for machine in found] == [2, 1]
    assert found[0].title == "2 NVIDIA H200 on node01, Open MPI 4.1.4"


def test_neighbours_say_once_how_they_look() -> None:
    look = 'fill="none" stroke="#888888" clip-path="url(#c)"'
    svg = ElementTree.fromstring(
        f'<svg><path d="M 1 2 L 1 5 L 3 5 z" {look}/><path d="M 4 4 L 5 6" {look}/>'
        f'<g {look}><text x="1" font-size="9px">0</text></g>'
        f'<g {look}><text x="2" font-size="9px">1</text></g>'
        '<path d="M 0 0 L 1 1" opacity="0.5"/><path d="M 0 0 L 1 1" opacity="0.5"/></svg>'
    )
    compact(svg)
    joined, group, *apart = svg
    assert joined.get("d") == "M1 2V5H3zM4 4L5 6"
    assert [one.attrib for one in group.iter("text")] == [{"x": "1"}, {"x": "2"}]
    assert [one.text for one in group.iter("text")] == ["0", "1"]
    assert [one.get("opacity") for one in apart] == ["0.5", "0.5"]


def test_curves_keep_their_points() -> None:
    assert shorter_path("M 0 -1 C 1 2 -3 4 5 6 L 5 7 L 8 7 z") == "M0-1C1 2-3 4 5 6L5 7H8z"
