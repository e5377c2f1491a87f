// The coarsest level's matrix, against the dense operator of order 1.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>

#include "solver_fixture.hpp"
#include "solvers/coarse_solver.hpp"
#include "transport/mpi_calls.hpp"

namespace commlens::solvers {
namespace {

using reference::Matrix;
using sem::Numbering;

TEST(ElementMatrix, IsTheOperatorOfOrderOne) {
  for (const double eps : {0.3, 1.0}) {
    const sem::Shape shape{.elements = {3, 2, 2}, .order = 1, .eps = eps};
    for (const std::size_t x : {0, 1, 2}) {
      const sem::Vertices vertices = sem::vertices_of(shape, {x, 1, 0});
      const auto matrix = element_matrix(vertices);
      reference::expect_equal(matrix, reference::element_matrix(sem::gll(1), vertices).values, 1e-13, text(shape));
      for (std::size_t i = 0; i < 8; ++i) {
        double row = 0;
        for (std::size_t j = 0; j < 8; ++j) {
          EXPECT_NEAR(matrix[i * 8 + j], matrix[j * 8 + i], 1e-14) << "symmetric";
          row += matrix[i * 8 + j];
        }
        EXPECT_NEAR(row, 0, 1e-13) << "constants are in the kernel";
        EXPECT_GT(matrix[i * 8 + i], 0);
      }
    }
  }
}

class CoarseMatrixIn : public SolversIn {
 protected:
  /// Over all ranks.
  static Vector sum_over_ranks(const Vector& values) {
    Vector result(values.size());
    transport::mpi_calls::allreduce(world(), values.data(), result.data(), values.size(), DataType::f64);
    return result;
  }
};

/// The rows of lower ranks come first, and are those of the unknowns that they own, in their order.
TEST_P(CoarseMatrixIn, AddsUpToTheDenseOperator) {
  for (const sem::Shape& shape :
       {sem::Shape{.elements = {4, 4, 3}, .order = 1}, sem::Shape{.elements = {4, 4, 3}, .order = 1, .eps = 1},
        sem::Shape{.elements = {3, 2, 2}, .order = 1}}) {
    const reference::Whole whole(shape);
    const sem::FunctionSpace space(sem::mesh_of(shape), context());
    const CoarseMatrix found = coarse_matrix(space, context());
    const std::size_t n = whole.unknowns();
    const auto owned = static_cast<std::int64_t>(found.rows);
    ASSERT_EQ(found.rows, space.numbering().owned);
    ASSERT_EQ(world().sum(owned), static_cast<std::int64_t>(n));
    Vector rows_of_ranks(static_cast<std::size_t>(ranks));
    rows_of_ranks[static_cast<std::size_t>(rank)] = static_cast<double>(owned);
    rows_of_ranks = sum_over_ranks(rows_of_ranks);
    double before = 0;
    for (int lower = 0; lower < rank; ++lower) before += rows_of_ranks[static_cast<std::size_t>(lower)];
    EXPECT_EQ(static_cast<double>(found.first_row), before);

    // By row: the unknown of the whole mesh.
    Vector unknowns(n);
    const auto ids = space.mesh().ids();
    std::map<std::size_t, std::size_t> mine;
    for (std::size_t node = 0; node < ids.size(); ++node) {
      const std::uint32_t unknown = space.numbering().of_node[node];
      if (unknown == Numbering::fixed) continue;
      const std::size_t place = unknown & ~Numbering::by_several;
      if (place < found.rows) mine[static_cast<std::size_t>(found.first_row) + place] = whole.unknown(ids[node]);
    }
    for (const auto& [row, unknown] : mine) unknowns[row] = static_cast<double>(unknown);
    unknowns = sum_over_ranks(unknowns);

    Matrix assembled(n);
    for (const CoarseMatrix::Entry& entry : found.entries) {
      EXPECT_GE(std::abs(entry.value), smallest_entry);
      ASSERT_LT(entry.row, static_cast<std::int64_t>(n));
      ASSERT_LT(entry.column, static_cast<std::int64_t>(n));
      const double row = unknowns[static_cast<std::size_t>(entry.row)];
      const double column = unknowns[static_cast<std::size_t>(entry.column)];
      assembled.at(static_cast<std::size_t>(row), static_cast<std::size_t>(column)) += entry.value;
    }
    const Vector sums = sum_over_ranks(assembled.values);
    const Matrix expected = whole.matrix();
    for (std::size_t i = 0; i < n * n; ++i) {
      // At most 8 elements contribute.
      ASSERT_NEAR(sums[i], expected.values[i], 8 * smallest_entry) << text(shape) << ", at " << i / n << ", " << i % n;
    }
    if (shape.eps == 1) {
      const auto entries = world().sum(static_cast<std::int64_t>(found.entries.size()));
      EXPECT_LT(entries, static_cast<std::int64_t>(64 * 48)) << "most couplings of boxes are left out";
      EXPECT_GT(entries, static_cast<std::int64_t>(n));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Memories, CoarseMatrixIn, sem::memories, name_of);

}  // namespace
}  // namespace commlens::solvers
