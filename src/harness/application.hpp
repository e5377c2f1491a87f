// The whole program, for main() and for the tests' programs, which add benchmarks of their own.
#pragma once

namespace commlens {

/// Parses, initialises MPI, measures; returns the exit status (docs/output.md).
int run_application(int argc, char** argv);

/// Does MPI really take the memory that it reports to support? A small job of its own, because a wrong answer can be a
/// crash: `commlens-bench probe --memory device`: sends a few messages and one Allreduce through the transport `mpi`
/// and prints a line of JSON before and after each step, flushed, so that the program that started it knows from the
/// last line of each rank what did not come back. The lines are {"probe": "library" | "begin" | "end" | "done", "rank":
/// …, …}; the call MPI_Init begins before MPI knows a rank, with rank -1. Returns 0 if everything arrived intact.
int run_probe(int argc, char** argv);

}  // namespace commlens
