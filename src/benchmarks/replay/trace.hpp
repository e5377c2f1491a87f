// A trace of a program's MPI calls in memory: what docs/trace.md describes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace commlens::replay {

/// What is wrong with a trace, in one sentence that begins with the file's name.
class TraceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct TraceType {
  std::string name;  ///< of MPI; empty: a derived one
  std::int64_t size = 0;
  std::int64_t lower_bound = 0;
  std::int64_t extent = 0;
  std::int64_t pieces = 0;
};

struct TraceFunction {
  std::string name;
  std::string fields;  ///< a letter for each; none: its calls are not replayed
};

/// A call with its parameters, as often as it is in the program's sequence.
struct TraceEvent {
  std::size_t function = 0;
  std::vector<std::int64_t> fields;
};

/// A node of a body. A loop is followed by the `length` nodes of its body.
struct Node {
  std::uint64_t times = 0;   ///< of a loop; 0: a leaf
  std::uint32_t event = 0;   ///< of a leaf
  std::uint32_t leaf = 0;    ///< number of the leaf in its body
  std::uint32_t length = 0;  ///< of a loop
};

struct Body {
  std::vector<Node> nodes;
  std::vector<std::uint64_t> executions;  ///< of each leaf
};

/// Of all executions of a leaf together.
struct LeafTimes {
  std::uint64_t count = 0;
  std::uint64_t gap_ns = 0;
  std::uint64_t gap_cpu_ns = 0;
  std::uint64_t call_ns = 0;
  std::uint64_t longest_gap_ns = 0;
  std::uint64_t longest_call_ns = 0;
  std::uint64_t calls = 0;  ///< that the executions stand for
};

/// Of one execution.
struct ExactGap {
  std::uint64_t gap_ns = 0;
  std::uint64_t gap_cpu_ns = 0;
};

struct TraceRank {
  std::size_t body = 0;
  std::size_t times_begin = 0;            ///< where its times are in the file
  std::vector<std::size_t> exact_begins;  ///< the same of lists of the times of each execution
};

struct Trace {
  std::string file;  ///< its name, for messages
  std::string content;
  std::uint32_t checksum = 0;  ///< of the content
  bool cut = false;            ///< the file ends within a block

  std::size_t ranks = 0;           ///< that execute it
  std::size_t recorded_ranks = 0;  ///< of the program
  std::size_t least_ranks = 0;     ///< the fewest that can execute it; 0: only as many as the program had
  double seconds = 0;              ///< of the program
  bool complete = false;           ///< each rank came to its end, and no call was dropped

  std::vector<TraceFunction> functions;
  std::vector<std::string> operations;
  std::vector<TraceType> types;
  std::vector<std::vector<std::int64_t>> arrays;
  std::vector<TraceEvent> events;
  std::vector<Body> bodies;
  std::vector<TraceRank> of_rank;

  [[nodiscard]] const Body& body(std::size_t rank) const { return bodies[of_rank[rank].body]; }
  /// For another number of ranks: each executes what one of the program did.
  void spread(std::size_t over);
  /// One for each leaf of the rank's body.
  [[nodiscard]] std::vector<LeafTimes> times(std::size_t rank) const;
  /// One for each execution of the rank, from the first on, as many as the trace has.
  [[nodiscard]] std::vector<ExactGap> exact_gaps(std::size_t rank) const;
};

constexpr std::size_t deepest_loop = 64;

/// Throws TraceError for content that is not a whole trace of each of its ranks. A file that was cut has the blocks
/// before.
Trace parse_trace(std::string content, const std::string& file);

/// CRC-32 as zlib computes it.
std::uint32_t crc32(std::string_view bytes, std::uint32_t before = 0);

/// Calls `visit(node)` for each execution of a leaf, in order.
template <class Visit>
void for_each_execution(const Node* first, const Node* last, const Visit& visit) {
  for (const Node* node = first; node != last; ++node) {
    if (node->times == 0) {
      visit(*node);
      continue;
    }
    const Node* const body = node + 1;
    const Node* const end = body + node->length;
    for (std::uint64_t i = 0; i < node->times; ++i) for_each_execution(body, end, visit);
    node = end - 1;
  }
}

}  // namespace commlens::replay
