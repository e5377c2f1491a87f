// The blocks in which the overlap matrix is computed: only those on its diagonal and to one side of it.
#pragma once

#include <algorithm>
#include <cstddef>

namespace commlens::xtx {

/// The blocks of S: `width` rows from the diagonal on, or as many columns from the diagonal down. The first is the
/// longest.
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

}  // namespace commlens::xtx
