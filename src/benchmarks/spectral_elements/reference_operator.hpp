// The operator on one element, with everything written out: metric terms from differentiated coordinates, sums over all
// nodes and no shortcut.
#pragma once

#include <vector>

#include "sem/gll.hpp"
#include "sem/mesh.hpp"

namespace commlens {

/// A u of the element, not combined with others.
std::vector<double> apply_to_element(const sem::Gll& gll, const sem::Vertices& vertices, const std::vector<double>& u);

}  // namespace commlens
