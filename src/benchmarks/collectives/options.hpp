// The options of a collective operation as a benchmark.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "benchmarks/collectives/computation.hpp"
#include "harness/benchmark.hpp"
#include "transport/collectives.hpp"

namespace commlens::collectives {

using transport::CallMode;
using transport::Collective;
using transport::Counts;
using transport::Operation;
using transport::OperationDescription;
using transport::Reduction;
using transport::Shape;

/// What `--bytes` counts: the block that goes to or comes from one rank, as in MPI's arguments, or the largest array,
/// as in nccl-tests. They differ where an operation has a block for each rank.
enum class SizeOf { block, array };
ENUM_NAMES(SizeOf, {block, "block"}, {array, "array"});

struct CollectiveOptions {
  explicit CollectiveOptions(const OperationDescription& of);

  void describe(OptionSet& options);
  void resolve(int ranks);
  /// Says which sizes were rounded up.
  [[nodiscard]] std::vector<std::string> scale_to_memory(const MemoryBudget& budget, int ranks) const;
  [[nodiscard]] MemoryEstimate memory_estimate(int rank, int ranks) const;

  [[nodiscard]] Shape shape(int rank, int ranks) const;
  /// Elements of the one buffer of an operation in place.
  [[nodiscard]] std::size_t elements_in_place(const Shape& shape) const;
  [[nodiscard]] bool has_data() const { return operation->operation != Operation::barrier; }

  const OperationDescription* operation;
  std::size_t count = 0;  ///< elements of a block; 0: not given
  Sizes bytes;            ///< of a block, once resolved
  SizeOf size_of_what = SizeOf::block;
  DataType type;
  bool in_place;
  std::optional<Reduction> reduction;
  std::size_t root = 0;
  std::optional<Counts> counts;
  std::size_t dimensions = 0;  ///< of the grid; 0: not given
  std::string grid_of_ranks;   ///< as the user wrote it; empty: as equal as possible
  transport::Grid grid;        ///< its extents: once resolved
  std::optional<CallMode> call;
  std::optional<Compute> compute;  ///< between the call and its wait

 private:
  [[nodiscard]] bool has_blocks() const;
  [[nodiscard]] std::size_t default_count() const;
  void describe_sizes(OptionSet& options);
  void describe_grid(OptionSet& options);
  void resolve_sizes(int ranks);
  void resolve_grid(int ranks);

  bool sized_by_count_ = true;
  std::string rounded_;  ///< what the user is told
};

}  // namespace commlens::collectives
