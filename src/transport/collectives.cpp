#include "transport/collectives.hpp"

#include <algorithm>
#include <stdexcept>

namespace commlens::transport {

std::size_t Shape::block(int of) const {
  switch (counts) {
    case Counts::equal:
      break;
    case Counts::increasing:
      return ranks == 1 ? count : 2 * count * static_cast<std::size_t>(of) / static_cast<std::size_t>(ranks - 1);
    case Counts::alternating:
      return of % 2 == 0 ? 2 * count : 0;
  }
  return count;
}

std::size_t Shape::begin(int of) const {
  if (counts == Counts::equal) return count * static_cast<std::size_t>(of);
  std::size_t before = 0;
  for (int other = 0; other < of; ++other) before += block(other);
  return before;
}

namespace {

using BlockList = std::vector<Block>;

std::size_t none(const Shape& /*shape*/) { return 0; }
std::size_t one(const Shape& shape) { return shape.count; }
std::size_t one_on_root(const Shape& shape) { return shape.is_root() ? shape.count : 0; }
std::size_t all(const Shape& shape) { return shape.all(); }
std::size_t all_on_root(const Shape& shape) { return shape.is_root() ? shape.all() : 0; }
std::size_t own(const Shape& shape) { return shape.block(shape.rank); }

/// From every rank its block, one after the other.
BlockList from_each(const Shape& shape) {
  BlockList blocks;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    blocks.push_back({.output = shape.begin(rank), .count = shape.block(rank), .first = rank, .last = rank});
  }
  return blocks;
}

/// The array of ranks `first` to `last`.
BlockList array_of(const Shape& shape, int first, int last) {
  return {{.output = 0, .count = shape.count, .first = first, .last = last}};
}

/// This rank's block of the arrays of ranks `first` to `last`.
BlockList block_of(const Shape& shape, int first, int last) {
  return {{.count = shape.block(shape.rank), .first = first, .last = last, .input = shape.begin(shape.rank)}};
}

int before(const Shape& shape) { return (shape.rank + shape.ranks - 1) % shape.ranks; }

/// What rank `from` sends to rank `to` where it sends to all. Each rank has different blocks, and all have equally many
/// elements.
std::size_t between(const Shape& shape, int from, int to) { return shape.block((from + to) % shape.ranks); }

/// Where that begins in the input of rank `from`.
std::size_t begin_between(const Shape& shape, int from, int to) {
  const int first = from + to;  // the blocks of ranks `from` to `first` - 1, beyond the last rank from 0 on again
  const std::size_t begin = shape.begin(from);
  return first <= shape.ranks ? shape.begin(first) - begin : shape.all() - begin + shape.begin(first - shape.ranks);
}

BlockList transposed(const Shape& shape) {
  BlockList blocks;
  std::size_t output = 0;
  for (int from = 0; from < shape.ranks; ++from) {
    const std::size_t input = begin_between(shape, from, shape.rank);
    const std::size_t count = between(shape, from, shape.rank);
    blocks.push_back({.output = output, .count = count, .first = from, .last = from, .input = input});
    output += count;
  }
  return blocks;
}

// Between neighbors in a grid. There is a slot for each of them; that of a neighbor beyond an end is not accessed. A
// rank has as many elements for each of its neighbors.

std::size_t own_to_each(const Shape& shape) { return shape.grid.sides() * own(shape); }

std::size_t elements_from(const Shape& shape, int neighbor) {
  return neighbor == Grid::no_rank ? shape.count : shape.block(neighbor);
}

std::size_t one_from_each(const Shape& shape) {
  std::size_t elements = 0;
  for (const int neighbor : shape.grid.neighbors(shape.rank)) elements += elements_from(shape, neighbor);
  return elements;
}

/// What a neighbor sends to all, or to each: this rank is after the one before it, and before the one after it.
BlockList from_neighbors(const Shape& shape, bool to_each) {
  BlockList blocks;
  const std::vector<int> neighbors = shape.grid.neighbors(shape.rank);
  std::size_t output = 0;
  for (std::size_t side = 0; side < neighbors.size(); ++side) {
    const int from = neighbors[side];
    const std::size_t count = elements_from(shape, from);
    const std::size_t opposite = side ^ 1U;
    if (from != Grid::no_rank) {
      const std::size_t input = to_each ? opposite * count : 0;
      blocks.push_back({.output = output, .count = count, .first = from, .last = from, .input = input});
    }
    output += count;
  }
  return blocks;
}

/// Of all ranks, the most that one has from others.
std::size_t most_from_neighbors(const Shape& shape) {
  std::size_t most = 0;
  Shape of = shape;
  for (of.rank = 0; of.rank < of.ranks; ++of.rank) {
    std::size_t elements = 0;
    for (const Block& block : from_neighbors(of, false)) elements += block.first == of.rank ? 0 : block.count;
    most = std::max(most, elements);
  }
  return most;
}

// Those of nccl-tests (doc/PERFORMANCE.md): what each rank must at least send or receive. Of scans, which it does not
// have, every rank but the first receives an array.
constexpr BusFactor whole{.of = [](int /*ranks*/) { return 1.0; }, .text = "1"};
constexpr BusFactor of_others{.of = [](int ranks) { return static_cast<double>(ranks - 1) / ranks; },
                              .text = "(n-1)/n"};
constexpr BusFactor twice_of_others{.of = [](int ranks) { return 2.0 * (ranks - 1) / ranks; }, .text = "2(n-1)/n"};
constexpr BusFactor nothing{.of = [](int /*ranks*/) { return 0.0; }, .text = "0"};

InPlaceOffsets at_begin(const Shape& /*shape*/) { return {}; }
InPlaceOffsets from_own_block(const Shape& shape) { return {.input = shape.begin(shape.rank), .output = 0}; }
InPlaceOffsets from_own_block_on_root(const Shape& shape) {
  return shape.is_root() ? from_own_block(shape) : InPlaceOffsets{};
}
InPlaceOffsets to_own_block(const Shape& shape) { return {.input = 0, .output = shape.begin(shape.rank)}; }
InPlaceOffsets to_own_block_on_root(const Shape& shape) {
  return shape.is_root() ? to_own_block(shape) : InPlaceOffsets{};
}

/// The same operation with a count for each rank.
OperationDescription with_counts(OperationDescription like, Operation operation, std::string_view call,
                                 std::string_view help, std::string_view osu) {
  like.operation = operation;
  like.call = call;
  like.help = help;
  like.osu = osu;
  like.nccl = operation == Operation::alltoallv ? "alltoallv_perf" : "";
  like.has_counts = true;
  return like;
}

std::vector<OperationDescription> make() {
  const OperationDescription reduce_scatter{.operation = Operation::reduce_scatter,
                                            .call = "MPI_Reduce_scatter_block",
                                            .help = "combine an array over all ranks, each of which has one block",
                                            .osu = "Reduce_scatter_block Latency Test",
                                            .nccl = "reduce_scatter_perf",
                                            .reduces = true,
                                            .input = all,
                                            .output = own,
                                            .blocks = [](const Shape& s) { return block_of(s, 0, s.ranks - 1); },
                                            .total = all,
                                            .bus_factor = of_others,
                                            .in_place = at_begin,
                                            .in_place_of_nccl = to_own_block,
                                            .repeats_in_place = RepeatsInPlace::never};
  const OperationDescription allgather{.operation = Operation::allgather,
                                       .call = "MPI_Allgather",
                                       .help = "collect a block of every rank, on all ranks",
                                       .osu = "Allgather Latency Test",
                                       .nccl = "all_gather_perf",
                                       .input = own,
                                       .output = all,
                                       .blocks = from_each,
                                       .total = all,
                                       .bus_factor = of_others,
                                       .in_place = from_own_block};
  const OperationDescription gather{.operation = Operation::gather,
                                    .call = "MPI_Gather",
                                    .help = "collect a block of every rank, on one rank",
                                    .osu = "Gather Latency Test",
                                    .nccl = "gather_perf",
                                    .rooted = true,
                                    .input = own,
                                    .output = all_on_root,
                                    .blocks = [](const Shape& s) { return s.is_root() ? from_each(s) : BlockList{}; },
                                    .total = all,
                                    .bus_factor = of_others,
                                    .in_place = from_own_block_on_root};
  const OperationDescription scatter{.operation = Operation::scatter,
                                     .call = "MPI_Scatter",
                                     .help = "send a block to every rank, from one rank",
                                     .osu = "Scatter Latency Test",
                                     .nccl = "scatter_perf",
                                     .rooted = true,
                                     .input = all_on_root,
                                     .output = own,
                                     .blocks = [](const Shape& s) { return block_of(s, s.root, s.root); },
                                     .total = all,
                                     .bus_factor = of_others,
                                     .in_place = to_own_block_on_root};
  const OperationDescription alltoall{.operation = Operation::alltoall,
                                      .call = "MPI_Alltoall",
                                      .help = "send a block from every rank to every rank",
                                      .osu = "All-to-All Personalized Exchange Latency Test",
                                      .nccl = "alltoall_perf",
                                      .input = all,
                                      .output = all,
                                      .blocks = transposed,
                                      .total = all,
                                      .bus_factor = of_others,
                                      .in_place = at_begin,
                                      .repeats_in_place = RepeatsInPlace::never};
  const OperationDescription neighbor_allgather{.operation = Operation::neighbor_allgather,
                                                .call = "MPI_Neighbor_allgather",
                                                .help = "collect a block of every neighbor in a grid of ranks",
                                                .osu = "Neighborhood Allgather Latency Test",
                                                .of_neighbors = true,
                                                .input = own,
                                                .output = one_from_each,
                                                .blocks = [](const Shape& s) { return from_neighbors(s, false); },
                                                .total = most_from_neighbors,
                                                .bus_factor = whole};
  const OperationDescription neighbor_alltoall{.operation = Operation::neighbor_alltoall,
                                               .call = "MPI_Neighbor_alltoall",
                                               .help = "send a block to every neighbor in a grid of ranks",
                                               .osu = "Neighborhood Alltoall Latency Test",
                                               .of_neighbors = true,
                                               .input = own_to_each,
                                               .output = one_from_each,
                                               .blocks = [](const Shape& s) { return from_neighbors(s, true); },
                                               .total = most_from_neighbors,
                                               .bus_factor = whole};
  std::vector<OperationDescription> table{
      {.operation = Operation::broadcast,
       .call = "MPI_Bcast",
       .help = "send one rank's array to all others",
       .osu = "Broadcast Latency Test",
       .nccl = "broadcast_perf",
       .rooted = true,
       .input = one_on_root,
       .output = one,
       .blocks = [](const Shape& s) { return array_of(s, s.root, s.root); },
       .total = one,
       .bus_factor = whole,
       .in_place = at_begin,
       .is_in_place = true},
      {.operation = Operation::reduce,
       .call = "MPI_Reduce",
       .help = "combine an array over all ranks, on one rank",
       .osu = "Reduce Latency Test",
       .nccl = "reduce_perf",
       .reduces = true,
       .rooted = true,
       .input = one,
       .output = one_on_root,
       .blocks = [](const Shape& s) { return s.is_root() ? array_of(s, 0, s.ranks - 1) : BlockList{}; },
       .total = one,
       .bus_factor = whole,
       .in_place = at_begin,
       .repeats_in_place = RepeatsInPlace::if_idempotent},
      {.operation = Operation::allreduce,
       .call = "MPI_Allreduce",
       .help = "combine an array over all ranks, on all ranks",
       .osu = "Allreduce Latency Test",
       .nccl = "all_reduce_perf",
       .reduces = true,
       .input = one,
       .output = one,
       .blocks = [](const Shape& s) { return array_of(s, 0, s.ranks - 1); },
       .total = one,
       .bus_factor = twice_of_others,
       .in_place = at_begin,
       .is_in_place = true},
      reduce_scatter,
      with_counts(reduce_scatter, Operation::reduce_scatterv, "MPI_Reduce_scatter",
                  "reduce-scatter with a count for each rank", "Reduce_scatter Latency Test"),
      allgather,
      with_counts(allgather, Operation::allgatherv, "MPI_Allgatherv", "allgather with a count for each rank",
                  "Allgatherv Latency Test"),
      gather,
      with_counts(gather, Operation::gatherv, "MPI_Gatherv", "gather with a count for each rank",
                  "Gatherv Latency Test"),
      scatter,
      with_counts(scatter, Operation::scatterv, "MPI_Scatterv", "scatter with a count for each rank",
                  "Scatterv Latency Test"),
      alltoall,
      with_counts(alltoall, Operation::alltoallv, "MPI_Alltoallv", "alltoall with a count for each pair of ranks",
                  "All-to-Allv Personalized Exchange Latency Test"),
      with_counts(alltoall, Operation::alltoallw, "MPI_Alltoallw",
                  "alltoall with a count, an offset and a type for each pair of ranks",
                  "All-to-Allw Personalized Exchange Latency Test"),
      {.operation = Operation::scan,
       .call = "MPI_Scan",
       .help = "combine an array over the ranks up to each rank",
       .osu = "Scan Latency Test",
       .reduces = true,
       .input = one,
       .output = one,
       .blocks = [](const Shape& s) { return array_of(s, 0, s.rank); },
       .total = one,
       .bus_factor = whole,
       .in_place = at_begin,
       .repeats_in_place = RepeatsInPlace::if_idempotent},
      {.operation = Operation::exclusive_scan,
       .call = "MPI_Exscan",
       .help = "combine an array over the ranks before each rank",
       .osu = "Exscan Latency Test",
       .reduces = true,
       .input = one,
       .output = one,  // the first rank gets nothing, but Open MPI's component cuda reads and writes its array
       .blocks = [](const Shape& s) { return s.rank > 0 ? array_of(s, 0, s.rank - 1) : BlockList{}; },
       .total = one,
       .bus_factor = whole},
      {.operation = Operation::shift,
       .call = "MPI_Isend, MPI_Irecv",
       .help = "send an array to the next rank and receive one from the rank before, in a ring",
       .osu = "Ring Shift Latency Test",
       .nccl = "sendrecv_perf",
       .input = one,
       .output = one,
       .blocks = [](const Shape& s) { return array_of(s, before(s), before(s)); },
       .total = one,
       .bus_factor = whole},
      {.operation = Operation::hypercube,
       .call = "MPI_Isend, MPI_Irecv",
       .help = "collect a block of every rank, on all ranks, by exchanges along the dimensions of a hypercube",
       .osu = "Hypercube Latency Test",
       .nccl = "hypercube_perf",
       .input = own,
       .output = all,
       .blocks = from_each,
       .total = [](const Shape& s) { return s.begin(s.ranks - 1); },  // as nccl-tests counts
       .bus_factor = whole},
      neighbor_allgather,
      with_counts(neighbor_allgather, Operation::neighbor_allgatherv, "MPI_Neighbor_allgatherv",
                  "neighbor-allgather with a count for each rank", "Neighborhood Allgatherv Latency Test"),
      neighbor_alltoall,
      with_counts(neighbor_alltoall, Operation::neighbor_alltoallv, "MPI_Neighbor_alltoallv",
                  "neighbor-alltoall with a count for each neighbor", "Neighborhood All-to-Allv Latency Test"),
      with_counts(neighbor_alltoall, Operation::neighbor_alltoallw, "MPI_Neighbor_alltoallw",
                  "neighbor-alltoall with a count, an offset and a type for each neighbor",
                  "All-to-Allw Personalized Exchange Latency Test"),
      {.operation = Operation::barrier,
       .call = "MPI_Barrier",
       .help = "wait for all ranks",
       .osu = "Barrier Latency Test",
       .input = none,
       .output = none,
       .blocks = [](const Shape&) { return BlockList{}; },
       .total = none,
       .bus_factor = nothing},
  };
  return table;
}

}  // namespace

const std::vector<OperationDescription>& operations() {
  static const std::vector<OperationDescription> table = make();
  return table;
}

const OperationDescription& describe(Operation operation) {
  return operations().at(static_cast<std::size_t>(operation));
}

InPlaceOffsets in_place_of_nccl(const Collective& collective) {
  const OperationDescription& operation = collective.description();
  const auto offsets = operation.in_place_of_nccl != nullptr ? operation.in_place_of_nccl : operation.in_place;
  return offsets(collective.shape);
}

}  // namespace commlens::transport
