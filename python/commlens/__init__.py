"""commlens: measures what communication costs, and shows what the hardware can give."""

__version__ = "0.1.0"
