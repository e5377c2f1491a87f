import json
from pathlib import Path

import pytest

from commlens import plot
from commlens.records import Record, parse
from conftest import Commlens
from sample_records import make_record


def write(path: Path, *records: dict[str, object]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def sweep(**changes: object) -> list[dict[str, object]]:
    return [
        make_record(bytes=2**power, median_us=1 + 2**power / 1000, transport=transport, **changes)
        for power in range(0, 21, 2)
        for transport in ("mpi", "staged")
    ]


def test_show_has_all_that_matters(commlens: Commlens, tmp_path: Path) -> None:
    device = {"ordinal": 0, "name": "A GPU", "uuid": "GPU-1", "pci": "0000:01:00.0", "numa_node": 1, "memory_bytes": 1}
    placement = [{"rank": 0, "host": "node", "cores": "0-3", "numa_nodes": "0", "device": device}]
    common = {"placement": placement, "warnings": ["rank 0 sits on the far NUMA node"]}
    failed = {"status": "failed", "reason": "wrong data in [rank 1]"}
    file = write(
        tmp_path / "records.jsonl",
        make_record(median_us=2, **common),
        make_record(median_us=50, transport="staged", **common),
        make_record(transport="ccl", status="skipped", reason="NCCL wants a GPU a rank", **common),
        make_record(median_us=2, run="another", benchmark="bandwidth", **common, **failed),
    )
    shown = commlens("show", file)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.count("rank 0  node  cores 0-3  NUMA 0  GPU 0 A GPU at 0000:01:00.0, NUMA 1") == 1
    assert shown.stdout.count("warning: rank 0 sits on the far NUMA node") == 1
    assert "latency  pairs 1 · 2 ranks · timing batch" in shown.stdout
    rows = [line.split() for line in shown.stdout.splitlines()]
    assert ["1", "KiB", "mpi", "host", "2.000", "1.960", "to", "2.040", "25%", "best", "passed"] in rows
    assert ["staged", "host", "50.00", "49.00", "to", "51.00", "1%", "25x", "passed"] in rows
    assert "skipped: ccl, host: NCCL wants a GPU a rank" in shown.stdout
    assert "failed: mpi, host: wrong data in [rank 1]" in shown.stdout


def test_show_reports_lines_that_are_no_records(commlens: Commlens, tmp_path: Path) -> None:
    file = write(tmp_path / "records.jsonl", make_record())
    file.write_text(file.read_text() + file.read_text()[:100])
    shown = commlens("show", file)
    assert shown.returncode == 1
    assert "passed" in shown.stdout
    assert shown.stderr.startswith(f"commlens: {file}:2: not a record")
    assert commlens("show", tmp_path / "none").returncode == 2


@pytest.mark.parametrize("ending", [".png", ".svg", ".pdf"])
def test_plot_draws_every_kind_of_picture(ending: str, tmp_path: Path) -> None:
    texts = [*sweep(), *sweep(benchmark="bandwidth", figure="bandwidth_GBps"), make_record(benchmark="allreduce")]
    out = tmp_path / "deep" / f"picture{ending}"
    assert plot.plot(parsed(texts), out) == len(texts)
    assert out.stat().st_size > 5000


def parsed(records: list[dict[str, object]]) -> list[Record]:
    return [parse(json.dumps(record) + "\n") for record in records]


def test_a_picture_says_what_it_shows() -> None:
    figure = plot.draw(parsed([*sweep(), make_record(benchmark="allreduce", median_us=4)]))
    curves, bars = figure.axes
    assert figure.texts[0].get_text() == "node  ·  2 ranks  ·  Open MPI 4.1.4"
    assert curves.get_title(loc="left") == "latency"
    assert curves.get_ylabel() == "latency (µs)"
    assert (curves.get_xscale(), curves.get_yscale()) == ("log", "log")
    assert len(curves.lines) == 3  # two transports and the ceiling
    assert len(curves.collections) == 2  # the intervals of both
    assert bars.get_title(loc="left") == "allreduce of 1 KiB"
    assert [label.get_text() for label in bars.get_yticklabels()] == ["mpi, host"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "mpi, host", "staged, host", "ceiling: memory copy, host",
    ]  # fmt: skip
    figure.draw_without_rendering()
    labels = [label.get_text() for label in curves.get_xticklabels()]
    assert labels[0] == "1 B" and "1 KiB" in labels


def test_a_transport_looks_the_same_everywhere() -> None:
    one, other = plot.Series("mpi", "host"), plot.Series("mpi", "device", "pml=ob1", 1)
    assert (one.marker, plot.Series("mpi", "device").colour) == (other.marker, one.colour)
    assert plot.Series("unheard of", "host").marker


def test_a_picture_of_runs_that_differ_in_settings() -> None:
    runs = [record for run in ("ucx", "ob1") for record in sweep(run=run, environment={"OMPI_MCA_pml": run})]
    figure = plot.draw(parsed(runs))
    labels = {text.get_text() for text in figure.legends[0].get_texts()}
    assert {"mpi, host, pml=ucx", "mpi, host, pml=ob1"} < labels


def test_more_than_two_memories_have_panels_of_their_own() -> None:
    memories = {"device": "peer copy", "device:host": "copy to host", "pinned": "memory copy"}
    records = []
    for memory, ceiling in memories.items():
        for record in [
            *sweep(memory=memory),
            *(sweep(memory=memory, benchmark="bandwidth") if memory != "device" else []),
        ]:
            record["ceilings"][0]["name"] = ceiling  # type: ignore[index]
            records.append(record)
    alone = [
        *sweep(memory="device", benchmark="allreduce"),
        make_record(benchmark="allreduce", memory="device", run="2"),
    ]
    for record in alone:
        record["ceilings"] = []
    figure = plot.draw(parsed([*records, *alone]))
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "latency, device", "latency, device to host", "latency, pinned",
        "bandwidth, device to host", "bandwidth, pinned",
        "allreduce, device", "allreduce of 1 KiB",
    ]  # fmt: skip
    assert [len(axes.lines) for axes in figure.axes[:5]] == [3] * 5  # two transports and the memory's ceiling
    assert len({axes.get_ylim() for axes in figure.axes[:3]}) == 1
    assert [bool(axes.get_ylabel()) for axes in figure.axes[:6]] == [True, False, False, True, False, True]
    columns = [axes.get_subplotspec().colspan.start for axes in figure.axes]  # type: ignore[union-attr]
    assert columns == [0, 1, 2, 1, 2, 0, 1], "a memory has a column"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "mpi", "staged", "ceiling: peer copy", "ceiling: copy to host", "ceiling: memory copy",
    ]  # fmt: skip


def test_bars_far_apart_are_all_visible() -> None:
    common = {"benchmark": "allreduce", "figure": "time_us", "bytes": 80_000_000, "memory": "device"}
    times = {"mpi": 105_668, "staged": 45_103, "ccl": 290.1}
    records = [make_record(transport=transport, median_us=time, **common) for transport, time in times.items()]
    (axes,) = plot.draw(parsed(records)).axes
    assert axes.get_title(loc="left") == "allreduce of 80 MB"
    assert (axes.get_xscale(), axes.get_xlabel()) == ("log", "time (ms), logarithmic")
    assert {"105.7 ms", "45.10 ms", "0.2901 ms"} <= {text.get_text() for text in axes.texts}
    (near,) = plot.draw(parsed(records[:2])).axes
    assert (near.get_xscale(), near.get_xlabel(), near.get_xlim()[0]) == ("linear", "time (ms)", 0)


def test_plot_refuses_what_it_cannot_draw(commlens: Commlens, tmp_path: Path) -> None:
    file = write(tmp_path / "records.jsonl", make_record(status="skipped", reason="none"))
    ending = commlens("plot", file, "--out", "picture.gif")
    assert ending.returncode == 2
    assert (
        ending.stderr == "commlens: --out picture.gif: the name ends in '.gif'; a picture's ends in .png, .svg, .pdf\n"
    )
    nothing = commlens("plot", file, "--out", "picture.png")
    assert nothing.returncode == 2
    assert nothing.stderr.startswith("commlens: nothing to plot: none of 1 record holds a measurement that passed")


def test_plot_leaves_out_what_failed_and_says_so(commlens: Commlens, tmp_path: Path) -> None:
    file = write(
        tmp_path / "records.jsonl", make_record(), make_record(transport="ccl", status="skipped", reason="none")
    )
    drawn = commlens("plot", file, "--out", "picture.png")
    assert (drawn.returncode, drawn.stdout) == (0, "picture.png\n")
    assert "left out 1 record" in drawn.stderr
    unwritable = commlens("plot", file, "--out", "/dev/null/picture.png")
    assert unwritable.returncode == 2
    assert "cannot be written (a file is in the way)" in unwritable.stderr
