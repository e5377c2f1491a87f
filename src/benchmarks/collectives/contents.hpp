// The arrays of a collective operation: what each rank puts in, and what must come out.
#pragma once

#include <cstddef>

#include "device/device.hpp"
#include "harness/measurement.hpp"
#include "transport/collectives.hpp"

namespace commlens::collectives {

/// Writes this rank's input of a round, and into its output what cannot be the result. Only queues it.
void write(device::Stream& stream, const transport::Collective& collective, std::size_t round);

/// Compares this rank's output with what so many operations must give that began with the input of the round.
Verdict expect(device::Stream& stream, const transport::Collective& collective, std::size_t round,
               std::size_t operations);

/// After how many operations the input must be written again, for the result to be exact.
std::size_t exact_operations(const transport::Collective& collective);

}  // namespace commlens::collectives
