"""A profile as panels: time by function and by rank, bytes by peer, sizes of messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from commlens.base.text import format_bytes, format_percent, format_short, plural, printable
from commlens.model.profile import Function, Profile, mean
from commlens.render.plots.colors import IMBALANCE_COLOR, MEAN_COLOR, QUIET_COLOR, SIZE_COLOR
from commlens.render.plots.layout import Layout, arranged, fitting, single
from commlens.render.plots.panel import Panel, joined
from commlens.render.plots.style import PANEL_INCHES, label_inches

_MAX_FUNCTIONS = 12
_LEAST_BAR = 0.001  # of the longest
_MAX_LABELED_BINS = 14
_COLUMNS = 2
_WIDTH_INCHES = PANEL_INCHES[0] + 1
_MAX_RANKS = 2048  # of a matrix, which has their square of cells
_MAP = "viridis"


def draw_profiles(profiles: Sequence[Profile]) -> tuple[Figure, int]:
    """Draws the first profiles of which two screens hold all panels, at least one; their number."""

    def picture(shown: Sequence[Profile]) -> Layout:
        panels = [panel for profile in shown for panel in _panels(profile)]
        return Layout(arranged(panels, _COLUMNS), _COLUMNS, _WIDTH_INCHES)

    shown = fitting(profiles, lambda chosen: picture(chosen).height)
    return picture(shown).draw(), len(shown)


def draw_profile_singly(profile: Profile) -> Iterator[Figure]:
    """Draws the same panels, each as a picture."""
    return (single(panel, _WIDTH_INCHES) for panel in _panels(profile))


def _panels(profile: Profile) -> Iterator[Panel]:
    functions = profile.communicating
    least = _LEAST_BAR * max((function.time.mean_s for function in functions), default=0.0)
    shown = [function for function in functions if function.time.mean_s > least][:_MAX_FUNCTIONS]
    names = [printable(function.name) for function in shown]
    wide, height = 0.35 + label_inches(names), PANEL_INCHES[1] + 0.3
    by_function: dict[str, Any] = {"height": height, "label_width": wide}
    title, details = _heading(profile)
    yield Panel(title, partial(_draw_times, shown, names), details, **by_function)
    draw, details = partial(_draw_matrix, profile), "point to point, all-to-all and RMA"
    yield Panel("bytes by peer", draw, details, height=height)
    draw = partial(_draw_ranks, profile, shown, names)
    details = "in the functions above; USER is outside MPI"
    yield Panel("time by rank", draw, details, **by_function)
    draw, details = partial(_draw_sizes, profile), "calls of all ranks and functions, by bytes"
    yield Panel("sizes of messages", draw, details, height=height)


def _heading(profile: Profile) -> tuple[str, str]:
    share = format_percent(profile.percent(mean(profile.mpi_s)) / 100)
    start = mean(profile.in_functions(profile.initializing))
    details = joined(
        " ".join(profile.command),
        plural(profile.ranks, "rank"),
        profile.library,
        f"mean over {profile.threads} threads" if profile.threads > 1 else "",
        f"MPI_Init and MPI_Finalize apart: {start:.3g} s" if start > 0 else "",
        separator=", ",
    )
    return f"time by function: {share} of {profile.wall_s:.3g} s in MPI", printable(details)


def _draw_times(shown: Sequence[Function], names: Sequence[str], axes: Axes, width: float) -> None:
    """The mean over ranks, and on top of it the excess of the slowest rank."""
    if not shown:
        _write_nothing(axes, "nothing but MPI_Init and MPI_Finalize")
        return
    positions = range(len(shown))
    means = [function.time.mean_s for function in shown]
    excess = [function.time.imbalance_s for function in shown]
    style: dict[str, Any] = {"height": 0.65}
    axes.barh(positions, means, color=MEAN_COLOR, label="mean over ranks", **style)
    style.update(left=means, color=IMBALANCE_COLOR)
    axes.barh(positions, excess, label="imbalance: maximum - mean", **style)
    axes.set_yticks(positions, names)
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(left=0)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
    axes.set_xlabel("time (s)")
    axes.grid(True, axis="x")
    axes.legend(loc="lower right")


def _draw_matrix(profile: Profile, axes: Axes, width: float) -> None:
    """The bytes from each rank to each other."""
    largest = max((peer.bytes for peer in profile.peers), default=0)
    if not largest or profile.ranks > _MAX_RANKS:
        too_many = f"not drawn for more than {_MAX_RANKS:,} ranks"
        _write_nothing(axes, too_many if largest else "no message from rank to rank")
        return
    cells = numpy.zeros((profile.ranks, profile.ranks))
    for peer in (peer for peer in profile.peers if peer.bytes > 0):
        cells[peer.sender, peer.receiver] = peer.bytes
    image = axes.imshow(cells, cmap=_MAP, vmin=0, vmax=largest, interpolation="nearest")
    axes.set_xlabel("to rank")
    axes.set_ylabel("from rank")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=8, integer=True))
    bar = axes.figure.colorbar(image, ax=axes, shrink=0.85)
    ends = [0, largest / 2, largest]
    bar.set_ticks(ends, labels=[format_bytes(round(value)) for value in ends])


def _draw_ranks(
    profile: Profile, shown: Sequence[Function], names: Sequence[str], axes: Axes, width: float
) -> None:
    """The time of each rank in each function."""
    rows = [profile.outside_s, *(function.time_s for function in shown)]
    largest = max(max(row) for row in rows)
    style: dict[str, Any] = {"aspect": "auto", "interpolation": "nearest"}
    image = axes.imshow(rows, cmap=_MAP, vmin=0, vmax=largest or 1, **style)
    axes.set_yticks(range(len(rows)), ["USER", *names])
    axes.tick_params(axis="y", length=0)
    # The ranks that wrote, which are all but those that died.
    ranks = [place.rank for place in profile.placement]
    marked = range(0, len(ranks), max(1, -(-len(ranks) // 8)))
    axes.set_xticks(list(marked), [str(ranks[index]) for index in marked])
    axes.set_xlabel("rank")
    axes.figure.colorbar(image, ax=axes, shrink=0.85).set_label("time (s)")


def _draw_sizes(profile: Profile, axes: Axes, width: float) -> None:
    """The calls by the bytes that they transfer."""
    calls: Counter[int] = Counter()  # by bits of the number of bytes
    for size in (size for function in profile.functions for size in function.sizes):
        calls[size.from_bytes.bit_length()] += size.calls
    if not calls:
        _write_nothing(axes, "no call that transfers bytes")
        return
    bins = range(min(calls), max(calls) + 1)
    bars = axes.bar(bins, [calls[bits] for bits in bins], width=0.85, color=SIZE_COLOR)
    if len(bins) <= _MAX_LABELED_BINS:
        texts = [format_short(calls[bits]) if calls[bits] else "" for bits in bins]
        axes.bar_label(bars, texts, fontsize=8, color=QUIET_COLOR)
    marked = list(bins)[:: max(1, len(bins) // 5)]
    sizes = [0 if bits == 0 else 2 ** (bits - 1) for bits in marked]
    axes.set_xticks(marked, list(map(format_bytes, sizes)))
    axes.set_xlabel("bytes, from each label to less than twice as many")
    axes.set_ylabel("calls")
    axes.grid(True, axis="y")


def _write_nothing(axes: Axes, text: str) -> None:
    axes.set_axis_off()
    axes.text(0.5, 0.5, text, ha="center", va="center", color=QUIET_COLOR, transform=axes.transAxes)
