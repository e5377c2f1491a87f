// What kernels are made of: operations, and a group's nodes read and written.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/gpu/api.hpp"
#include "gather_scatter/lists.hpp"

namespace commlens::gather_scatter {

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

/// Of the data, and of what travels.
template <class T, class W>
struct Types {
  using Value = T;
  using Wire = W;
};

/// Calls `function(Types<…>{}, operation)`.
template <class Function>
void in_kind(const Kind& kind, Function function) {
  const auto with = [&](auto operation) {
    if (kind.type == DataType::f32) return function(Types<float, float>{}, operation);
    if (kind.wire == DataType::f32) return function(Types<double, float>{}, operation);
    function(Types<double, double>{}, operation);
  };
  switch (kind.combine) {
    case Combine::add:
      return with(Sum{});
    case Combine::multiply:
      return with(Product{});
    case Combine::minimum:
      return with(Minimum{});
    case Combine::maximum:
      return with(Maximum{});
  }
}

/// A group's nodes, combined in their order. `data` is one field.
template <class Operation, class T>
COMMLENS_FUNCTION T combined(Operation operation, const GroupList& groups, std::size_t group, const T* data) {
  const std::uint32_t last = groups.first[group + 1];
  std::uint32_t node = groups.first[group];
  T value = data[groups.nodes[node]];
  for (++node; node < last; ++node) value = operation(value, data[groups.nodes[node]]);
  return value;
}

template <class T>
COMMLENS_FUNCTION void give(T value, const GroupList& groups, std::size_t group, T* data) {
  for (std::uint32_t node = groups.first[group]; node < groups.first[group + 1]; ++node) {
    data[groups.nodes[node]] = value;
  }
}

}  // namespace commlens::gather_scatter
