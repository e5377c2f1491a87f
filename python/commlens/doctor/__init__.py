"""`commlens doctor`: looks at a machine, its MPI library and its settings, and says what to
change."""

FILE = "doctor.json"  # what --out FOLDER writes there, beside the records of short runs
