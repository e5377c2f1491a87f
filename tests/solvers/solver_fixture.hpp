// A fixture for the solvers' components: one polynomial order on this rank's part of a mesh, and on the whole mesh.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "reference.hpp"
#include "sem/problem.hpp"
#include "solvers/level.hpp"

namespace commlens::solvers {

/// Methods are not timed: the tests do not depend on which one is used.
inline LevelOptions level_options(bool overlap = true) {
  return {.method = gather_scatter::Method::pairwise, .overlap = overlap};
}

/// What a failure is about.
inline std::string text(const sem::Shape& shape) {
  return std::to_string(shape.elements[0]) + " x " + std::to_string(shape.elements[1]) + " x " +
         std::to_string(shape.elements[2]) + " elements of order " + std::to_string(shape.order) + ", eps " +
         std::to_string(shape.eps);
}

template <class Real>
struct Problem {
  Problem(const sem::Shape& shape, const Context& context, const Observation& observation,
          const LevelOptions& options = level_options())
      : whole(shape), space(sem::mesh_of(shape), context), level(space, options, context, observation) {}

  reference::Whole whole;
  sem::FunctionSpace space;
  Level<Real> level;
};

class SolversIn : public InPlace {
 protected:
  /// A vector of the place's memory: `values`, and room for ghosts with NaN in it.
  template <class Real>
  [[nodiscard]] device::Buffer vector(const Vector& values, std::size_t ghosts = 0) const {
    std::vector<Real> all(values.begin(), values.end());
    all.resize(values.size() + ghosts, std::numeric_limits<Real>::quiet_NaN());
    return uploaded(all);
  }
  /// One whose values are to be overwritten.
  template <class Real>
  [[nodiscard]] device::Buffer output(std::size_t length) const {
    return vector<Real>({}, length);
  }
  template <class Real>
  [[nodiscard]] Vector values_of(const device::Buffer& buffer, std::size_t length) const {
    const auto values = device::download(buffer.as<Real>(), length, *stream);
    return {values.begin(), values.end()};
  }

  const Observation nobody{};
};

}  // namespace commlens::solvers
