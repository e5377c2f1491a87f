// Who shares which nodes, found from their global ids alone: no rank knows the mesh.
//
// Every distinct id goes to rank id mod P, is sorted there, and those that came from more than one rank go back with
// the others that have them (as gslib's gs_setup does; Fischer, Lottes, Kerkemeier, Nek5000).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "transport/communicator.hpp"

namespace commlens::gather_scatter {

/// Sets of a rank's nodes, each of one id. Group g consists of nodes[first[g]] … nodes[first[g + 1] - 1].
struct Groups {
  std::vector<std::int64_t> ids;  ///< ascending
  std::vector<std::uint32_t> first{0};
  std::vector<std::uint32_t> nodes;

  [[nodiscard]] std::size_t size() const { return ids.size(); }
};

struct Sharing {
  struct Peer {
    int rank = 0;
    std::vector<std::uint32_t> groups;  ///< of `shared`, ascending: on both sides in the order of ids
  };

  std::size_t nodes = 0;              ///< that ids were given for
  Groups local;                       ///< more than one node here, none elsewhere
  Groups shared;                      ///< one node or more here, and some elsewhere
  std::vector<Peer> peers;            ///< ascending by rank
  std::vector<std::uint64_t> labels;  ///< of each shared group: its number among all shared ids of all ranks
  std::uint64_t labels_shared = 0;    ///< ids that are on more than one rank

  /// Values that go to other ranks in one gather-scatter, and as many come back.
  [[nodiscard]] std::size_t sent() const;
  /// Between the ranks the same, of the shared groups' values alone: each is one node.
  [[nodiscard]] Sharing of_values() const;
};

/// Collective. `ids` may be of any 64-bit value; 0 takes no part; any rank may have none. Throws Error for 2^32 ids or
/// more on one rank.
Sharing discover(std::span<const std::int64_t> ids, const transport::Communicator& communicator);

}  // namespace commlens::gather_scatter
