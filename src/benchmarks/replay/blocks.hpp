// Where in its buffers a call sends from and receives to on this rank.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "benchmarks/replay/contents.hpp"
#include "benchmarks/replay/function.hpp"
#include "benchmarks/replay/program.hpp"
#include "benchmarks/replay/trace.hpp"

namespace commlens::replay {

/// The block with this number, of those that lie one after the other on that side.
Block block_of(const Side& side, std::int64_t number, const std::vector<TraceType>& types);

/// Of a message that was received; nothing: its receive was cancelled.
std::optional<MPI_Count> message_bytes(const MPI_Status& status);

using VisitRange = std::function<void(std::byte* begin, std::size_t bytes)>;

/// Calls `visit` for what is sent, as few ranges as possible. A type with gaps is in them with its gaps.
void for_each_sent(const Arguments& call, const Shape& shape, const std::vector<TraceType>& types,
                   const VisitRange& visit);
/// Likewise for what has been received; `status` is that of a message.
void for_each_received(const Arguments& call, const Shape& shape, const std::vector<TraceType>& types,
                       const MPI_Status& status, const VisitRange& visit);

}  // namespace commlens::replay
