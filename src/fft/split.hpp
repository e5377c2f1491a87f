// How the points of an axis are split over ranks.
#pragma once

#include <cstddef>

namespace commlens::fft {

/// Points begin … begin + count - 1 of an axis.
struct Range {
  std::size_t begin = 0;
  std::size_t count = 0;

  [[nodiscard]] std::size_t end() const { return begin + count; }
};

/// As evenly as possible, as in CP2K: rank r of n has points round(r m / n) … round((r + 1) m / n) - 1 of m. With more
/// ranks than points some have none.
inline Range even_split(std::size_t points, int rank, int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  const auto bound = [&](std::size_t r) { return (2 * r * points + n) / (2 * n); };  // halves are rounded up
  const auto r = static_cast<std::size_t>(rank);
  return {.begin = bound(r), .count = bound(r + 1) - bound(r)};
}

}  // namespace commlens::fft
