#include "gather_scatter/lists.hpp"

#include <memory>
#include <numeric>
#include <vector>

#include "device/launch.hpp"
#include "device/upload.hpp"
#include "gather_scatter/fold.hpp"

namespace commlens::gather_scatter {

namespace {

/// Appends the list and returns its offset.
std::size_t append(std::vector<std::uint32_t>& table, const std::vector<std::uint32_t>& list) {
  const std::size_t offset = table.size();
  table.insert(table.end(), list.begin(), list.end());
  return offset;
}

struct ContributionLists {
  std::vector<std::uint32_t> first;
  std::vector<std::uint32_t> slots;
};

ContributionLists contributions_of(const Sharing& sharing, int me) {
  ContributionLists lists;
  lists.first.resize(sharing.shared.size() + 1);
  for_each_contribution(sharing, me, [&](std::size_t group, int) { ++lists.first[group + 1]; });
  std::partial_sum(lists.first.begin(), lists.first.end(), lists.first.begin());
  lists.slots.resize(lists.first.back());
  std::vector<std::uint32_t> next = lists.first;
  std::uint32_t slot = 0;  // messages are adjacent in memory, in the order of their ranks
  for_each_contribution(sharing, me, [&](std::size_t group, int rank) {
    lists.slots[next[group]++] = rank == me ? Contributions::this_rank : slot++;
  });
  return lists;
}

/// Of a rank's data: field f begins f * nodes elements after the first.
struct Shape {
  std::size_t fields;
  std::size_t nodes;
};

/// Combines a group's nodes and sets them to the result, in one pass over the list of nodes.
template <class Operation, class T>
struct CombineAndSet {
  Operation operation;
  Shape shape;
  T* data;

  COMMLENS_FUNCTION void operator()(const std::uint32_t* nodes, std::uint32_t size) const {
    combine_field(data, nodes, size);
    for (std::size_t field = 1; field < shape.fields; ++field) combine_field(data + field * shape.nodes, nodes, size);
  }

  COMMLENS_FUNCTION void combine_field(T* values, const std::uint32_t* nodes, std::uint32_t size) const {
    const T value = CombineNodes<Operation, T>{operation, values}(nodes, size);
    SetNodes<T>{value, values}(nodes, size);
  }
};

template <class Operation, class T>
void combine(Operation operation, GroupList groups, Shape shape, T* data, device::Stream& stream) {
  const CombineAndSet<Operation, T> all{operation, shape, data};
  device::launch(stream, groups.size, COMMLENS_LAMBDA(std::size_t group) { with_nodes(groups, group, all); });
}

template <class W, class Operation, class T>
void gather(Operation operation, GroupList groups, Shape shape, const T* data, Values to, device::Stream& stream) {
  W* const values = static_cast<W*>(to.data);
  device::launch(
      stream, groups.size, COMMLENS_LAMBDA(std::size_t group) {
        const std::size_t index = to.indices != nullptr ? to.indices[group] : group;
        for (std::size_t field = 0; field < shape.fields; ++field) {
          const T value = combine_nodes(operation, groups, group, data + field * shape.nodes);
          values[index + field * to.stride] = static_cast<W>(value);
        }
      });
}

template <class W, class T>
void scatter(GroupList groups, Shape shape, Values from, T* data, device::Stream& stream) {
  const W* const values = static_cast<const W*>(from.data);
  device::launch(
      stream, groups.size, COMMLENS_LAMBDA(std::size_t group) {
        const std::size_t index = from.indices != nullptr ? from.indices[group] : group;
        for (std::size_t field = 0; field < shape.fields; ++field) {
          set_nodes(static_cast<T>(values[index + field * from.stride]), groups, group, data + field * shape.nodes);
        }
      });
}

}  // namespace

Lists::Lists(const Sharing& sharing, const Context& context) : sharing_(sharing) {
  const ContributionLists contributions = contributions_of(sharing, context.communicator.rank());
  std::vector<std::uint32_t> table;
  local_first_ = append(table, sharing.local.first);
  local_nodes_ = append(table, sharing.local.nodes);
  shared_first_ = append(table, sharing.shared.first);
  shared_nodes_ = append(table, sharing.shared.nodes);
  contributions_first_ = append(table, contributions.first);
  slots_ = append(table, contributions.slots);
  global_indices_ = table.size();
  if (sharing.shared_ids < longest_all_reduce) {
    table.insert(table.end(), sharing.global_indices.begin(), sharing.global_indices.end());
  }
  table_ = device::upload(table, context.allocate, context.stream);
}

std::shared_ptr<const Lists> make_lists(const Sharing& sharing, const Context& context) {
  return std::make_shared<const Lists>(sharing, context);
}

void combine_local(const ValueKind& kind, const Lists& lists, void* data, device::Stream& stream) {
  dispatch(kind, [&](auto types, auto operation) {
    using T = typename decltype(types)::Value;
    combine(operation, lists.local(), {kind.fields, lists.sharing().nodes}, static_cast<T*>(data), stream);
  });
}

void gather(const ValueKind& kind, const Lists& lists, const void* data, const Values& values, device::Stream& stream) {
  dispatch(kind, [&](auto types, auto operation) {
    using T = typename decltype(types)::Value;
    using W = typename decltype(types)::Exchanged;
    gather<W>(operation, lists.shared(), {kind.fields, lists.sharing().nodes}, static_cast<const T*>(data), values,
              stream);
  });
}

void scatter(const ValueKind& kind, const Lists& lists, const Values& values, void* data, device::Stream& stream) {
  dispatch(kind, [&](auto types, auto /*operation*/) {
    using T = typename decltype(types)::Value;
    using W = typename decltype(types)::Exchanged;
    scatter<W>(lists.shared(), {kind.fields, lists.sharing().nodes}, values, static_cast<T*>(data), stream);
  });
}

}  // namespace commlens::gather_scatter
