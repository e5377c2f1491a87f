#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/upload.hpp"
#include "sem/trilinear.hpp"
#include "solvers/coarse_solver.hpp"

namespace commlens::solvers {

namespace {

constexpr std::size_t corners = 8;

/// The row of each unknown, over all ranks: its owner's rows follow those of the ranks before. It is found by a
/// gather-scatter in which owners have the row.
std::vector<double> rows_of(const sem::FunctionSpace& space, double first_row, const Context& context) {
  std::vector<double> rows(space.length());
  for (std::size_t i = 0; i < space.numbering().owned; ++i) rows[i] = first_row + static_cast<double>(i);
  device::Buffer buffer = device::upload(rows, context.allocate, context.stream);
  const gather_scatter::ValueKind kind{};
  const auto sum = gather_scatter::make(gather_scatter::Method::pairwise, space.lists(), kind, context);
  sum->apply(buffer.data(), context.stream);
  return device::download(buffer.as<double>(), rows.size(), context.stream);
}

/// Rows that the ranks before own.
std::int64_t rows_before(std::size_t owned, const transport::Communicator& communicator) {
  std::vector<double> counts(static_cast<std::size_t>(communicator.size()));
  counts[static_cast<std::size_t>(communicator.rank())] = static_cast<double>(owned);
  communicator.maximum(counts);
  double before = 0;
  for (int rank = 0; rank < communicator.rank(); ++rank) before += counts[static_cast<std::size_t>(rank)];
  return std::llround(before);
}

/// Adds factor * (difference along a) (difference along b), both along the edges at a corner.
void add_product(std::size_t point, std::size_t a, std::size_t b, double factor, std::vector<double>& matrix) {
  const std::size_t low_a = point & ~(std::size_t{1} << a);
  const std::size_t low_b = point & ~(std::size_t{1} << b);
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 2; ++j) {
      matrix[(low_a | i << a) * corners + (low_b | j << b)] += i == j ? factor : -factor;
    }
  }
}

}  // namespace

/// With the nodes as quadrature points: at each of them only the differences along its three edges are not 0.
std::vector<double> element_matrix(const sem::Vertices& vertices) {
  const sem::Trilinear map = sem::trilinear(vertices);
  std::vector<double> matrix(corners * corners);
  for (std::size_t point = 0; point < corners; ++point) {
    const auto coordinate = [&](std::size_t axis) { return (point >> axis & 1) != 0 ? 1.0 : -1.0; };
    const auto at = sem::ColumnOfMap(map, coordinate(0), coordinate(1)).at(coordinate(2));
    for (std::size_t a = 0; a < 3; ++a) {
      for (std::size_t b = 0; b < 3; ++b) {
        double factor = 0;
        for (std::size_t axis = 0; axis < 3; ++axis) factor += at.row[a][axis] * at.row[b][axis];
        // The derivatives are 1/2 and -1/2, the weights are 1.
        add_product(point, a, b, factor / (4 * at.jacobian), matrix);
      }
    }
  }
  return matrix;
}

CoarseMatrix coarse_matrix(const sem::FunctionSpace& space, const Context& context) {
  CoarseMatrix result;
  const sem::Numbering& numbering = space.numbering();
  result.rows = numbering.owned;
  result.first_row = rows_before(numbering.owned, context.communicator);
  const auto rows = rows_of(space, static_cast<double>(result.first_row), context);
  const auto row_of = [&](std::uint32_t unknown) { return std::llround(rows[unknown & ~sem::Numbering::by_several]); };
  for (std::size_t element = 0; element < space.mesh().elements(); ++element) {
    const auto matrix = element_matrix(space.mesh().vertices(element));
    const std::uint32_t* const unknowns = numbering.of_node.data() + element * corners;
    for (std::size_t i = 0; i < corners; ++i) {
      for (std::size_t j = 0; j < corners; ++j) {
        const double value = matrix[i * corners + j];
        const bool fixed = unknowns[i] == sem::Numbering::fixed || unknowns[j] == sem::Numbering::fixed;
        if (fixed || std::abs(value) < smallest_entry) continue;
        result.entries.push_back({row_of(unknowns[i]), row_of(unknowns[j]), value});
      }
    }
  }
  return result;
}

}  // namespace commlens::solvers
