"""Pictures of profiles: at most two screens high, and with the whole command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from commlens.model import load
from commlens.model.profile import Profile
from commlens.render import plots as plot
from commlens.render.plots.layout import MAX_HEIGHT_INCHES
from plot_helpers import details, titles
from sample_records import make_profile


def profiles(folder: Path, *changes: dict[str, Any]) -> list[Profile]:
    lines = [json.dumps(make_profile(**{"run": f"run-{n}", **change})) + "\n"
             for n, change in enumerate(changes)]  # fmt: skip
    file = folder / "profiles.jsonl"
    file.write_text("".join(lines))
    return load([file]).profiles


def test_two_screens_hold_two_profiles(tmp_path: Path) -> None:
    loaded = profiles(tmp_path, {}, {}, {})
    drawn = plot.plot_profiles(loaded, tmp_path / "picture.svg")
    assert drawn.left_out == ["two screens hold 2 of 3 profiles"]
    assert plot.plot_profiles(loaded[:2], tmp_path / "picture.svg").left_out == []
    assert plot.draw_profiles(loaded[:2])[0].get_size_inches()[1] <= MAX_HEIGHT_INCHES


def test_a_long_command_is_not_cut_and_covers_no_bars(tmp_path: Path) -> None:
    words = [f"--option-{number}=value" for number in range(40)]
    (profile,) = profiles(tmp_path, {"command": ["mpirun", "./program", *words]})
    figure, _ = plot.draw_profiles([profile])
    figure.draw_without_rendering()
    axes = next(axes for axes, title in zip(figure.axes, titles(figure)) if "by function" in title)
    assert all(word in details(axes) for word in words)
    assert axes.texts[-1].get_window_extent().y0 >= axes.get_window_extent().y1
    (usual,) = profiles(tmp_path, {})
    assert figure.get_size_inches()[1] > plot.draw_profiles([usual])[0].get_size_inches()[1]
