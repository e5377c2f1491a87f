"""C++ expressions for what the roles of a function say: bytes, peers, handles."""

from __future__ import annotations

import re

_AMOUNT = re.compile(r"(?P<kind>\w+)\((?P<count>\w+),(?P<type>\w+)(?:,(?P<extent>\w+))?\)$")


class Binding:
    """How a wrapper reads its arguments. In C they are the values."""

    first_index = 0  # of an array

    def value(self, name: str) -> str:
        return name

    def counts(self, name: str) -> str:
        return name

    def addresses(self, name: str) -> str:
        """An array of MPI_Aint."""
        return name

    def handle(self, name: str) -> str:
        return name

    def handle_at(self, name: str) -> str:
        """What a pointer to a handle points to."""
        return f"*{name}"

    def address(self, name: str) -> str:
        """Of a handle."""
        return f"&{name}"

    def result(self, name: str) -> str:
        """A number that the function has set."""
        return f"*{name}"


class FortranBinding(Binding):
    """All arguments are addresses."""

    first_index = 1

    def value(self, name: str) -> str:
        return f"*static_cast<const MPI_Fint*>({name})"

    def counts(self, name: str) -> str:
        return f"static_cast<const MPI_Fint*>({name})"

    def addresses(self, name: str) -> str:
        return f"static_cast<const MPI_Aint*>({name})"

    def handle(self, name: str) -> str:
        return f"FortranHandles{{{name}}}"

    handle_at = address = handle
    result = value


def count_bytes(roles: dict[str, str], binding: Binding) -> str:
    text = _amount(roles["bytes"], binding)
    if "in_place" in roles:
        in_place = _amount(roles["in_place"], binding)
        text = f"is_in_place({roles['buffer']}) ? {in_place} : {text}"
    if "root" in roles:
        text = f"{binding.value(roles['root'])} < 0 ? 0 : {text}"
    for role in ("sender", "peer"):
        if role in roles:
            text = f"{binding.value(roles[role])} == MPI_PROC_NULL ? 0 : {text}"
    return text


def exchanged_bytes(roles: dict[str, str], binding: Binding) -> str:
    """What a call sends, counted as `bytes` before, and what it has room to receive."""
    parts = ["bytes"] if "bytes" in roles else []
    if "receives" in roles:
        room = _amount(roles["receives"], binding)
        if "source" in roles:
            room = f"({binding.value(roles['source'])} == MPI_PROC_NULL ? 0 : {room})"
        parts.append(room)
    return " + ".join(parts) or "0"


def _amount(text: str, binding: Binding) -> str:
    if text == "nothing":
        return "0"
    match = _parsed(text)
    kind, count = match["kind"], match["count"]
    if kind in ("sum", "sums", "own"):
        count = binding.counts(count)
    elif not count.isdigit():
        count = binding.value(count)
    arguments = [count, binding.handle(match["type"])]
    if kind == "own":
        arguments.append("communicator")
    if match["extent"]:
        arguments.append(f"amount::{match['extent']}(communicator)")
    return f"amount::{kind}({', '.join(arguments)})"


def _parsed(text: str) -> re.Match[str]:
    match = _AMOUNT.match(text)
    assert match is not None, text
    return match


def count_peers(roles: dict[str, str], binding: Binding) -> list[str]:
    """Statements that count bytes by peer, where these are known."""
    if "peer" in roles:
        return [f"Call::count_peer({peer(roles, binding)}, bytes);"]
    if "peers" not in roles["bytes"]:
        return []
    share = _share(roles["bytes"], binding)
    if "in_place" in roles:
        share = f"is_in_place({roles['buffer']}) ? {_share(roles['in_place'], binding)} : {share}"
    share = f"[&]([[maybe_unused]] int index) {{ return {share}; }}"
    return [f"count_each_peer(communicator, {share});"]


def _share(text: str, binding: Binding) -> str:
    """Of each(), sum() or sums(): what goes to the rank `index`."""
    match = _parsed(text)
    kind, datatype = match["kind"], binding.handle(match["type"])
    if kind == "sums":
        datatype = f"datatype_at({datatype}, index)"
    each = binding.value(match["count"])
    count = each if kind == "each" else f"{binding.counts(match['count'])}[index]"
    return f"amount::one({count}, {datatype})"


def peer(roles: dict[str, str], binding: Binding) -> str:
    if "peer" not in roles:
        return "Peers::none"
    rank = binding.value(roles["peer"])
    if "window" in roles:
        window = f"window_of({binding.handle(roles['window'])})"
        return f"profile.peers.of_window({window}, {rank})"
    return f"profile.peers.of(communicator, {rank})"
