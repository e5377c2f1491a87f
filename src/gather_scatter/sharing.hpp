// Which ranks share which nodes, found from the global ids of the nodes alone: no rank knows the whole mesh.
//
// Each distinct id is sent to a directory rank, id mod P. Directory ranks sort the ids they receive, and return those
// that came from more than one rank, with the list of these ranks (as gslib's gs_setup does; Fischer, Lottes,
// Kerkemeier, Nek5000).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "transport/communicator.hpp"

namespace commlens::gather_scatter {

/// Groups of a rank's nodes, each with one global id. Group g has nodes[first[g]] … nodes[first[g + 1] - 1].
struct Groups {
  std::vector<std::int64_t> ids;  ///< ascending
  std::vector<std::uint32_t> first{0};
  std::vector<std::uint32_t> nodes;

  [[nodiscard]] std::size_t size() const { return ids.size(); }
};

struct Sharing {
  struct Peer {
    int rank = 0;
    std::vector<std::uint32_t> groups;  ///< of `shared`, ascending: in the order of ids on both sides
  };

  std::size_t nodes = 0;                      ///< of this rank, those without an id among them
  Groups local;                               ///< ids of several nodes on this rank, and of none elsewhere
  Groups shared;                              ///< ids that other ranks have, too
  std::vector<Peer> peers;                    ///< ascending by rank
  std::uint64_t shared_ids = 0;               ///< ids on more than one rank, of all ranks
  std::vector<std::uint64_t> global_indices;  ///< of each shared group: which of all shared ids it has, from 0

  /// Values that this rank sends in one gather-scatter; it receives as many.
  [[nodiscard]] std::size_t sent() const;
  /// The sharing of the shared groups' values: one node per group, and the same between the ranks.
  [[nodiscard]] Sharing of_values() const;
};

/// Calls `function(group, rank)` for each rank that has the id of a shared group, those of one group in ascending
/// order. `me` is this rank.
template <class Function>
void for_each_contribution(const Sharing& sharing, int me, Function function) {
  bool is_called = false;
  const auto call_for_self = [&] {
    for (std::size_t group = 0; group < sharing.shared.size(); ++group) function(group, me);
    is_called = true;
  };
  for (const Sharing::Peer& peer : sharing.peers) {
    if (!is_called && peer.rank > me) call_for_self();
    for (const std::uint32_t group : peer.groups) function(group, peer.rank);
  }
  if (!is_called) call_for_self();
}

/// Collective. `ids` are any 64-bit values; nodes with id 0 take no part; a rank may have none. Throws Error for 2^32
/// nodes or more on one rank.
Sharing discover(std::span<const std::int64_t> ids, const transport::Communicator& communicator);

}  // namespace commlens::gather_scatter
