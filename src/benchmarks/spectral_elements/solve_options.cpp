#include "benchmarks/spectral_elements/solve_options.hpp"

namespace commlens {

void SolveOptions::describe_mesh(OptionSet& options) {
  mesh.describe(options);
  options.add("geometry", geometry, "metric terms: read, six per node, or computed from an element's 8 vertices");
}

void SolveOptions::describe_right_hand_side(OptionSet& options) {
  options.add("rhs", rhs, "right-hand side: nekRS's; or one whose solution is known, with its error");
}

void SolveOptions::describe_exchange(OptionSet& options) {
  mode.describe(options);
  options.add_flag("overlap", "no-overlap", overlap,
                   "compute the elements inside a rank while shared nodes travel, or all elements first");
  graphs.describe(options);
}

}  // namespace commlens
