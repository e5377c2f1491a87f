// The options of xtx, and the sizes that suit the memory at hand.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "base/enum_names.hpp"
#include "benchmarks/xtx/gram_matrix.hpp"
#include "device/data_type.hpp"
#include "device/device.hpp"
#include "harness/memory_plan.hpp"
#include "harness/options.hpp"

namespace commlens::xtx {

/// The blocks of S that are computed, only those on its diagonal and to one side of it: `width` rows from the diagonal
/// on, or as many columns from the diagonal down. The first is the longest.
struct Blocks {
  std::size_t vectors = 0;
  std::size_t width = 0;

  [[nodiscard]] std::size_t count() const { return (vectors + width - 1) / width; }
  [[nodiscard]] std::size_t first(std::size_t block) const { return block * width; }
  [[nodiscard]] std::size_t width_of(std::size_t block) const { return std::min(width, vectors - first(block)); }
  [[nodiscard]] std::size_t length(std::size_t block) const { return vectors - first(block); }
  [[nodiscard]] std::size_t elements(std::size_t block) const { return width_of(block) * length(block); }
  /// Of the blocks before this one, which are `width` wide and each `width` shorter than the one before.
  [[nodiscard]] std::size_t elements_before(std::size_t block) const {
    return block * width * vectors - width * width * (block * (block - 1) / 2);
  }
  [[nodiscard]] std::size_t elements() const { return elements_before(count() - 1) + elements(count() - 1); }
  /// At least as many as elements(), also for a request beyond any machine: it does not wrap around.
  [[nodiscard]] double at_most() const {
    return 0.5 * static_cast<double>(vectors) * static_cast<double>(vectors + width);
  }
};

/// Of a block as the BLAS computes it: its columns one after the other, or its rows.
enum class Layout { tall, wide };
ENUM_NAMES(Layout, {tall, "tall"}, {wide, "wide"});

/// The block to begin with.
enum class First { largest, smallest };
ENUM_NAMES(First, {largest, "largest"}, {smallest, "smallest"});

struct Options {
  // The case that DFT-FE published: two thirds of Summit's memory.
  static constexpr std::size_t published_dofs = 16'194'277;
  static constexpr std::size_t published_vectors = 36'600;
  static constexpr std::size_t published_block = 732;

  std::size_t dofs = 0;     ///< 0: scaled to the memory
  std::size_t vectors = 0;  ///< 0: scaled to the memory
  Sweep block;              ///< empty: published_block, or a tenth of the vectors
  MatrixType dtype = MatrixType::f64;
  std::size_t depth = 2;
  Layout layout = Layout::tall;
  First first = First::largest;
  device::Priority priority = device::Priority::high;
  Numbers numbers = Numbers::full;
  bool overlap = true;
  bool copy = true;
  bool tune = false;
  std::string timeline;

  void describe(OptionSet& options);
  void resolve(int ranks) const;
  std::vector<std::string> scale_to_memory(const MemoryBudget& budget, int ranks);
  [[nodiscard]] MemoryEstimate memory_estimate(int rank, int ranks) const;

  [[nodiscard]] Blocks blocks() const { return {vectors, block}; }
  /// Blocks on the device at a time.
  [[nodiscard]] std::size_t slots(const Blocks& of) const { return overlap ? std::min(depth, of.count()) : 1; }
  [[nodiscard]] DataType type() const { return data_type(dtype); }
  [[nodiscard]] std::size_t bytes(std::size_t elements) const { return elements * size_of(type()); }

 private:
  /// What scale_to_memory() has chosen: not part of a case's key.
  struct Scaled {
    bool dofs = false;
    bool vectors = false;
    bool block = false;
  };

  [[nodiscard]] static std::size_t default_block(std::size_t of_vectors) {
    return std::min(published_block, (of_vectors + 9) / 10);
  }
  /// Of the widest blocks that are asked for, at most as wide as there are vectors.
  [[nodiscard]] Blocks widest_blocks(std::size_t of_vectors) const;
  [[nodiscard]] MemoryEstimate estimate(const Blocks& of, int rank, int ranks) const;
  [[nodiscard]] bool fits(const MemoryBudget& budget, int ranks, std::size_t with_vectors) const;
  void choose_size(const MemoryBudget& budget, int ranks);
  [[noreturn]] void refuse(const MemoryBudget& budget, int ranks) const;

  Scaled scaled_;
};

}  // namespace commlens::xtx
