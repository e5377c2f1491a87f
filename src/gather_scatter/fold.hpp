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

/// Calls `function(nodes, size)` for a group's nodes. On meshes of hexahedra nearly all groups have 1, 2, 4 or 8: their
/// size is then a constant, so that no processor has to guess where a loop of so few turns ends. A GPU's threads go
/// through one loop together, but through one branch after the other, which takes a tenth longer.
template <class Function>
COMMLENS_FUNCTION auto with_nodes(const GroupList& groups, std::size_t group, Function function) {
  const std::uint32_t first = groups.first[group];
  const std::uint32_t* const nodes = groups.nodes + first;
  const std::uint32_t size = groups.first[group + 1] - first;
#ifndef COMMLENS_GPU_CODE
  if (size == 1) return function(nodes, 1U);
  if (size == 2) return function(nodes, 2U);
  if (size == 4) return function(nodes, 4U);
  if (size == 8) return function(nodes, 8U);
#endif
  return function(nodes, size);
}

template <class Operation, class T>
struct Combined {
  Operation operation;
  const T* data;

  COMMLENS_FUNCTION T operator()(const std::uint32_t* nodes, std::uint32_t size) const {
    T value = data[nodes[0]];
    for (std::uint32_t i = 1; i < size; ++i) value = operation(value, data[nodes[i]]);
    return value;
  }
};

template <class T>
struct Given {
  T value;
  T* data;

  COMMLENS_FUNCTION void operator()(const std::uint32_t* nodes, std::uint32_t size) const {
    for (std::uint32_t i = 0; i < size; ++i) data[nodes[i]] = value;
  }
};

/// A group's nodes, combined in their order. `data` is one field.
template <class Operation, class T>
COMMLENS_FUNCTION T combined(Operation operation, const GroupList& groups, std::size_t group, const T* data) {
  return with_nodes(groups, group, Combined<Operation, T>{operation, data});
}

template <class T>
COMMLENS_FUNCTION void give(T value, const GroupList& groups, std::size_t group, T* data) {
  with_nodes(groups, group, Given<T>{value, data});
}

}  // namespace commlens::gather_scatter
