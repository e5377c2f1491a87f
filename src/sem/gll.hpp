// Gauss-Lobatto-Legendre points, quadrature weights, and the derivative matrix of interpolation on them.
#pragma once

#include <vector>

namespace commlens::sem {

inline constexpr int highest_order = 15;

struct Gll {
  std::vector<double> points;      ///< order + 1, from -1 to 1
  std::vector<double> weights;     ///< of the quadrature; their sum is 2
  std::vector<double> derivative;  ///< derivative[i * (order + 1) + j]: of the j-th Lagrange polynomial, at point i
};

/// Deville, Fischer and Mund, High-Order Methods for Incompressible Fluid Flow (2002), appendix B. Throws
/// std::invalid_argument for an order that is not from 1 to highest_order.
Gll gll(int order);

}  // namespace commlens::sem
