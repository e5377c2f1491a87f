"""What the views of a machine's parts have in common."""

from msgspec import Struct


class Seen(Struct, frozen=True, kw_only=True, gc=False, forbid_unknown_fields=True):
    """A part of a machine as it was seen; what could not be seen is None."""


class PartView(Seen, frozen=True, kw_only=True):
    """All of one kind, and why some of it could not be seen."""

    unseen: dict[str, str] = {}  # what, and why

    def why(self, what: str) -> str:
        """`ACS cannot be seen (lspci -vvv: not installed)`; empty where it was seen."""
        return f"{what} cannot be seen ({self.unseen[what]})" if what in self.unseen else ""
