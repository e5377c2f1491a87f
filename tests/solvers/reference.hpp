// What the components are compared with: plain linear algebra of the whole mesh, which every rank has. Nothing here is
// shared with the kernels but the Gauss-Lobatto points and the map of an element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sem/function_space.hpp"
#include "sem/mesh.hpp"
#include "sem/problem.hpp"

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

}  // namespace reference
}  // namespace commlens::solvers
