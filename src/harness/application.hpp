// The whole program, for main() and for the tests' programs, which add benchmarks of their own.
#pragma once

namespace commlens {

/// Parses, initialises MPI, measures; returns the exit status (docs/output.md).
int run_application(int argc, char** argv);

}  // namespace commlens
