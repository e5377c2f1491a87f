// Where the points and the coefficients of a grid lie on a process grid of p x q, and the redistributions between.
//
//   points         (x of i, y of j, z)        every rank (i, j): pencils along z; with q = 1 slabs of whole y and z
//   in between     (x of i, z of j, y)        pencils along y; none with slabs
//   coefficients   (z of j, y of i, x)        pencils along x; of the cutoff sphere rays, spread over all ranks
//
// The last index is the fastest. The first redistribution is within a row of the process grid, the second within a
// column; rays travel between all ranks.
#pragma once

#include <optional>
#include <vector>

#include "fft/rays.hpp"
#include "fft/redistribution.hpp"
#include "fft/split.hpp"

namespace commlens::fft {

enum class Span { full, sphere };

struct Distribution {
  Extents grid{};  ///< points in x, y and z
  int p = 1;
  int q = 1;
  Span span = Span::full;

  [[nodiscard]] int ranks() const { return p * q; }
  [[nodiscard]] bool slabs() const { return q == 1; }
};

/// All of it on one rank.
struct Layout {
  Layout(const Distribution& of, int rank);

  Distribution distribution;
  Range x;                              ///< of the points
  Range y;                              ///< of the points
  Range z;                              ///< in between
  std::optional<Redistribution> first;  ///< within the row; slabs have none
  Redistribution second;                ///< within the column; of rays, between all ranks
  std::vector<Ray> rows;                ///< of coefficients: one for each row after the second redistribution

  [[nodiscard]] std::size_t points() const { return x.count * y.count * distribution.grid[2]; }
  [[nodiscard]] std::size_t between() const { return first ? first->after() : 0; }
  [[nodiscard]] std::size_t coefficients() const;
  /// Elements of blocks on each side, of the larger of both redistributions.
  [[nodiscard]] std::size_t blocks() const;
  /// Elements that leave the rank in one direction.
  [[nodiscard]] std::size_t sent() const;

 private:
  void choose_pencils(int j);
  void choose_full(int i);
  void choose_rays(int rank);
};

/// CP2K's: slabs if there are as many points in x as ranks, otherwise the most square p x q, p not the smaller.
Distribution default_distribution(const Extents& grid, int ranks);

}  // namespace commlens::fft
