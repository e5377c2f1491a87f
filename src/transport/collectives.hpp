// Collective operations: one description of each, from which the benchmarks, their validation and the transports
// follow.
//
// An operation is described by blocks: runs of elements that a rank has afterwards, each with the ranks whose inputs it
// is made of. A block of one rank is a copy, one of several is a reduction. What is sent, how much, and what must come
// out follows from them. A new operation is a value here, an entry in collectives.cpp, and its call in
// mpi_collectives.cpp; NCCL's call, if it has one, in ccl_collectives.cpp.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/enum_names.hpp"
#include "device/data_type.hpp"
#include "transport/grid.hpp"

namespace commlens::transport {

/// By their names as benchmarks. `reduce-scatter` is MPI_Reduce_scatter_block.
enum class Operation {
  broadcast,
  reduce,
  allreduce,
  reduce_scatter,
  reduce_scatterv,
  allgather,
  allgatherv,
  gather,
  gatherv,
  scatter,
  scatterv,
  alltoall,
  alltoallv,
  alltoallw,
  scan,
  exclusive_scan,
  shift,
  hypercube,
  neighbor_allgather,
  neighbor_allgatherv,
  neighbor_alltoall,
  neighbor_alltoallv,
  neighbor_alltoallw,
  barrier,
};
ENUM_NAMES(Operation, {broadcast, "broadcast"}, {reduce, "reduce"}, {allreduce, "allreduce"},
           {reduce_scatter, "reduce-scatter"}, {reduce_scatterv, "reduce-scatterv"}, {allgather, "allgather"},
           {allgatherv, "allgatherv"}, {gather, "gather"}, {gatherv, "gatherv"}, {scatter, "scatter"},
           {scatterv, "scatterv"}, {alltoall, "alltoall"}, {alltoallv, "alltoallv"}, {alltoallw, "alltoallw"},
           {scan, "scan"}, {exclusive_scan, "exclusive-scan"}, {shift, "shift"}, {hypercube, "hypercube"},
           {neighbor_allgather, "neighbor-allgather"}, {neighbor_allgatherv, "neighbor-allgatherv"},
           {neighbor_alltoall, "neighbor-alltoall"}, {neighbor_alltoallv, "neighbor-alltoallv"},
           {neighbor_alltoallw, "neighbor-alltoallw"}, {barrier, "barrier"});

/// How values are combined. `avg` and `premulsum` (2 times each value, then the sum) are NCCL's; `user` is a sum by a
/// function of the application (MPI_Op_create).
enum class Reduction { sum, prod, min, max, avg, premulsum, user, band, bor, bxor, land, lor, lxor };
ENUM_NAMES(Reduction, {sum, "sum"}, {prod, "prod"}, {min, "min"}, {max, "max"}, {avg, "avg"}, {premulsum, "premulsum"},
           {user, "user"}, {band, "band"}, {bor, "bor"}, {bxor, "bxor"}, {land, "land"}, {lor, "lor"}, {lxor, "lxor"});

/// Whether once more, on its own result, changes nothing.
constexpr bool is_idempotent(Reduction reduction) {
  switch (reduction) {
    case Reduction::min:
    case Reduction::max:
    case Reduction::avg:
    case Reduction::band:
    case Reduction::bor:
    case Reduction::land:
    case Reduction::lor:
      return true;
    default:
      return false;
  }
}
/// Bit by bit, or logical: of integers only.
constexpr bool is_of_bits(Reduction reduction) { return reduction >= Reduction::band; }

/// How elements are divided into blocks where ranks may have different numbers: `count` each; 0 at the first rank up to
/// twice as many at the last; or none at every other rank.
enum class Counts { equal, increasing, alternating };
ENUM_NAMES(Counts, {equal, "equal"}, {increasing, "increasing"}, {alternating, "alternating"});

/// A rank's view of an operation. Lengths and offsets are in elements.
struct Shape {
  int rank = 0;
  int ranks = 1;
  int root = 0;
  std::size_t count = 0;          ///< of a block
  Counts counts = Counts::equal;  ///< of operations with a count for each rank
  Grid grid;                      ///< of all ranks, of operations between neighbors

  /// Of a rank.
  [[nodiscard]] std::size_t block(int of) const;
  /// Of all ranks before it: where its block begins among those of all.
  [[nodiscard]] std::size_t begin(int of) const;
  [[nodiscard]] std::size_t all() const { return begin(ranks); }
  [[nodiscard]] bool is_root() const { return rank == root; }
};

/// Elements that a rank has afterwards.
struct Block {
  std::size_t output = 0;  ///< where they begin in the output
  std::size_t count = 0;
  int first = 0;  ///< the first and the last of the ranks whose elements are combined; the same: a copy
  int last = 0;
  std::size_t input = 0;  ///< where they begin in the input of each of these

  [[nodiscard]] bool is_copy() const { return first == last; }
};

/// Where input and output begin in the one buffer of an operation in place.
struct InPlaceOffsets {
  std::size_t input = 0;
  std::size_t output = 0;
};

/// Whether the result of an operation that is repeated in place is known: `if_idempotent` with reductions that do not
/// change it any more; `never` where each repetition has another input.
enum class RepeatsInPlace { always, if_idempotent, never };

/// What each rank must send or receive, as a part of the largest array: bus bandwidth over algorithm bandwidth.
struct BusFactor {
  double (*of)(int ranks);
  std::string_view text;  ///< of n ranks: "(n-1)/n"
};

struct OperationDescription {
  Operation operation;
  std::string_view call;  ///< of MPI
  std::string_view help;
  std::string_view osu;   ///< what the OSU micro-benchmarks name it: "Allgather Latency Test"
  std::string_view nccl;  ///< the program of nccl-tests; empty: none
  bool reduces = false;
  bool rooted = false;
  bool has_counts = false;    ///< one for each rank
  bool of_neighbors = false;  ///< in a grid of ranks
  /// Elements of the input and of the output of a rank.
  std::size_t (*input)(const Shape&);
  std::size_t (*output)(const Shape&);
  std::vector<Block> (*blocks)(const Shape&);
  /// Elements of the largest array that a rank has, by which nccl-tests defines the algorithm bandwidth.
  std::size_t (*total)(const Shape&);
  BusFactor bus_factor;
  /// As MPI has them; nullptr: MPI does not have the operation in place.
  InPlaceOffsets (*in_place)(const Shape&) = nullptr;
  bool is_in_place = false;  ///< unless the user asks otherwise
  /// nullptr: as MPI has them.
  InPlaceOffsets (*in_place_of_nccl)(const Shape&) = nullptr;
  RepeatsInPlace repeats_in_place = RepeatsInPlace::always;
};

/// Of all operations, in the order of the enumeration.
const std::vector<OperationDescription>& operations();
const OperationDescription& describe(Operation operation);

/// A collective operation on arrays of this rank. In place: input and output are in one buffer, as InPlaceOffsets says.
struct Collective {
  Operation operation = Operation::barrier;
  Shape shape;
  DataType type = DataType::u8;
  Reduction reduction = Reduction::sum;
  bool in_place = false;
  const void* input = nullptr;
  void* output = nullptr;

  [[nodiscard]] const OperationDescription& description() const { return describe(operation); }
  [[nodiscard]] std::vector<Block> blocks() const { return description().blocks(shape); }
};

/// Where input and output of an operation in place begin, as NCCL has them.
InPlaceOffsets in_place_of_nccl(const Collective& collective);

/// How it is called: one call that waits; MPI_I... and a wait; or prepared once, then started and waited for.
enum class CallMode { blocking, nonblocking, persistent };
ENUM_NAMES(CallMode, {blocking, "blocking"}, {nonblocking, "nonblocking"}, {persistent, "persistent"});

}  // namespace commlens::transport
