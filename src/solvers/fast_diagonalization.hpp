// The inverse of a Poisson operator on a box that is a tensor product of 1-D problems, by their eigenvectors (Lynch,
// Rice and Thomas, Numer. Math. 6, 1964). In each direction the problem is that of an element, extended by the first
// interior node of its neighbor on either side (Fischer and Lottes, Hybrid Schwarz-multigrid methods for the spectral
// element method, 2004).
#pragma once

#include <vector>

#include "sem/gll.hpp"

namespace commlens::solvers {

/// An element's length in one direction, and those of its neighbors; 0: there is none, the element ends at the boundary
/// of the domain.
struct Lengths {
  double before = 0;
  double element = 0;
  double after = 0;
};

/// The generalised eigenproblem A s = lambda B s of one direction, with n = order + 3 nodes: those of the element, and
/// one on either side. B is diagonal (lumped), and S^T B S = 1. Nodes that are not unknowns (a boundary's, and those
/// beyond it) are decoupled from the others.
struct OneDimensional {
  std::vector<double> values;   ///< by eigenvector
  std::vector<double> vectors;  ///< vectors[node * n + eigenvector]
};

/// The stiffness matrix A (n x n) and the diagonal of B, of which one_dimensional() computes the eigenvectors.
struct Matrices {
  std::vector<double> stiffness;
  std::vector<double> mass;
};

Matrices matrices_of(const sem::Gll& gll, const Lengths& lengths);
OneDimensional one_dimensional(const sem::Gll& gll, const Lengths& lengths);

}  // namespace commlens::solvers
