"""A profile as a row of panels: time by function with its imbalance, bytes by peer, sizes of messages."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from commlens.plot.style import PANEL_INCHES, QUIET_COLOUR, Heading
from commlens.profile_record import Profile, mean
from commlens.text import format_bytes, library_name, plural

_MOST_FUNCTIONS = 12
_COLUMNS = 3
_MEAN_COLOUR = "#0072B2"
_IMBALANCE_COLOUR = "#E69F00"
_SIZE_COLOUR = "#009E73"
_HEAD_INCHES = 0.5


def draw_profiles(profiles: Sequence[Profile]) -> Figure:
    width = PANEL_INCHES[0] * _COLUMNS
    figure = Figure(figsize=(width, (PANEL_INCHES[1] + _HEAD_INCHES) * len(profiles)), layout="constrained")
    places = figure.add_gridspec(len(profiles), _COLUMNS, width_ratios=(1.25, 1, 1))
    for row, profile in enumerate(profiles):
        times, matrix, sizes = (figure.add_subplot(places[row, column]) for column in range(_COLUMNS))
        _draw_times(times, profile)
        _draw_matrix(matrix, profile)
        _draw_sizes(sizes, profile)
    return figure


def _draw_times(axes: Axes, profile: Profile) -> None:
    """The mean over ranks, and on top of it what the slowest rank takes longer."""
    shown = profile.by_time[:_MOST_FUNCTIONS]
    positions = range(len(shown))
    means = [function.time.mean_s for function in shown]
    overs = [function.time.imbalance_s for function in shown]
    axes.barh(positions, means, height=0.65, color=_MEAN_COLOUR, label="mean over ranks")
    axes.barh(positions, overs, left=means, height=0.65, color=_IMBALANCE_COLOUR, label="imbalance: longest - mean")
    axes.set_yticks(positions, [function.name for function in shown])
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
    axes.set_xlabel("time (s)")
    axes.grid(True, axis="x")
    axes.legend(loc="lower right")
    total = mean(profile.total_s)
    share = 100 * mean(profile.mpi_s) / total if total > 0 else 0
    details = f"{' '.join(profile.command)}, {plural(profile.ranks, 'rank')}, {library_name(profile.mpi)}"
    Heading(f"time by function: {share:.0f}% of {total:.3g} s in MPI", details).write(axes, PANEL_INCHES[0], 2)


def _draw_matrix(axes: Axes, profile: Profile) -> None:
    Heading("bytes by peer", "point to point, all-to-all and RMA").write(axes, PANEL_INCHES[0], 2)
    largest = max((entry["bytes"] for entry in profile.peers), default=0)
    if largest == 0:
        _say_nothing(axes, "no message from rank to rank")
        return
    cells = [[float("nan")] * profile.ranks for _ in range(profile.ranks)]
    for entry in profile.peers:
        if entry["bytes"] > 0:
            cells[entry["from"]][entry["to"]] = entry["bytes"]
    least = min(entry["bytes"] for entry in profile.peers if entry["bytes"] > 0)
    image = axes.imshow(cells, cmap="viridis", norm=LogNorm(least, max(largest, least * 1.001)), origin="upper")
    axes.set_xlabel("to rank")
    axes.set_ylabel("from rank")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=8, integer=True))
    bar = axes.figure.colorbar(image, ax=axes, shrink=0.85)
    bar.minorticks_off()
    bar.set_ticks([least, largest] if largest > least else [largest])
    bar.set_ticklabels([format_bytes(value) for value in ([least, largest] if largest > least else [largest])])


def _draw_sizes(axes: Axes, profile: Profile) -> None:
    Heading("sizes of messages", "calls of all ranks and functions, by bytes").write(axes, PANEL_INCHES[0], 2)
    calls: dict[int, int] = {}
    for function in profile.functions:
        for size in function.sizes:
            calls[size["from_bytes"]] = calls.get(size["from_bytes"], 0) + size["calls"]
    if not calls:
        _say_nothing(axes, "no call that moves bytes")
        return
    exponents = {start: start.bit_length() for start in calls}
    first, last = min(exponents.values()), max(exponents.values())
    counts = {exponents[start]: count for start, count in calls.items()}
    bins = range(first, last + 1)
    axes.bar(bins, [counts.get(bin_, 0) for bin_ in bins], width=0.85, color=_SIZE_COLOUR)
    step = max(1, len(bins) // 6)
    marked = list(bins)[::step]
    axes.set_xticks(marked, [format_bytes(0 if bin_ == 0 else 2 ** (bin_ - 1)) for bin_ in marked])
    axes.set_xlabel("from so many bytes to less than twice as many")
    axes.set_ylabel("calls")
    if max(calls.values()) > 50 * min(calls.values()):
        axes.set_yscale("log")
    axes.grid(True, axis="y")


def _say_nothing(axes: Axes, text: str) -> None:
    axes.set_axis_off()
    axes.text(0.5, 0.5, text, ha="center", va="center", color=QUIET_COLOUR, transform=axes.transAxes)
