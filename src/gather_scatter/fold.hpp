// Building blocks of kernels: choosing types and operation, and reading and writing the nodes of a group.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/function.hpp"
#include "device/operations.hpp"
#include "gather_scatter/lists.hpp"

namespace commlens::gather_scatter {

/// The type of the data, and that of values in messages.
template <class T, class W>
struct Types {
  using Value = T;
  using Exchanged = W;
};

/// Calls `function(Types<…>{}, operation)`.
template <class Function>
void dispatch(const ValueKind& kind, Function function) {
  const auto with = [&](auto operation) {
    if (kind.type == DataType::f32) return function(Types<float, float>{}, operation);
    if (kind.exchange_type == DataType::f32) return function(Types<double, float>{}, operation);
    function(Types<double, double>{}, operation);
  };
  switch (kind.combine) {
    case Combine::add:
      return with(device::Sum{});
    case Combine::multiply:
      return with(device::Product{});
    case Combine::minimum:
      return with(device::Minimum{});
    case Combine::maximum:
      return with(device::Maximum{});
  }
}

/// Calls `function(nodes, size)` for a group's nodes. On meshes of hexahedra nearly all groups have 1, 2, 4 or 8 nodes.
/// A CPU gets these sizes as constants: it mispredicts the end of such short loops. On a GPU the branches would
/// diverge, which is 10% slower than one loop.
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
struct CombineNodes {
  Operation operation;
  const T* data;

  COMMLENS_FUNCTION T operator()(const std::uint32_t* nodes, std::uint32_t size) const {
    T value = data[nodes[0]];
    for (std::uint32_t i = 1; i < size; ++i) value = operation(value, data[nodes[i]]);
    return value;
  }
};

template <class T>
struct SetNodes {
  T value;
  T* data;

  COMMLENS_FUNCTION void operator()(const std::uint32_t* nodes, std::uint32_t size) const {
    for (std::uint32_t i = 0; i < size; ++i) data[nodes[i]] = value;
  }
};

/// Combines a group's nodes in their order. `data` is one field.
template <class Operation, class T>
COMMLENS_FUNCTION T combine_nodes(Operation operation, const GroupList& groups, std::size_t group, const T* data) {
  return with_nodes(groups, group, CombineNodes<Operation, T>{operation, data});
}

template <class T>
COMMLENS_FUNCTION void set_nodes(T value, const GroupList& groups, std::size_t group, T* data) {
  with_nodes(groups, group, SetNodes<T>{value, data});
}

}  // namespace commlens::gather_scatter
