"""Traces of programs: the sequence of each rank's MPI calls (docs/trace.md)."""
