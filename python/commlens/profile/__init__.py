"""Profiles of any MPI program: running it, the record of the run, tables."""
