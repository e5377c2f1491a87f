// Replays messages of another length.
#pragma once

#include "benchmarks/replay/trace.hpp"

namespace commlens::replay {

/// Multiplies the elements that the calls of the trace send and receive by `factor`. Both sides of a message remain
/// equal, also where they have different types: of b bytes become round(factor b / u) u, at least u, where u is the
/// least common multiple of the sizes of types that b may be made of, in messages or in collectives of that function.
/// Throws UsageError for more elements than a function takes.
void scale_bytes(Trace& trace, double factor);

}  // namespace commlens::replay
