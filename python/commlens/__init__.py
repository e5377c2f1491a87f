"""commlens: what communication costs on a machine, how far that is from what the machine can do, and what to change."""

__version__ = "0.1.0"
