"""A profile as panels: time by function and by rank, bytes by peer, sizes of messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from commlens.base.text import format_bytes, format_percent, format_short, plural
from commlens.model.profile import Function, Profile, mean
from commlens.render.plots.colors import IMBALANCE_COLOR, MEAN_COLOR, QUIET_COLOR, SIZE_COLOR
from commlens.render.plots.heading import Heading
from commlens.render.plots.selection import MAX_HEIGHT_INCHES
from commlens.render.plots.style import PANEL_INCHES

_MAX_FUNCTIONS = 12
_LEAST_BAR = 0.001  # of the longest
_MAX_LABELED_BINS = 14
_COLUMNS = 2
_ROWS = 2
_MAX_RANKS = 2048  # of a matrix, which has their square of cells
_MAP = "viridis"
_HEAD_INCHES = 0.5


def fitting(profiles: Sequence[Profile]) -> list[Profile]:
    """The first, of which two screens hold all panels: at least one."""
    chosen = list(profiles)
    while len(chosen) > 1 and sum(map(_height, chosen)) > MAX_HEIGHT_INCHES:
        del chosen[-1]
    return chosen


def draw_profiles(profiles: Sequence[Profile]) -> Figure:
    """Command lines and names are shown as they are: `$` begins no formula."""
    width = (PANEL_INCHES[0] + 1) * _COLUMNS
    height = sum(map(_height, profiles))
    with matplotlib.rc_context({"text.parse_math": False}):
        figure = Figure(figsize=(width, height), layout="constrained")
        cells = figure.add_gridspec(_ROWS * len(profiles), _COLUMNS, width_ratios=(1.25, 1))
        for number, profile in enumerate(profiles):
            for index, draw in enumerate(_PANELS):
                row, column = divmod(index, _COLUMNS)
                draw(figure.add_subplot(cells[_ROWS * number + row, column]), profile)
    return figure


def draw_profile_singly(profile: Profile) -> Iterator[Figure]:
    """The same panels, each as a picture."""
    width = PANEL_INCHES[0] + 1
    with matplotlib.rc_context({"text.parse_math": False}):
        for draw in _PANELS:
            extra = _time_heading(profile).extra_inches(PANEL_INCHES[0]) * (draw is _draw_times)
            size = (width, PANEL_INCHES[1] + _HEAD_INCHES + extra)
            figure = Figure(figsize=size, layout="constrained")
            draw(figure.add_subplot(), profile)
            yield figure


def _height(profile: Profile) -> float:
    """Of its panels, in inches."""
    lines = _time_heading(profile).extra_inches(PANEL_INCHES[0])
    return (PANEL_INCHES[1] + _HEAD_INCHES) * _ROWS + lines


def _draw_times(axes: Axes, profile: Profile) -> None:
    """The mean over ranks, and on top of it the excess of the slowest rank."""
    heading = _time_heading(profile)
    heading.write(axes, PANEL_INCHES[0], max(2, len(heading.lines(PANEL_INCHES[0]))))
    shown = _shown(profile)
    if not shown:
        _write_nothing(axes, "nothing but MPI_Init and MPI_Finalize")
        return
    positions = range(len(shown))
    means = [function.time.mean_s for function in shown]
    excess = [function.time.imbalance_s for function in shown]
    axes.barh(positions, means, height=0.65, color=MEAN_COLOR, label="mean over ranks")
    axes.barh(
        positions,
        excess,
        left=means,
        height=0.65,
        color=IMBALANCE_COLOR,
        label="imbalance: maximum - mean",
    )
    axes.set_yticks(positions, [_printable(function.name) for function in shown])
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(left=0)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
    axes.set_xlabel("time (s)")
    axes.grid(True, axis="x")
    axes.legend(loc="lower right")


def _shown(profile: Profile) -> list[Function]:
    """The functions whose bars can be seen."""
    longest = max((own.time.mean_s for own in profile.communicating), default=0.0)
    least = _LEAST_BAR * longest
    return [own for own in profile.communicating if own.time.mean_s > least][:_MAX_FUNCTIONS]


def _time_heading(profile: Profile) -> Heading:
    total = mean(profile.total_s)
    share = format_percent(mean(profile.mpi_s) / total) if total > 0 else "0%"
    title = f"time by function: {share} of {total:.3g} s in MPI"
    start = mean(profile.in_functions(profile.initializing))
    apart = f"MPI_Init and MPI_Finalize apart: {start:.3g} s" if start > 0 else ""
    threads = f"mean over {profile.threads} threads" if profile.threads > 1 else ""
    ranks = plural(profile.ranks, "rank")
    parts = (" ".join(profile.command), ranks, profile.library, threads, apart)
    return Heading(title, _printable(", ".join(filter(None, parts))))


def _draw_ranks(axes: Axes, profile: Profile) -> None:
    heading = Heading("time by rank", "in the functions above; USER is outside MPI")
    heading.write(axes, PANEL_INCHES[0], 2)
    shown = _shown(profile)
    rows = [profile.outside_s, *(function.time_s for function in shown)]
    names = ["USER", *(_printable(function.name) for function in shown)]
    largest = max(max(row) for row in rows)
    image = axes.imshow(
        rows, cmap=_MAP, aspect="auto", interpolation="nearest", vmin=0, vmax=largest or 1
    )
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(axis="y", length=0)
    # The ranks that wrote, which are all but those that died.
    ranks = [place.rank for place in profile.placement]
    marked = range(0, len(ranks), max(1, -(-len(ranks) // 8)))
    axes.set_xticks(list(marked), [str(ranks[index]) for index in marked])
    axes.set_xlabel("rank")
    bar = axes.figure.colorbar(image, ax=axes, shrink=0.85)
    bar.set_label("time (s)")


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
    cells = [[0] * profile.ranks for _ in range(profile.ranks)]
    for peer in sent:
        cells[peer.sender][peer.receiver] = peer.bytes
    largest = max(peer.bytes for peer in sent)
    image = axes.imshow(cells, cmap=_MAP, vmin=0, vmax=largest, interpolation="nearest")
    axes.set_xlabel("to rank")
    axes.set_ylabel("from rank")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=8, integer=True))
    bar = axes.figure.colorbar(image, ax=axes, shrink=0.85)
    ends = [0, largest / 2, largest]
    bar.set_ticks(ends)
    bar.set_ticklabels([format_bytes(round(value)) for value in ends])


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
    bars = axes.bar(bins, [calls.get(bits, 0) for bits in bins], width=0.85, color=SIZE_COLOR)
    if len(bins) <= _MAX_LABELED_BINS:
        texts = [format_short(calls[bits]) if calls.get(bits) else "" for bits in bins]
        axes.bar_label(bars, texts, fontsize=8, color=QUIET_COLOR)
    marked = list(bins)[:: max(1, len(bins) // 6)]
    axes.set_xticks(marked, [format_bytes(0 if bits == 0 else 2 ** (bits - 1)) for bits in marked])
    axes.set_xlabel("bytes, from each label to less than twice as many")
    axes.set_ylabel("calls")
    axes.grid(True, axis="y")


def _write_nothing(axes: Axes, text: str) -> None:
    axes.set_axis_off()
    axes.text(0.5, 0.5, text, ha="center", va="center", color=QUIET_COLOR, transform=axes.transAxes)


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text)


_PANELS = (_draw_times, _draw_matrix, _draw_ranks, _draw_sizes)
