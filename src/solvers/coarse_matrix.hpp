// The assembled matrix of the coarsest level, of order 1, for an algebraic multigrid solver.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sem/function_space.hpp"
#include "transport/context.hpp"

namespace commlens::solvers {

struct CoarseMatrix {
  struct Entry {
    std::int64_t row = 0;
    std::int64_t column = 0;
    double value = 0;
  };

  std::int64_t first_row = 0;  ///< rows are numbered over all ranks; this rank owns `rows` from here
  std::size_t rows = 0;        ///< in the order of the owned unknowns
  /// The contributions of this rank's elements, to rows of other ranks, too; entries of one place are to be added up.
  std::vector<Entry> entries;
};

/// Contributions smaller than this are left out: where elements are boxes, most couplings are rounding errors.
inline constexpr double smallest_entry = 5.96e-7;

/// Of an element with the vertices, by vertex: the operator of order 1, [8][8].
std::vector<double> element_matrix(const sem::Vertices& vertices);

/// `space` is of order 1. Collective.
CoarseMatrix coarse_matrix(const sem::FunctionSpace& space, const Context& context);

}  // namespace commlens::solvers
