#include "gather_scatter/lists.hpp"

#include <memory>
#include <numeric>

#include "device/upload.hpp"

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
    lists.slots[next[group]++] = rank == me ? Contributions::own : slot++;
  });
  return lists;
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

}  // namespace commlens::gather_scatter
