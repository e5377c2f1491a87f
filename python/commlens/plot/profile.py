"""A profile as a row of panels: time by function, bytes by peer, sizes of messages."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from commlens.plot.style import PANEL_INCHES, QUIET_COLOR, Heading, power_of_ten
from commlens.profile.imbalance import mean
from commlens.profile.record import Profile
from commlens.text import format_bytes, format_percent, plural

_MAX_FUNCTIONS = 12
_MAX_RANKS = 2048  # of a matrix, which has their square of cells
_COLUMNS = 3
_MEAN_COLOR = "#0072B2"
_IMBALANCE_COLOR = "#E69F00"
_SIZE_COLOR = "#009E73"
_HEAD_INCHES = 0.5


def draw_profiles(profiles: Sequence[Profile]) -> Figure:
    width = PANEL_INCHES[0] * _COLUMNS
    height = (PANEL_INCHES[1] + _HEAD_INCHES) * len(profiles)
    figure = Figure(figsize=(width, height), layout="constrained")
    cells = figure.add_gridspec(len(profiles), _COLUMNS, width_ratios=(1.25, 1, 1))
    for row, profile in enumerate(profiles):
        times, matrix, sizes = (
            figure.add_subplot(cells[row, column]) for column in range(_COLUMNS)
        )
        _draw_times(times, profile)
        _draw_matrix(matrix, profile)
        _draw_sizes(sizes, profile)
    return figure


def _draw_times(axes: Axes, profile: Profile) -> None:
    """The mean over ranks, and on top of it the excess of the slowest rank."""
    shown = profile.by_time[:_MAX_FUNCTIONS]
    positions = range(len(shown))
    means = [function.time.mean_s for function in shown]
    excess = [function.time.imbalance_s for function in shown]
    axes.barh(positions, means, height=0.65, color=_MEAN_COLOR, label="mean over ranks")
    axes.barh(
        positions,
        excess,
        left=means,
        height=0.65,
        color=_IMBALANCE_COLOR,
        label="imbalance: maximum - mean",
    )
    axes.set_yticks(positions, [function.name for function in shown])
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
    axes.set_xlabel("time (s)")
    axes.grid(True, axis="x")
    axes.legend(loc="lower right")
    _time_heading(profile).write(axes, PANEL_INCHES[0], 2)


def _time_heading(profile: Profile) -> Heading:
    total = mean(profile.total_s)
    share = format_percent(mean(profile.mpi_s) / total) if total > 0 else "0%"
    command = " ".join(profile.command)
    details = f"{command}, {plural(profile.ranks, 'rank')}, {profile.library}"
    return Heading(f"time by function: {share} of {total:.3g} s in MPI", details)


def _draw_matrix(axes: Axes, profile: Profile) -> None:
    heading = Heading("bytes by peer", "point to point, all-to-all and RMA")
    heading.write(axes, PANEL_INCHES[0], 2)
    sent = [peer for peer in profile.peers if peer.bytes > 0]
    if not sent:
        _write_nothing(axes, "no message from rank to rank")
        return
    if profile.ranks > _MAX_RANKS:
        _write_nothing(axes, f"not drawn for more than {_MAX_RANKS:,} ranks")
        return
    cells = [[float("nan")] * profile.ranks for _ in range(profile.ranks)]
    for peer in sent:
        cells[peer.sender][peer.receiver] = peer.bytes
    smallest = min(peer.bytes for peer in sent)
    largest = max(peer.bytes for peer in sent)
    norm = LogNorm(smallest, max(largest, smallest * 1.001))
    image = axes.imshow(cells, cmap="viridis", norm=norm, origin="upper")
    axes.set_xlabel("to rank")
    axes.set_ylabel("from rank")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=8, integer=True))
    bar = axes.figure.colorbar(image, ax=axes, shrink=0.85)
    bar.minorticks_off()
    ends = [smallest, largest] if largest > smallest else [largest]
    bar.set_ticks(ends)
    bar.set_ticklabels([format_bytes(value) for value in ends])


def _draw_sizes(axes: Axes, profile: Profile) -> None:
    heading = Heading("sizes of messages", "calls of all ranks and functions, by bytes")
    heading.write(axes, PANEL_INCHES[0], 2)
    calls: dict[int, int] = {}  # by bits of the number of bytes
    for function in profile.functions:
        for size in function.sizes:
            bits = size.from_bytes.bit_length()
            calls[bits] = calls.get(bits, 0) + size.calls
    if not calls:
        _write_nothing(axes, "no call that transfers bytes")
        return
    bins = range(min(calls), max(calls) + 1)
    axes.bar(bins, [calls.get(bits, 0) for bits in bins], width=0.85, color=_SIZE_COLOR)
    marked = list(bins)[:: max(1, len(bins) // 6)]
    axes.set_xticks(marked, [format_bytes(0 if bits == 0 else 2 ** (bits - 1)) for bits in marked])
    axes.set_xlabel("bytes, from each label to less than twice as many")
    axes.set_ylabel("calls")
    if max(calls.values()) > 50 * min(calls.values()):
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: power_of_ten(value)))
    axes.grid(True, axis="y")


def _write_nothing(axes: Axes, text: str) -> None:
    axes.set_axis_off()
    axes.text(0.5, 0.5, text, ha="center", va="center", color=QUIET_COLOR, transform=axes.transAxes)
