#include "gather_scatter/kernels.hpp"

#include "device/launch.hpp"
#include "gather_scatter/fold.hpp"

namespace commlens::gather_scatter {

namespace {

/// Of a rank's data: field f begins f * nodes behind the first.
struct Shape {
  std::size_t fields;
  std::size_t nodes;
};

/// A group's nodes, combined and given the result: while their places are at hand.
template <class Operation, class T>
struct CombinedAndGiven {
  Operation operation;
  Shape shape;
  T* data;

  COMMLENS_FUNCTION void operator()(const std::uint32_t* nodes, std::uint32_t size) const {
    one_field(data, nodes, size);
    for (std::size_t field = 1; field < shape.fields; ++field) one_field(data + field * shape.nodes, nodes, size);
  }

  COMMLENS_FUNCTION void one_field(T* values, const std::uint32_t* nodes, std::uint32_t size) const {
    const T value = Combined<Operation, T>{operation, values}(nodes, size);
    Given<T>{value, values}(nodes, size);
  }
};

template <class Operation, class T>
void combine(Operation operation, GroupList groups, Shape shape, T* data, device::Stream& stream) {
  const CombinedAndGiven<Operation, T> all{operation, shape, data};
  device::launch(stream, groups.size, COMMLENS_LAMBDA(std::size_t group) { with_nodes(groups, group, all); });
}

template <class W, class Operation, class T>
void gather(Operation operation, GroupList groups, Shape shape, const T* data, Values to, device::Stream& stream) {
  W* const values = static_cast<W*>(to.data);
  device::launch(
      stream, groups.size, COMMLENS_LAMBDA(std::size_t group) {
        const std::size_t place = to.places != nullptr ? to.places[group] : group;
        for (std::size_t field = 0; field < shape.fields; ++field) {
          const T value = combined(operation, groups, group, data + field * shape.nodes);
          values[place + field * to.stride] = static_cast<W>(value);
        }
      });
}

template <class W, class T>
void scatter(GroupList groups, Shape shape, Values from, T* data, device::Stream& stream) {
  const W* const values = static_cast<const W*>(from.data);
  device::launch(
      stream, groups.size, COMMLENS_LAMBDA(std::size_t group) {
        const std::size_t place = from.places != nullptr ? from.places[group] : group;
        for (std::size_t field = 0; field < shape.fields; ++field) {
          give(static_cast<T>(values[place + field * from.stride]), groups, group, data + field * shape.nodes);
        }
      });
}

}  // namespace

void combine_local(const Kind& kind, const Lists& lists, void* data, device::Stream& stream) {
  in_kind(kind, [&](auto types, auto operation) {
    using T = typename decltype(types)::Value;
    combine(operation, lists.local(), {kind.fields, lists.sharing().nodes}, static_cast<T*>(data), stream);
  });
}

void gather(const Kind& kind, const Lists& lists, const void* data, const Values& values, device::Stream& stream) {
  in_kind(kind, [&](auto types, auto operation) {
    using T = typename decltype(types)::Value;
    using W = typename decltype(types)::Wire;
    gather<W>(operation, lists.shared(), {kind.fields, lists.sharing().nodes}, static_cast<const T*>(data), values,
              stream);
  });
}

void scatter(const Kind& kind, const Lists& lists, const Values& values, void* data, device::Stream& stream) {
  in_kind(kind, [&](auto types, auto /*operation*/) {
    using T = typename decltype(types)::Value;
    using W = typename decltype(types)::Wire;
    scatter<W>(lists.shared(), {kind.fields, lists.sharing().nodes}, values, static_cast<T*>(data), stream);
  });
}

}  // namespace commlens::gather_scatter
