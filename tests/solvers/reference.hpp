// What the components are compared with: plain linear algebra of the whole mesh, which every rank has. Nothing here is
// shared with the kernels but the Gauss-Lobatto points and the map of an element.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sem/function_space.hpp"
#include "sem/mesh.hpp"
#include "sem/problem.hpp"
#include "solvers/chebyshev.hpp"
#include "solvers/fast_diagonalization.hpp"

namespace commlens::solvers {

using Vector = std::vector<double>;

namespace reference {

/// Square, row by row.
struct Matrix {
  explicit Matrix(std::size_t size) : n(size), values(size * size) {}

  double& at(std::size_t row, std::size_t column) { return values[row * n + column]; }
  [[nodiscard]] double at(std::size_t row, std::size_t column) const { return values[row * n + column]; }

  std::size_t n;
  Vector values;
};

using Operator = std::function<Vector(const Vector&)>;

Vector multiply(const Matrix& matrix, const Vector& vector);
Matrix matrix_of(const Operator& apply, std::size_t size);  ///< column by column, from unit vectors
Vector solve(Matrix matrix, Vector b);                      ///< by Gaussian elimination with pivots

double product(const Vector& a, const Vector& b);
double norm(const Vector& a);
using sem::expect_equal;
using sem::largest_of;
Vector sum(const Vector& a, double factor, const Vector& b);  ///< a + factor b

struct Iterates {
  Vector x;
  Vector relative_residuals;  ///< |r| / |b| after each step
};
/// The textbook's conjugate gradients with a preconditioner, as long as |r| / |b| is larger than the tolerance.
Iterates conjugate_gradients(const Operator& apply, const Operator& precondition, const Vector& b, std::size_t steps,
                             double tolerance = 0);

/// The Poisson operator of an element, by node: the sum over quadrature points and directions.
Matrix element_matrix(const sem::Gll& gll, const sem::Vertices& vertices);

/// The whole mesh. Its unknowns are numbered in the order of their global ids.
class Whole {
 public:
  static constexpr std::size_t fixed = ~std::size_t{0};

  explicit Whole(const sem::Shape& shape);

  [[nodiscard]] const sem::Mesh& mesh() const { return mesh_; }
  [[nodiscard]] std::size_t unknowns() const { return ids_.size(); }
  /// By global id of a node; `fixed` on the boundary.
  [[nodiscard]] std::size_t unknown(std::int64_t id) const { return of_id_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] std::int64_t id(std::size_t unknown) const { return ids_[unknown]; }
  /// By node of the mesh.
  [[nodiscard]] const std::vector<std::size_t>& of_node() const { return of_node_; }

  [[nodiscard]] Vector apply(const Vector& u) const;  ///< the Poisson operator
  [[nodiscard]] Matrix matrix() const;                ///< the same
  [[nodiscard]] Vector diagonal() const;              ///< of it
  [[nodiscard]] Operator poisson() const {
    return [this](const Vector& u) { return apply(u); };
  }
  [[nodiscard]] Operator jacobi() const;  ///< divides by the diagonal
  /// 1 / (number of elements that have the unknown).
  [[nodiscard]] Vector weights() const;
  [[nodiscard]] Vector random(std::int64_t seed) const;

  /// A vector of all unknowns as this rank's, and the reverse, which is collective: all ranks that have an unknown must
  /// have the same bits.
  [[nodiscard]] Vector on(const sem::FunctionSpace& space, const Vector& whole) const;
  [[nodiscard]] Vector gathered(const sem::FunctionSpace& space, const Vector& here) const;

 private:
  sem::Mesh mesh_;
  std::vector<std::int64_t> ids_;
  std::vector<std::size_t> of_id_;
  std::vector<std::size_t> of_node_;
  std::vector<Matrix> elements_;
};

// Restricted additive Schwarz: each element's extended problem as Kronecker products, solved without eigenvectors.
class Schwarz {
 public:
  explicit Schwarz(const Whole& whole);

  [[nodiscard]] Vector apply(const Vector& r) const;

 private:
  using Problems = std::array<Matrices, 3>;

  [[nodiscard]] double length_of(const sem::Extents& place, std::size_t axis) const;
  /// The unknown of each node of the extended element, Whole::fixed where it has none.
  [[nodiscard]] std::vector<std::size_t> extended(const sem::Extents& place) const;

  const Whole& whole_;
  std::vector<Problems> problems_;  ///< by element
  Vector weights_;
};

// A V-cycle with its parts: Chebyshev polynomials, interpolation, and dense solves.

/// T_degree((theta - S A) / delta) e / T_degree(theta / delta), where theta is the middle of the bounds and delta half
/// of what is between them.
Vector chebyshev(const Operator& sa, const Chebyshev::Bounds& bounds, std::size_t degree, const Vector& e);

/// The values of the coarse function at the fine nodes; both on the same elements.
Vector interpolated(const Whole& coarse, const Whole& fine, const Vector& u);

/// What a level of a V-cycle has; all but the operator only if it is not the coarsest.
struct CycleLevel {
  const Whole& whole;
  Operator s;
  Chebyshev::Bounds bounds;
  std::size_t degree = 0;
};

/// x from the levels from `level` on, the coarsest of which is solved for exactly.
Vector v_cycle(const std::vector<CycleLevel>& levels, std::size_t level, const Vector& b);

}  // namespace reference
}  // namespace commlens::solvers
