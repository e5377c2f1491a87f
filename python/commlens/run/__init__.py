"""From a benchmark or a suite and its options to jobs, records and an exit status."""
