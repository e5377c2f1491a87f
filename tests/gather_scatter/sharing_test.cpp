// discover(), and what nekRS and gslib print about it.
#include "gather_scatter/sharing.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "gather_scatter/choice.hpp"
#include "known_ids.hpp"
#include "world.hpp"

namespace commlens::gather_scatter {
namespace {

using device::Memory;

/// The nodes of every id, by rank.
using Nodes = std::map<std::int64_t, std::map<int, std::vector<std::uint32_t>>>;

Nodes nodes_of(const std::vector<Ids>& all) {
  Nodes nodes;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    for (std::size_t node = 0; node < all[rank].size(); ++node) {
      nodes[all[rank][node]][static_cast<int>(rank)].push_back(static_cast<std::uint32_t>(node));
    }
  }
  nodes.erase(0);
  return nodes;
}

/// This rank's shared or local groups, by id.
Groups groups_of(const Nodes& nodes, bool shared) {
  Groups groups;
  for (const auto& [id, by_rank] : nodes) {
    const auto mine = by_rank.find(world().rank());
    if (mine == by_rank.end() || (by_rank.size() > 1) != shared) continue;
    if (!shared && mine->second.size() == 1) continue;
    groups.ids.push_back(id);
    groups.nodes.insert(groups.nodes.end(), mine->second.begin(), mine->second.end());
    groups.first.push_back(static_cast<std::uint32_t>(groups.nodes.size()));
  }
  return groups;
}

TEST(Sharing, IsWhatTheIdsSay) {
  for (const Case& known : cases) {
    const auto all = known.ids(world().size());
    const Nodes nodes = nodes_of(all);
    const Ids& mine = all[static_cast<std::size_t>(world().rank())];
    const Sharing sharing = discover(mine, world());
    EXPECT_EQ(sharing.nodes, mine.size());
    const auto expect_equal = [&](const Groups& groups, const Groups& right) {
      EXPECT_EQ(groups.ids, right.ids) << known.name;
      EXPECT_EQ(groups.first, right.first) << known.name;
      EXPECT_EQ(groups.nodes, right.nodes) << known.name;
    };
    expect_equal(sharing.local, groups_of(nodes, false));
    expect_equal(sharing.shared, groups_of(nodes, true));
    std::uint64_t shared = 0;
    std::map<int, Ids> of_peer;
    for (const auto& [id, by_rank] : nodes) {
      shared += by_rank.size() > 1 ? 1 : 0;
      for (const auto& [rank, theirs] : by_rank) {
        if (rank != world().rank() && by_rank.contains(world().rank())) of_peer[rank].push_back(id);
      }
    }
    EXPECT_EQ(sharing.shared_ids, shared) << known.name;
    std::map<int, Ids> by_peer;
    for (const auto& peer : sharing.peers) {
      for (const std::uint32_t group : peer.groups) by_peer[peer.rank].push_back(sharing.shared.ids.at(group));
    }
    EXPECT_EQ(by_peer, of_peer) << known.name;
  }
}

TEST(Sharing, NumbersSharedIdsAlikeOnAllRanks) {
  const auto all = random_ids(world().size());
  const Sharing sharing = discover(all[static_cast<std::size_t>(world().rank())], world());
  std::vector<double> ids(sharing.shared_ids, -std::numeric_limits<double>::max());
  ASSERT_EQ(sharing.global_indices.size(), sharing.shared.size());
  for (std::size_t group = 0; group < sharing.shared.size(); ++group) {
    ASSERT_LT(sharing.global_indices[group], sharing.shared_ids);
    ids[sharing.global_indices[group]] = static_cast<double>(sharing.shared.ids[group]);
  }
  world().maximum(ids);
  for (std::size_t group = 0; group < sharing.shared.size(); ++group) {
    EXPECT_EQ(ids[sharing.global_indices[group]], static_cast<double>(sharing.shared.ids[group]));
  }
  EXPECT_EQ(std::count(ids.begin(), ids.end(), -std::numeric_limits<double>::max()), 0) << "numbers without an id";
}

/// Blocks of 141^3 points of a lattice of 281^3: 40^3 elements of order 7, each point once per rank.
Ids block_of_lattice(int rank) {
  constexpr std::int64_t points = 141;
  constexpr std::int64_t all = 281;
  const std::array<std::int64_t, 3> first{140 * (rank % 2), 140 * (rank / 2 % 2), 140 * (rank / 4)};
  Ids ids;
  ids.reserve(points * points * points);
  for (std::int64_t z = first[2]; z < first[2] + points; ++z) {
    for (std::int64_t y = first[1]; y < first[1] + points; ++y) {
      for (std::int64_t x = first[0]; x < first[0] + points; ++x) ids.push_back(1 + x + all * (y + all * z));
    }
  }
  return ids;
}

TEST(Seed, PrintsItsCounts) {
  if (world().size() != 8) GTEST_SKIP() << "needs 8 ranks";
  const Ids ids = block_of_lattice(world().rank());
  const Sharing sharing = discover(ids, world());
  EXPECT_EQ(sharing.shared_ids, 236'041U);
  EXPECT_EQ(sharing.sent(), 60'067U);
  const auto device = device::open_host();
  const auto stream = device->stream(Memory::host);
  const auto allocate = [&](std::size_t bytes) { return device->allocate(Memory::host, bytes); };
  const auto transport = transport::all().at(0).make({world(), *device, Memory::host, ""});
  const Context context{.communicator = world(),
                        .transport = *transport,
                        .device = *device,
                        .memory = Memory::host,
                        .stream = *stream,
                        .allocate = allocate,
                        .allocate_staging = allocate};
  const auto pairwise = make(Method::pairwise, make_lists(sharing, context), {}, context);
  const Choice choice{
      .timings = {{.method = Method::pairwise, .seconds = {8.67524e-05, 9.06878e-05, 8.91632e-05}},
                  {.method = Method::crystal_router, .seconds = {0.0003696521, 0.000370557, 0.0003700384}},
                  {.method = Method::all_reduce, .unsupported = "too long"}}};
  const auto lines = setup_lines(sharing, choice, 0.54103, 27'568'660, pairwise->buffer_bytes(), world());
  EXPECT_EQ(lines, (std::vector<std::string>{
                       "gs_setup: 236041 unique labels shared",
                       "   pairwise times (avg, min, max): 8.91632e-05 8.67524e-05 9.06878e-05",
                       "   crystal router                : 0.000370038 0.000369652 0.000370557",
                       "   used all_to_all method: pairwise",
                       "   handle bytes (avg, min, max): 2.75687e+07 27568660 27568660",
                       "   buffer bytes (avg, min, max): 961072 961072 961072",
                       "   setupds time 5.4103E-01 seconds",
                       " nMessages   max/min/avg: 7 7 7.00",
                       " msgSize     max/min/avg: 19881 1 8581.00",
                       " msgSizeSum  max/min/avg: 60067 60067 60067.00",
                   }));
}

TEST(Choice, NamesConfigurationsAsNekrsDoes) {
  EXPECT_EQ(configuration(Method::pairwise, "mpi", Memory::device), "pairwise+device");
  EXPECT_EQ(configuration(Method::neighbor, "staged", Memory::device), "neighbor+hybrid");
  EXPECT_EQ(configuration(Method::pairwise, "ccl", Memory::managed), "ccl+device");
  EXPECT_EQ(configuration(Method::crystal_router, "mpi", Memory::host), "crystal-router+host");
  const Timing timing{.exchange = {4.15e-05, 4.68e-05, 4.39e-05}, .bidirectional_GBps = 10.94};
  EXPECT_EQ(describe(timing, "pairwise+device"),
            "pairwise+device (MPI min/max/avg: 4.15e-05s 4.68e-05s 4.39e-05s / avg bi-bw: 10.9GB/s/rank)");
}

}  // namespace
}  // namespace commlens::gather_scatter
