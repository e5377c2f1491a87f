// What one rank executes of a trace, and the memory that it needs. Makes no MPI call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/replay/function.hpp"
#include "benchmarks/replay/trace.hpp"

namespace commlens::replay {

/// Of a communicator. Before it is made these are upper bounds.
struct Shape {
  std::int64_t size = 1;   ///< of the group of this rank
  std::int64_t peers = 1;  ///< of the remote group, in an intercommunicator; else `size`
  std::int64_t in_degree = 0;
  std::int64_t out_degree = 0;
  int rank = unknown;
  bool is_inter = false;
  std::uint64_t missing = 0;  ///< by bit: neighbors beyond the border of a grid

  /// From whom a block of a neighborhood collective comes.
  [[nodiscard]] bool has_neighbor(std::int64_t number) const { return number >= 64 || (missing >> number & 1U) == 0; }

  static constexpr int unknown = -1;
};

/// Bytes of the buffers of one call.
struct Need {
  std::size_t send = 0;
  std::size_t receive = 0;
};

/// Where the next buffer begins, or the next block, which may be of another type.
constexpr std::size_t aligned(std::size_t bytes) {
  constexpr std::size_t alignment = 64;
  return (bytes + alignment - 1) / alignment * alignment;
}
/// Of an element of a type: all are as long and as far apart, but the last one may be shorter.
struct Pieces {
  std::size_t count = 1;
  std::size_t bytes = 1;
  std::size_t last_bytes = 1;
  std::size_t stride = 1;

  [[nodiscard]] std::size_t span() const { return (count - 1) * stride + last_bytes; }
};
Pieces pieces_of(const TraceType& type);
/// Elements are replayed one after the other: none overlaps with the next.
std::int64_t stride(const TraceType& type);
/// Bytes from the first element's begin to the last one's end. Throws TraceError for more than any memory has.
std::size_t span(std::int64_t count, const TraceType& type);
Need need(const Arguments& call, const std::vector<TraceType>& types, const Shape& shape);
/// What the call sends, as the profile counts it.
std::size_t counted_bytes(const Arguments& call, const std::vector<TraceType>& types, const Shape& shape);
/// Blocks of a gather, an all-to-all or the like that lie one after the other on that side: 1 where there is one.
std::int64_t blocks_to_send(Pattern pattern, const Shape& shape);
std::int64_t blocks_to_receive(Pattern pattern, const Shape& shape);
/// Whether the arguments of that side are significant on this rank; true where its rank is unknown.
bool sends(const Arguments& call, const Shape& shape);
bool receives(const Arguments& call, const Shape& shape);

/// A place in the memory of a replay.
struct Area {
  std::size_t begin = 0;
  std::size_t bytes = 0;
};

struct Buffers {
  Area send;
  Area receive;
};

/// A position of a rank's program, which a loop may execute many times.
struct Leaf {
  Arguments* call = nullptr;  ///< nullptr: a call that is not replayed
  LeafTimes times;
};

/// Of one rank.
class Program {
 public:
  /// Throws TraceError for calls with parameters that no program can have given.
  Program(const Trace& trace, std::size_t rank);

  [[nodiscard]] const std::vector<Node>& nodes() const { return body_->nodes; }
  [[nodiscard]] std::vector<Leaf>& leaves() { return leaves_; }
  [[nodiscard]] std::vector<std::unique_ptr<Arguments>>& calls() { return calls_; }
  /// Whether a receive or a probe takes messages of any rank or with any tag.
  [[nodiscard]] bool has_wildcards() const;
  [[nodiscard]] bool cancels() const;  ///< requests
  [[nodiscard]] std::size_t communicators() const { return shapes_.size(); }
  [[nodiscard]] std::size_t requests() const { return slots_.size(); }
  [[nodiscard]] std::size_t messages() const { return messages_; }
  [[nodiscard]] const Buffers& scratch() const { return scratch_; }
  [[nodiscard]] const Buffers& slot(std::int64_t slot) const { return slots_[static_cast<std::size_t>(slot)]; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }  ///< of all buffers

 private:
  void count_numbers(std::size_t ranks);
  void bound_shapes(std::size_t ranks);
  bool bound_shape(const Arguments& call, std::int64_t ranks);
  void place_buffers(const std::vector<TraceType>& types);

  const Body* body_;
  std::vector<std::unique_ptr<Arguments>> calls_;
  std::vector<Leaf> leaves_;
  std::vector<Shape> shapes_;
  std::vector<Buffers> slots_;
  std::size_t messages_ = 0;
  Buffers scratch_;
  std::size_t bytes_ = 0;
};

/// The call of an event on a rank; nullptr: a replay does not execute it. Throws TraceError.
std::unique_ptr<Arguments> decode(const Trace& trace, const TraceEvent& event, std::size_t rank);

/// Of all ranks together, as it was recorded.
struct Recorded {
  double calls = 0;
  double call_s = 0;
  double not_replayed_s = 0;  ///< of call_s
  std::string not_replayed;   ///< the function with the most of it
  std::vector<double> call_s_of_rank;
};
Recorded recorded(const Trace& trace);

}  // namespace commlens::replay
