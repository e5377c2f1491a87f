// Right-hand sides of bp5.
#pragma once

#include <vector>

#include "base/enum_names.hpp"
#include "sem/mesh.hpp"

namespace commlens {

/// nekrs: 3 pi^2 sin(pi x) sin(pi y) sin(pi z), as in nekRS's case, without the mass matrix. manufactured: the same
/// with cosines, times the mass matrix, so that the solution is cos(pi x) cos(pi y) cos(pi z).
enum class RightHandSide { nekrs, manufactured };
ENUM_NAMES(RightHandSide, {nekrs, "nekrs"}, {manufactured, "manufactured"});

/// By node.
std::vector<double> right_hand_side(const sem::Mesh& mesh, RightHandSide kind);

/// Of RightHandSide::manufactured.
double manufactured_solution(const sem::Point& point);

}  // namespace commlens
