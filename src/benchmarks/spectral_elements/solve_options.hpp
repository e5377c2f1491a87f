// The options that every solve on a spectral-element mesh has.
#pragma once

#include <cstddef>

#include "benchmarks/spectral_elements/exchange_mode.hpp"
#include "benchmarks/spectral_elements/graph_launches.hpp"
#include "benchmarks/spectral_elements/right_hand_side.hpp"
#include "benchmarks/spectral_elements/sized_mesh.hpp"
#include "harness/options.hpp"
#include "sem/poisson.hpp"

namespace commlens {

/// A benchmark's options derive from these, and describe them in the order of its help and records.
struct SolveOptions {
  SizedMesh mesh;
  sem::Geometry geometry = sem::Geometry::trilinear;
  RightHandSide rhs = RightHandSide::nekrs;
  std::size_t iterations = 0;  ///< of a solve, at most
  double tolerance = 0;        ///< relative residual at which a solve ends
  ExchangeMode mode;
  bool overlap = true;
  GraphLaunches graphs;
  bool on_gpu = false;  ///< set by scale_to_memory()

 protected:
  void describe_mesh(OptionSet& options);
  void describe_right_hand_side(OptionSet& options);
  void describe_exchange(OptionSet& options);
};

}  // namespace commlens
