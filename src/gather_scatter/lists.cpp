#include "gather_scatter/lists.hpp"

#include <numeric>

namespace commlens::gather_scatter {

namespace {

/// Appends, and says where.
std::size_t append(std::vector<std::uint32_t>& table, const std::vector<std::uint32_t>& list) {
  const std::size_t place = table.size();
  table.insert(table.end(), list.begin(), list.end());
  return place;
}

/// Calls `function(group, slot)` for all contributions, those of a group by rank.
template <class Function>
void for_each_contribution(const Sharing& sharing, int me, Function function) {
  std::uint32_t slot = 0;
  bool own_done = false;
  const auto own = [&] {
    for (std::size_t group = 0; group < sharing.shared.size(); ++group) function(group, Contributions::own);
    own_done = true;
  };
  for (const Sharing::Peer& peer : sharing.peers) {
    if (!own_done && peer.rank > me) own();
    for (const std::uint32_t group : peer.groups) function(group, slot++);
  }
  if (!own_done) own();
}

struct Contributed {
  std::vector<std::uint32_t> first;
  std::vector<std::uint32_t> slots;
};

Contributed contributed(const Sharing& sharing, int me) {
  Contributed all;
  all.first.resize(sharing.shared.size() + 1);
  for_each_contribution(sharing, me, [&](std::size_t group, std::uint32_t) { ++all.first[group + 1]; });
  std::partial_sum(all.first.begin(), all.first.end(), all.first.begin());
  all.slots.resize(all.first.back());
  std::vector<std::uint32_t> next = all.first;
  for_each_contribution(sharing, me, [&](std::size_t group, std::uint32_t slot) { all.slots[next[group]++] = slot; });
  return all;
}

}  // namespace

device::Buffer uploaded(const std::vector<std::uint32_t>& table, const Surroundings& surroundings) {
  device::Buffer buffer = surroundings.allocate(table.size() * sizeof(std::uint32_t));
  surroundings.stream.copy(buffer.data(), table.data(), buffer.bytes());
  surroundings.stream.wait();
  return buffer;
}

Lists::Lists(const Sharing& sharing, const Surroundings& surroundings) : sharing_(sharing) {
  const Contributed contributions = contributed(sharing, surroundings.communicator.rank());
  std::vector<std::uint32_t> table;
  local_first_ = append(table, sharing.local.first);
  local_nodes_ = append(table, sharing.local.nodes);
  shared_first_ = append(table, sharing.shared.first);
  shared_nodes_ = append(table, sharing.shared.nodes);
  contributions_first_ = append(table, contributions.first);
  slots_ = append(table, contributions.slots);
  labels_ = table.size();
  if (sharing.labels_shared < longest_all_reduce)
    table.insert(table.end(), sharing.labels.begin(), sharing.labels.end());
  table_ = uploaded(table, surroundings);
}

std::shared_ptr<const Lists> make_lists(const Sharing& sharing, const Surroundings& surroundings) {
  return std::make_shared<const Lists>(sharing, surroundings);
}

}  // namespace commlens::gather_scatter
