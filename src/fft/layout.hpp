// The distribution of the points and coefficients of a grid over a process grid of p x q, and the redistributions
// between them.
//
//   points         (x of i, y of j, z)   on rank (i, j): pencils along z; with q = 1 slabs with all y and z
//   y pencils      (x of i, z of j, y)   not with slabs
//   coefficients   (z of j, y of i, x)   pencils along x; for a cutoff sphere rays, which any rank may have
//
// The last index is the fastest. The first redistribution is within a row of the process grid, the second within a
// column, or, for rays, between all ranks.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/enum_names.hpp"
#include "fft/process_grid.hpp"
#include "fft/rays.hpp"
#include "fft/redistribution.hpp"

namespace commlens::fft {

enum class Span { full, sphere };
ENUM_NAMES(Span, {full, "full"}, {sphere, "sphere"});

struct Distribution {
  Extents grid{};  ///< points in x, y and z
  int p = 1;
  int q = 1;
  Span span = Span::full;

  [[nodiscard]] int ranks() const { return p * q; }
  [[nodiscard]] bool slabs() const { return q == 1; }
};

/// What one rank has.
struct Layout {
  Layout(const Distribution& of, int rank);

  Distribution distribution;
  Range x;                              ///< of the points
  Range y;                              ///< of the points
  Range z;                              ///< of the y pencils
  std::optional<Redistribution> first;  ///< within the row; none with slabs
  Redistribution second;                ///< within the column; for rays between all ranks
  std::vector<Ray> rows;                ///< of coefficients: one per row after the second redistribution

  [[nodiscard]] std::size_t points() const { return x.count * y.count * distribution.grid[2]; }
  [[nodiscard]] std::size_t y_pencils() const { return first ? first->after() : 0; }
  [[nodiscard]] std::size_t coefficients() const;
  /// Elements of the blocks on either side, in the larger of both redistributions.
  [[nodiscard]] std::size_t blocks() const;
  /// Elements that the rank sends in one direction of the transform.
  [[nodiscard]] std::size_t sent() const;

 private:
  void choose_pencils(int j);
  void choose_full(int i);
  void choose_rays(int rank);
};

/// CP2K's choice: slabs if there are at least as many points in x as ranks, otherwise the most square p x q with p >=
/// q.
Distribution default_distribution(const Extents& grid, int ranks);

}  // namespace commlens::fft
