#include "schwarz_reference.hpp"

#include <cmath>
#include <cstddef>
#include <utility>

namespace commlens::solvers::reference {

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
  Vector x(b.size());
  Vector r = b;
  Vector p = scaled(r);
  double rz = product(r, p);
  const double first = rz;
  while (rz > 1e-26 * first) {
    const Vector q = multiply(problems, p);
    const double alpha = rz / product(p, q);
    x = sum(x, alpha, p);
    r = sum(r, -alpha, q);
    const Vector z = scaled(r);
    const double next = product(r, z);
    p = sum(z, next / rz, p);
    rz = next;
  }
  return x;
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
      Lengths lengths{.own = length_of(place, axis)};
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
      bool own = unknowns[node] != Whole::fixed;
      for (const std::size_t i : at) own = own && i > 0 && i + 1 < n;
      if (own) result[unknowns[node]] += weights_[unknowns[node]] * x[node];
    }
  }
  return result;
}

}  // namespace commlens::solvers::reference
