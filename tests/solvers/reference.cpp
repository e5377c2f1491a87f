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
#include "solvers/interpolation.hpp"
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

Iterates conjugate_gradients(const Operator& apply, const Operator& precondition, const Vector& b, std::size_t steps,
                             double tolerance) {
  Iterates iterates{Vector(b.size()), {}};
  Vector r = b;
  Vector z = precondition(r);
  Vector p = z;
  for (std::size_t step = 0; step < steps && norm(r) > tolerance * norm(b); ++step) {
    const Vector q = apply(p);
    const double rz = product(r, z);
    const double alpha = rz / product(p, q);
    iterates.x = sum(iterates.x, alpha, p);
    r = sum(r, -alpha, q);
    z = precondition(r);
    p = sum(z, product(r, z) / rz, p);
    iterates.relative_residuals.push_back(norm(r) / norm(b));
  }
  return iterates;
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

Operator Whole::jacobi() const {
  return [diagonal = diagonal()](Vector r) {
    for (std::size_t i = 0; i < r.size(); ++i) r[i] /= diagonal[i];
    return r;
  };
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

namespace {

std::size_t size_of(const Matrices& problem) { return problem.mass.size(); }

/// (A x B x B + B x A x B + B x B x A) u.
Vector multiply(const std::array<Matrices, 3>& problems, const Vector& u) {
  const std::size_t n = size_of(problems[0]);
  Vector result(u.size());
  for (std::size_t row = 0; row < u.size(); ++row) {
    const std::array<std::size_t, 3> i{row % n, row / n % n, row / (n * n)};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const std::size_t stride = axis == 0 ? 1 : (axis == 1 ? n : n * n);
      const double* const stiffness = problems[axis].stiffness.data() + i[axis] * n;
      double sum = 0;
      for (std::size_t m = 0; m < n; ++m) sum += stiffness[m] * u[row - i[axis] * stride + m * stride];
      result[row] +=
          sum * problems[(axis + 1) % 3].mass[i[(axis + 1) % 3]] * problems[(axis + 2) % 3].mass[i[(axis + 2) % 3]];
    }
  }
  return result;
}

/// By conjugate gradients with the masses as preconditioner, to rounding errors.
Vector solve(const std::array<Matrices, 3>& problems, const Vector& b) {
  const std::size_t n = size_of(problems[0]);
  Vector inverse(b.size());
  for (std::size_t row = 0; row < b.size(); ++row) {
    inverse[row] = 1 / (problems[0].mass[row % n] * problems[1].mass[row / n % n] * problems[2].mass[row / (n * n)]);
  }
  const auto scaled = [&](Vector r) {
    for (std::size_t i = 0; i < r.size(); ++i) r[i] *= inverse[i];
    return r;
  };
  return conjugate_gradients([&](const Vector& u) { return multiply(problems, u); }, scaled, b, 10 * b.size(), 1e-13).x;
}

}  // namespace

Schwarz::Schwarz(const Whole& whole) : whole_(whole), weights_(whole.weights()) {
  const sem::Mesh& mesh = whole.mesh();
  for (std::size_t element = 0; element < mesh.elements(); ++element) {
    Problems problems;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const sem::Extents& place = mesh.place(element);
      sem::Extents before = place;
      sem::Extents after = place;
      Lengths lengths{.element = length_of(place, axis)};
      if (before[axis]-- > 0) lengths.before = length_of(before, axis);
      if (++after[axis] < mesh.shape().elements[axis]) lengths.after = length_of(after, axis);
      problems[axis] = matrices_of(mesh.gll(), lengths);
    }
    problems_.push_back(std::move(problems));
  }
}

/// The mean distance between the nodes of the two faces.
double Schwarz::length_of(const sem::Extents& place, std::size_t axis) const {
  const sem::Mesh& mesh = whole_.mesh();
  const sem::Vertices vertices = sem::vertices_of(mesh.shape(), place);
  const std::size_t n = mesh.gll().points.size();
  double all = 0;
  for (std::size_t node = 0; node < n * n * n; ++node) {
    const sem::Extents at{node % n, node / n % n, node / (n * n)};
    if (at[axis] != 0) continue;
    sem::Point low{};
    for (std::size_t other = 0; other < 3; ++other) low[other] = mesh.gll().points[at[other]];
    sem::Point high = low;
    high[axis] = 1;
    const sem::Point from = sem::interpolate(vertices, low);
    const sem::Point to = sem::interpolate(vertices, high);
    all += std::sqrt(std::pow(to[0] - from[0], 2) + std::pow(to[1] - from[1], 2) + std::pow(to[2] - from[2], 2));
  }
  return all / static_cast<double>(n * n);
}

std::vector<std::size_t> Schwarz::extended(const sem::Extents& place) const {
  const sem::Shape& shape = whole_.mesh().shape();
  const auto order = static_cast<std::size_t>(shape.order);
  const std::size_t n = order + 3;
  std::vector<std::size_t> unknowns(n * n * n, Whole::fixed);
  for (std::size_t node = 0; node < unknowns.size(); ++node) {
    const sem::Extents at{node % n, node / n % n, node / (n * n)};
    int beyond = 0;  // directions in which it lies outside of the element: edges and corners have none
    bool inside = true;
    sem::Extents in_lattice{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      beyond += at[axis] == 0 || at[axis] + 1 == n ? 1 : 0;
      inside = inside && place[axis] * order + at[axis] >= 1;
      in_lattice[axis] = place[axis] * order + at[axis] - 1;
      inside = inside && in_lattice[axis] <= shape.elements[axis] * order;
    }
    if (inside && beyond <= 1) unknowns[node] = whole_.unknown(sem::id_of(shape, in_lattice));
  }
  return unknowns;
}

Vector Schwarz::apply(const Vector& r) const {
  const sem::Mesh& mesh = whole_.mesh();
  const std::size_t n = mesh.gll().points.size() + 2;
  Vector result(r.size());
  for (std::size_t element = 0; element < mesh.elements(); ++element) {
    const auto unknowns = extended(mesh.place(element));
    Vector b(unknowns.size());
    for (std::size_t node = 0; node < b.size(); ++node) {
      if (unknowns[node] != Whole::fixed) b[node] = r[unknowns[node]];
    }
    const Vector x = solve(problems_[element], b);
    for (std::size_t node = 0; node < x.size(); ++node) {
      const std::size_t at[3] = {node % n, node / n % n, node / (n * n)};
      bool is_interior = unknowns[node] != Whole::fixed;
      for (const std::size_t i : at) is_interior = is_interior && i > 0 && i + 1 < n;
      if (is_interior) result[unknowns[node]] += weights_[unknowns[node]] * x[node];
    }
  }
  return result;
}

Vector chebyshev(const Operator& sa, const Chebyshev::Bounds& bounds, std::size_t degree, const Vector& e) {
  const double theta = (bounds.largest + bounds.least) / 2;
  const double delta = (bounds.largest - bounds.least) / 2;
  const auto shifted = [&](const Vector& v) {
    Vector result = sum(v, -1 / theta, sa(v));
    for (double& value : result) value *= theta / delta;
    return result;
  };
  Vector before = e;
  Vector now = shifted(e);
  double scale_before = 1;
  double scale_now = theta / delta;
  for (std::size_t k = 1; k < degree; ++k) {
    Vector next = shifted(now);
    for (std::size_t i = 0; i < next.size(); ++i) next[i] = 2 * next[i] - before[i];
    const double scale_next = 2 * theta / delta * scale_now - scale_before;
    before = std::move(now);
    now = std::move(next);
    scale_before = scale_now;
    scale_now = scale_next;
  }
  for (double& value : now) value /= scale_now;
  return now;
}

/// A fine node's value is the same in each of its elements, and the last one writes it.
Vector interpolated(const Whole& coarse, const Whole& fine, const Vector& u) {
  const auto matrix = interpolation_matrix(coarse.mesh().gll(), fine.mesh().gll());
  const std::size_t n = coarse.mesh().gll().points.size();
  const std::size_t m = fine.mesh().gll().points.size();
  Vector result(fine.unknowns());
  for (std::size_t node = 0; node < fine.of_node().size(); ++node) {
    const std::size_t unknown = fine.of_node()[node];
    if (unknown == Whole::fixed) continue;
    const std::size_t element = node / (m * m * m);
    double value = 0;
    for (std::size_t j = 0; j < n * n * n; ++j) {
      const std::size_t from = coarse.of_node()[element * n * n * n + j];
      if (from == Whole::fixed) continue;
      value += matrix[node % m * n + j % n] * matrix[node / m % m * n + j / n % n] *
               matrix[node / (m * m) % m * n + j / (n * n)] * u[from];
    }
    result[unknown] = value;
  }
  return result;
}

Vector v_cycle(const std::vector<CycleLevel>& levels, std::size_t level, const Vector& b) {
  const CycleLevel& here = levels[level];
  const Vector solution = solve(here.whole.matrix(), b);
  if (level + 1 == levels.size()) return solution;
  const Whole& coarser = levels[level + 1].whole;
  const Operator sa = [&](const Vector& v) { return here.s(here.whole.apply(v)); };
  // Smoothing multiplies the error.
  Vector error = chebyshev(sa, here.bounds, here.degree + 1, solution);
  const Vector residual = here.whole.apply(error);
  Vector restricted;
  for (std::size_t i = 0; i < coarser.unknowns(); ++i) {
    Vector unit(coarser.unknowns());
    unit[i] = 1;
    restricted.push_back(product(interpolated(coarser, here.whole, unit), residual));
  }
  error = sum(error, -1, interpolated(coarser, here.whole, v_cycle(levels, level + 1, restricted)));
  return sum(solution, -1, chebyshev(sa, here.bounds, here.degree + 1, error));
}

}  // namespace commlens::solvers::reference
