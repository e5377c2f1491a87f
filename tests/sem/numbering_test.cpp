#include "sem/numbering.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "problem.hpp"

namespace commlens::sem {
namespace {

using Ids = std::vector<std::int64_t>;

std::uint32_t unknown_at(const Numbering& numbering, std::size_t node) {
  return numbering.of_node[node] & ~Numbering::by_several;
}

/// What must hold for a rank's ids and its numbering, independent of other ranks.
void expect_a_number_for_each_id(const Ids& ids, const std::vector<unsigned char>& fixed, const Numbering& numbering) {
  ASSERT_EQ(numbering.of_node.size(), ids.size());
  std::map<std::int64_t, std::size_t> copies;
  for (std::size_t node = 0; node < ids.size(); ++node) copies[ids[node]] += fixed[node] == 0 ? 1 : 0;
  std::map<std::int64_t, std::uint32_t> number_of;
  std::set<std::uint32_t> used;
  for (std::size_t node = 0; node < ids.size(); ++node) {
    if (fixed[node] != 0) {
      EXPECT_EQ(numbering.of_node[node], Numbering::fixed);
      continue;
    }
    const std::uint32_t unknown = unknown_at(numbering, node);
    ASSERT_LT(unknown, numbering.unknowns);
    EXPECT_EQ(number_of.emplace(ids[node], unknown).first->second, unknown) << "id " << ids[node] << " has two";
    used.insert(unknown);
    EXPECT_EQ((numbering.of_node[node] & Numbering::by_several) != 0, copies[ids[node]] > 1) << "id " << ids[node];
  }
  for (std::size_t node = 0; node < ids.size(); ++node) {
    if (fixed[node] != 0) continue;
    const std::uint32_t unknown = unknown_at(numbering, node);
    if (unknown >= numbering.owned) continue;
    EXPECT_EQ(unknown < numbering.alone, copies[ids[node]] == 1) << "id " << ids[node];
  }
  EXPECT_EQ(used.size(), number_of.size()) << "two ids have one number";
  EXPECT_EQ(used.size(), numbering.unknowns);
  EXPECT_LE(numbering.owned, numbering.unknowns);
  EXPECT_LE(numbering.alone, numbering.owned);
}

/// The id of each unknown.
Ids ids_of_unknowns(const Ids& ids, const Numbering& numbering) {
  Ids result(numbering.unknowns);
  for (std::size_t node = 0; node < ids.size(); ++node) {
    if (numbering.of_node[node] != Numbering::fixed) result[unknown_at(numbering, node)] = ids[node];
  }
  return result;
}

/// `all` are the ids of all ranks, which every rank can compute for itself.
void expect_the_lowest_rank_as_owner(const std::vector<std::set<std::int64_t>>& all, const Ids& mine,
                                     std::size_t owned) {
  const auto me = static_cast<std::size_t>(world().rank());
  for (std::size_t unknown = 0; unknown < mine.size(); ++unknown) {
    const auto lowest =
        std::find_if(all.begin(), all.end(), [&](const auto& of_rank) { return of_rank.count(mine[unknown]) > 0; });
    EXPECT_EQ(unknown < owned, lowest == all.begin() + static_cast<std::ptrdiff_t>(me)) << "id " << mine[unknown];
  }
}

void expect_the_sharing_names_unknowns(const std::vector<std::set<std::int64_t>>& all, const Ids& mine,
                                       const gather_scatter::Sharing& sharing) {
  EXPECT_EQ(sharing.nodes, mine.size());
  EXPECT_EQ(sharing.local.size(), 0U) << "inside the rank every unknown is there once";
  ASSERT_EQ(sharing.shared.nodes.size(), sharing.shared.size());
  for (std::size_t group = 0; group < sharing.shared.size(); ++group) {
    ASSERT_EQ(sharing.shared.first[group], group);
    ASSERT_LT(sharing.shared.nodes[group], mine.size());
    EXPECT_EQ(mine[sharing.shared.nodes[group]], sharing.shared.ids[group]);
  }
  for (const auto& peer : sharing.peers) {
    std::set<std::int64_t> common;
    for (const std::uint32_t group : peer.groups) common.insert(sharing.shared.ids[group]);
    std::set<std::int64_t> expected;
    for (const std::int64_t id : mine) {
      if (all[static_cast<std::size_t>(peer.rank)].count(id) > 0) expected.insert(id);
    }
    EXPECT_EQ(common, expected) << "with rank " << peer.rank;
  }
}

TEST(Numbering, OfAMesh) {
  for (const int order : {1, 2, 5}) {
    const Shape shape{.elements = {5, 4, 3}, .order = order};
    const Partition partition(shape.elements, world().size());
    std::vector<std::set<std::int64_t>> all;
    std::set<std::int64_t> everywhere;
    for (int rank = 0; rank < world().size(); ++rank) {
      const Mesh mesh(shape, partition, rank);
      const Ids ids = mesh.ids();
      const auto fixed = mesh.on_boundary();
      all.emplace_back();
      for (std::size_t node = 0; node < ids.size(); ++node) {
        if (fixed[node] == 0) all.back().insert(ids[node]);
      }
      everywhere.insert(all.back().begin(), all.back().end());
    }
    const Mesh mesh = mesh_of(shape);
    const Ids ids = mesh.ids();
    const auto fixed = mesh.on_boundary();
    const Numbering numbering = number(ids, fixed, world());
    expect_a_number_for_each_id(ids, fixed, numbering);
    const Ids mine = ids_of_unknowns(ids, numbering);
    expect_the_lowest_rank_as_owner(all, mine, numbering.owned);
    expect_the_sharing_names_unknowns(all, mine, numbering.sharing);
    EXPECT_EQ(world().sum(static_cast<std::int64_t>(numbering.owned)), mesh.degrees_of_freedom());
    EXPECT_EQ(everywhere.size(), static_cast<std::size_t>(mesh.degrees_of_freedom()));
  }
}

TEST(Numbering, OfIdsThatNoMeshHas) {
  // Beyond 32 bits, descending, one id three times, one twice, one on every rank; the last rank has nothing.
  const bool has_none = world().size() > 1 && world().rank() + 1 == world().size();
  const std::int64_t unique = (std::int64_t{1} << 40) + world().rank();
  const Ids ids = has_none ? Ids{} : Ids{unique, 1'000'000'007, 99, unique, 1'000'000'007, unique, 12};
  const std::vector<unsigned char> fixed =
      has_none ? std::vector<unsigned char>{} : std::vector<unsigned char>{0, 0, 1, 0, 0, 0, 0};
  std::vector<std::set<std::int64_t>> all(static_cast<std::size_t>(world().size()));
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all.size() > 1 && rank + 1 == all.size()) continue;
    all[rank] = {(std::int64_t{1} << 40) + static_cast<std::int64_t>(rank), 1'000'000'007, 12};
  }
  const Numbering numbering = number(ids, fixed, world());
  expect_a_number_for_each_id(ids, fixed, numbering);
  const Ids mine = ids_of_unknowns(ids, numbering);
  expect_the_lowest_rank_as_owner(all, mine, numbering.owned);
  expect_the_sharing_names_unknowns(all, mine, numbering.sharing);
}

TEST(Numbering, OfNothingButFixedNodes) {
  const Ids ids{1, 2, 1};
  const Numbering numbering = number(ids, std::vector<unsigned char>(3, 1), world());
  EXPECT_EQ(numbering.unknowns, 0U);
  EXPECT_EQ(numbering.owned, 0U);
  EXPECT_EQ(numbering.alone, 0U);
  EXPECT_EQ(numbering.of_node, std::vector<std::uint32_t>(3, Numbering::fixed));
}

TEST(Numbering, FollowsTheElements) {
  const Mesh mesh = mesh_of({.elements = {4, 4, 4}, .order = 3});
  const auto ids = mesh.ids();
  const Numbering numbering = number(ids, mesh.on_boundary(), world());
  std::size_t next_alone = 0;
  std::size_t next_owned = numbering.alone;
  std::size_t next_other = numbering.owned;
  for (std::size_t node = 0; node < ids.size(); ++node) {
    if (numbering.of_node[node] == Numbering::fixed) continue;
    const std::uint32_t unknown = unknown_at(numbering, node);
    std::size_t& next = unknown < numbering.alone ? next_alone : unknown < numbering.owned ? next_owned : next_other;
    ASSERT_LE(unknown, next) << "node " << node << " is numbered before those that come earlier";
    if (unknown == next) ++next;
  }
}

}  // namespace
}  // namespace commlens::sem
