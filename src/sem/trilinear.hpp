// The trilinear map of an element, x(r, s, t) with r, s, t from -1 to 1, and its geometric factors: for kernels.
#pragma once

#include <type_traits>

#include "device/function.hpp"
#include "device/quotient.hpp"
#include "sem/mesh.hpp"

namespace commlens::sem {

/// x = c0 + c1 r + c2 s + c3 t + c4 rs + c5 rt + c6 st + c7 rst, for each of x, y and z.
template <class Real>
struct TrilinearOf {
  Real c[8][3];
};
using Trilinear = TrilinearOf<double>;

/// From the vertices of an element.
Trilinear trilinear(const Vertices& vertices);

COMMLENS_FUNCTION inline double position(const Trilinear& map, int axis, double r, double s, double t) {
  const auto c = [&](int term) { return map.c[term][axis]; };
  return c(0) + c(1) * r + c(2) * s + t * (c(3) + c(5) * r + c(6) * s) + r * s * (c(4) + c(7) * t);
}

/// The rows of a matrix are J grad r, J grad s and J grad t.
template <class Real>
struct Cofactors {
  Real row[3][3];
  Real jacobian;
};

template <class Real>
COMMLENS_FUNCTION inline void cross(const Real* a, const Real* b, Real* result) {
  result[0] = a[1] * b[2] - a[2] * b[1];
  result[1] = a[2] * b[0] - a[0] * b[2];
  result[2] = a[0] * b[1] - a[1] * b[0];
}

/// From dx/dr, dx/ds and dx/dt.
template <class Real>
COMMLENS_FUNCTION inline Cofactors<Real> cofactors_of(const Real* xr, const Real* xs, const Real* xt) {
  Cofactors<Real> result;
  cross(xs, xt, result.row[0]);
  cross(xt, xr, result.row[1]);
  cross(xr, xs, result.row[2]);
  result.jacobian = xr[0] * result.row[0][0] + xr[1] * result.row[0][1] + xr[2] * result.row[0][2];
  return result;
}

/// The map on a column of constant r and s, where dx/dr and dx/ds are linear in t, a + b t, and dx/dt is constant.
template <class Real>
struct ColumnOfMap {
  Real dr[2][3];
  Real ds[2][3];
  Real dt[3];

  COMMLENS_FUNCTION ColumnOfMap(const TrilinearOf<Real>& map, std::type_identity_t<Real> r,
                                std::type_identity_t<Real> s) {
    for (int axis = 0; axis < 3; ++axis) {
      dr[0][axis] = map.c[1][axis] + map.c[4][axis] * s;
      dr[1][axis] = map.c[5][axis] + map.c[7][axis] * s;
      ds[0][axis] = map.c[2][axis] + map.c[4][axis] * r;
      ds[1][axis] = map.c[6][axis] + map.c[7][axis] * r;
      dt[axis] = map.c[3][axis] + map.c[5][axis] * r + map.c[6][axis] * s + map.c[7][axis] * r * s;
    }
  }

  [[nodiscard]] COMMLENS_FUNCTION Cofactors<Real> at(Real t) const {
    Real xr[3];
    Real xs[3];
    for (int axis = 0; axis < 3; ++axis) {
      xr[axis] = dr[0][axis] + dr[1][axis] * t;
      xs[axis] = ds[0][axis] + ds[1][axis] * t;
    }
    return cofactors_of(xr, xs, dt);
  }
};

/// Multiplies (ur, us, ut) by the geometric factors g: rr, rs, rt, ss, st, tt.
template <class Real>
COMMLENS_FUNCTION inline void multiply_by_factors(const Real* g, Real& ur, Real& us, Real& ut) {
  const Real qr = g[0] * ur + g[1] * us + g[2] * ut;
  const Real qs = g[1] * ur + g[3] * us + g[4] * ut;
  const Real qt = g[2] * ur + g[4] * us + g[5] * ut;
  ur = qr;
  us = qs;
  ut = qt;
}

/// The same from the cofactors, without computing the geometric factors. `weight` is that of the quadrature.
template <class Real>
COMMLENS_FUNCTION inline void multiply_by_factors(const Cofactors<Real>& cofactors, Real weight, Real& ur, Real& us,
                                                  Real& ut) {
  const auto& row = cofactors.row;
  const Real scale = device::quotient(weight, cofactors.jacobian);
  Real gradient[3];
  for (int axis = 0; axis < 3; ++axis) {
    gradient[axis] = scale * (row[0][axis] * ur + row[1][axis] * us + row[2][axis] * ut);
  }
  ur = row[0][0] * gradient[0] + row[0][1] * gradient[1] + row[0][2] * gradient[2];
  us = row[1][0] * gradient[0] + row[1][1] * gradient[1] + row[1][2] * gradient[2];
  ut = row[2][0] * gradient[0] + row[2][1] * gradient[1] + row[2][2] * gradient[2];
}

}  // namespace commlens::sem
