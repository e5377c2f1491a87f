#include "reference.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <utility>

#include "sem/problem.hpp"
#include "sem/trilinear.hpp"
#include "world.hpp"

namespace commlens::solvers::reference {

Vector multiply(const Matrix& matrix, const Vector& vector) {
  Vector result(matrix.n);
  for (std::size_t i = 0; i < matrix.n; ++i) {
    for (std::size_t j = 0; j < matrix.n; ++j) result[i] += matrix.at(i, j) * vector[j];
  }
  return result;
}

Matrix matrix_of(const Operator& apply, std::size_t size) {
  Matrix matrix(size);
  for (std::size_t j = 0; j < size; ++j) {
    Vector unit(size);
    unit[j] = 1;
    const Vector column = apply(unit);
    for (std::size_t i = 0; i < size; ++i) matrix.at(i, j) = column[i];
  }
  return matrix;
}

Vector solve(Matrix matrix, Vector b) {
  const std::size_t n = matrix.n;
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < n; ++i) {
      if (std::abs(matrix.at(i, k)) > std::abs(matrix.at(pivot, k))) pivot = i;
    }
    for (std::size_t j = 0; j < n; ++j) std::swap(matrix.at(k, j), matrix.at(pivot, j));
    std::swap(b[k], b[pivot]);
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = matrix.at(i, k) / matrix.at(k, k);
      for (std::size_t j = k; j < n; ++j) matrix.at(i, j) -= factor * matrix.at(k, j);
      b[i] -= factor * b[k];
    }
  }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) b[k] -= matrix.at(k, j) * b[j];
    b[k] /= matrix.at(k, k);
  }
  return b;
}

double product(const Vector& a, const Vector& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

double norm(const Vector& a) { return std::sqrt(product(a, a)); }

Vector sum(const Vector& a, double factor, const Vector& b) {
  Vector result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) result[i] = a[i] + factor * b[i];
  return result;
}

Matrix element_matrix(const sem::Gll& gll, const sem::Vertices& vertices) {
  const std::size_t n = gll.points.size();
  const sem::Trilinear map = sem::trilinear(vertices);
  const auto index = [n](const sem::Extents& node) { return node[0] + n * (node[1] + n * node[2]); };
  Matrix matrix(n * n * n);
  for (std::size_t point = 0; point < n * n * n; ++point) {
    const sem::Extents at{point % n, point / n % n, point / (n * n)};
    const auto cofactors = sem::ColumnOfMap(map, gll.points[at[0]], gll.points[at[1]]).at(gll.points[at[2]]);
    const double weight = gll.weights[at[0]] * gll.weights[at[1]] * gll.weights[at[2]];
    for (std::size_t a = 0; a < 3; ++a) {
      for (std::size_t b = 0; b < 3; ++b) {
        double factor = 0;
        for (std::size_t axis = 0; axis < 3; ++axis) factor += cofactors.row[a][axis] * cofactors.row[b][axis];
        factor *= weight / cofactors.jacobian;
        for (std::size_t i = 0; i < n; ++i) {
          for (std::size_t j = 0; j < n; ++j) {
            sem::Extents row = at;
            sem::Extents column = at;
            row[a] = i;
            column[b] = j;
            matrix.at(index(row), index(column)) +=
                factor * gll.derivative[at[a] * n + i] * gll.derivative[at[b] * n + j];
          }
        }
      }
    }
  }
  return matrix;
}

Whole::Whole(const sem::Shape& shape) : mesh_(shape, sem::Partition(shape.elements, 1), 0) {
  const auto ids = mesh_.ids();
  const auto on_boundary = mesh_.on_boundary();
  for (std::size_t node = 0; node < ids.size(); ++node) {
    if (on_boundary[node] == 0) ids_.push_back(ids[node]);
  }
  std::sort(ids_.begin(), ids_.end());
  ids_.erase(std::unique(ids_.begin(), ids_.end()), ids_.end());
  of_id_.assign(static_cast<std::size_t>(mesh_.unique_nodes()) + 1, fixed);
  for (std::size_t i = 0; i < ids_.size(); ++i) of_id_[static_cast<std::size_t>(ids_[i])] = i;
  for (const std::int64_t id : ids) of_node_.push_back(unknown(id));
  for (std::size_t element = 0; element < mesh_.elements(); ++element) {
    elements_.push_back(element_matrix(mesh_.gll(), mesh_.vertices(element)));
  }
}

Vector Whole::apply(const Vector& u) const {
  const std::size_t nodes = mesh_.nodes_per_element();
  Vector result(unknowns());
  for (std::size_t element = 0; element < mesh_.elements(); ++element) {
    const std::size_t* const of = of_node_.data() + element * nodes;
    Vector values(nodes);
    for (std::size_t node = 0; node < nodes; ++node) values[node] = of[node] == fixed ? 0.0 : u[of[node]];
    const Vector product = multiply(elements_[element], values);
    for (std::size_t node = 0; node < nodes; ++node) {
      if (of[node] != fixed) result[of[node]] += product[node];
    }
  }
  return result;
}

Matrix Whole::matrix() const { return matrix_of(poisson(), unknowns()); }

Vector Whole::diagonal() const {
  const std::size_t nodes = mesh_.nodes_per_element();
  Vector result(unknowns());
  for (std::size_t node = 0; node < of_node_.size(); ++node) {
    if (of_node_[node] != fixed) result[of_node_[node]] += elements_[node / nodes].at(node % nodes, node % nodes);
  }
  return result;
}

Vector Whole::weights() const {
  Vector result(unknowns());
  for (const std::size_t unknown : of_node_) {
    if (unknown != fixed) result[unknown] += 1;
  }
  for (double& value : result) value = 1 / value;
  return result;
}

Vector Whole::random(std::int64_t seed) const {
  Vector result;
  result.reserve(unknowns());
  for (const std::int64_t id : ids_) result.push_back(sem::random_number(seed * 1'000'003 + id));
  return result;
}

Vector Whole::on(const sem::FunctionSpace& space, const Vector& whole) const {
  const auto ids = space.mesh().ids();
  Vector here(space.length());
  for (std::size_t node = 0; node < ids.size(); ++node) {
    const std::uint32_t place = space.numbering().of_node[node];
    if (place != sem::Numbering::fixed) here[place & ~sem::Numbering::by_several] = whole[unknown(ids[node])];
  }
  return here;
}

Vector Whole::gathered(const sem::FunctionSpace& space, const Vector& here) const {
  constexpr double none = -std::numeric_limits<double>::infinity();
  const auto ids = space.mesh().ids();
  Vector largest(unknowns(), none);
  Vector least(unknowns(), none);  // with the opposite sign
  for (std::size_t node = 0; node < ids.size(); ++node) {
    const std::uint32_t place = space.numbering().of_node[node];
    if (place == sem::Numbering::fixed) continue;
    largest[unknown(ids[node])] = here[place & ~sem::Numbering::by_several];
    least[unknown(ids[node])] = -here[place & ~sem::Numbering::by_several];
  }
  world().maximum(largest);
  world().maximum(least);
  for (double& value : least) value = -value;
  EXPECT_EQ(least, largest) << "ranks have different values of one unknown";
  return largest;
}

}  // namespace commlens::solvers::reference
