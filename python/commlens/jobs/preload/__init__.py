"""Libraries of commlens that are preloaded into MPI programs: the program of a command line, the
library for its MPI, the run with it, and what the ranks leave."""
