"""What a machine has, as far as it can be seen: hardware, kernel, limits, libraries, settings."""
