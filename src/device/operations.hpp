// Operations that combine two values, on the host and in kernels.
#pragma once

#include "device/function.hpp"

namespace commlens::device {

struct Sum {
  template <class T>
  COMMLENS_FUNCTION T operator()(T a, T b) const {
    return a + b;
  }
};
struct Product {
  template <class T>
  COMMLENS_FUNCTION T operator()(T a, T b) const {
    return a * b;
  }
};
struct Minimum {
  template <class T>
  COMMLENS_FUNCTION T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};
struct Maximum {
  template <class T>
  COMMLENS_FUNCTION T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

}  // namespace commlens::device
