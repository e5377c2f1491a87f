#include "benchmarks/pairing.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace commlens {
namespace {

using Hosts = std::vector<std::string>;
using Pairs = std::vector<std::pair<int, int>>;

Pairs of(const Hosts& hosts, PairsAcross across) {
  Pairs pairs;
  for (const auto& [first, second] : pairs_across(hosts, across)) pairs.emplace_back(first, second);
  return pairs;
}

TEST(Pairing, AcrossNodesRankIOfANodeMeetsRankIOfTheNext) {
  EXPECT_EQ(of({"a", "a", "b", "b"}, PairsAcross::nodes), (Pairs{{0, 2}, {1, 3}}));
  EXPECT_EQ(of({"a", "b", "a", "b"}, PairsAcross::nodes), (Pairs{{0, 1}, {2, 3}})) << "ranks dealt out in turn";
  EXPECT_EQ(of({"a", "b", "c", "d"}, PairsAcross::nodes), (Pairs{{0, 1}, {2, 3}}));
  EXPECT_EQ(of({"a", "a", "b", "b", "c"}, PairsAcross::nodes), (Pairs{{0, 2}, {1, 3}})) << "c has no other node";
  EXPECT_EQ(of({"a", "a", "b"}, PairsAcross::nodes), (Pairs{{0, 2}}));
  EXPECT_TRUE(of({"a", "a"}, PairsAcross::nodes).empty());
}

TEST(Pairing, WithinNodesTheHalvesOfANodeMeet) {
  EXPECT_EQ(of({"a", "a", "b", "b"}, PairsAcross::node), (Pairs{{0, 1}, {2, 3}}));
  EXPECT_EQ(of({"a", "a", "a", "a"}, PairsAcross::node), (Pairs{{0, 2}, {1, 3}}));
  EXPECT_EQ(of({"a", "a", "a", "a", "b", "b"}, PairsAcross::node), (Pairs{{0, 2}, {4, 5}, {1, 3}}))
      << "the first pair of each node comes first";
  EXPECT_EQ(of({"a", "a", "a", "b"}, PairsAcross::node), (Pairs{{0, 1}}));
  EXPECT_TRUE(of({"a", "b"}, PairsAcross::node).empty());
}

}  // namespace
}  // namespace commlens
