// Stands in for boomeramg.cpp in a build without hypre.
#include <memory>
#include <string>

#include "base/error.hpp"
#include "solvers/coarse_solver.hpp"

namespace commlens::solvers {

std::string boomeramg_missing() { return "this build has no hypre (Debian: libhypre-dev)"; }

std::unique_ptr<CoarseSolver> make_boomeramg(Level<float>& /*level*/, const Context& /*context*/,
                                             const Observation& /*observation*/) {
  throw Error(boomeramg_missing());
}

}  // namespace commlens::solvers
