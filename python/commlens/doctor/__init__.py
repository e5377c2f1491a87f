"""`commlens doctor`: looks at a machine, its MPI library and its settings, and says what to
change."""
