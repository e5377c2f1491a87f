"""Running a program with its collectives of GPU memory rerouted, and its record."""
