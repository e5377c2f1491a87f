#include "gather_scatter/sharing.hpp"

#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "gather_scatter/numbered_ids.hpp"
#include "transport/mpi_calls.hpp"

namespace commlens::gather_scatter {

namespace {

using transport::Communicator;

/// One message to each rank, or from each, of 64-bit words.
struct Messages {
  std::vector<std::int64_t> words;
  std::vector<std::size_t> first;  ///< the message of rank r begins here; one more for the end

  [[nodiscard]] std::span<const std::int64_t> of(std::size_t rank) const {
    return std::span(words).subspan(first[rank], first[rank + 1] - first[rank]);
  }
  [[nodiscard]] std::vector<transport::Piece> pieces() const {
    std::vector<transport::Piece> pieces;
    for (std::size_t rank = 0; rank + 1 < first.size(); ++rank) {
      pieces.push_back({first[rank] * sizeof(std::int64_t), (first[rank + 1] - first[rank]) * sizeof(std::int64_t)});
    }
    return pieces;
  }
};

/// `write(put)` calls put(rank, word) for every word. It is called twice: words are counted first.
template <class Write>
Messages messages_of(int ranks, Write write) {
  Messages messages;
  messages.first.resize(static_cast<std::size_t>(ranks) + 1);
  write([&](std::size_t rank, std::int64_t) { ++messages.first[rank + 1]; });
  std::partial_sum(messages.first.begin(), messages.first.end(), messages.first.begin());
  messages.words.resize(messages.first.back());
  std::vector<std::size_t> next = messages.first;
  write([&](std::size_t rank, std::int64_t word) { messages.words[next[rank]++] = word; });
  return messages;
}

Messages exchanged(const Messages& sent, const Communicator& communicator) {
  const auto ranks = static_cast<std::size_t>(communicator.size());
  std::vector<std::int64_t> lengths(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) lengths[rank] = static_cast<std::int64_t>(sent.of(rank).size());
  CALL_MPI(MPI_Alltoall, MPI_IN_PLACE, 1, MPI_INT64_T, lengths.data(), 1, MPI_INT64_T, communicator.handle());
  Messages received;
  received.first.resize(ranks + 1);
  std::partial_sum(lengths.begin(), lengths.end(), received.first.begin() + 1,
                   [](auto sum, auto length) { return sum + length; });
  received.words.resize(received.first.back());
  transport::mpi_calls::alltoallv(communicator, sent.words.data(), sent.pieces(), received.words.data(),
                                  received.pieces());
  return received;
}

/// The nodes that have an id, by id and then by node.
std::vector<NumberedId> sorted_nodes(std::span<const std::int64_t> ids) {
  if (ids.size() > std::numeric_limits<std::uint32_t>::max()) {
    throw Error("gather-scatter: " + std::to_string(ids.size()) + " nodes on a rank; at most 2^32 - 1 are supported");
  }
  std::vector<NumberedId> nodes;
  nodes.reserve(ids.size());
  for (std::size_t node = 0; node < ids.size(); ++node) {
    if (ids[node] != 0) nodes.push_back({ids[node], static_cast<std::uint32_t>(node)});
  }
  sort_by_id(nodes);
  return nodes;
}

/// Each distinct id, to its directory rank.
Messages requests_of(const std::vector<NumberedId>& nodes, int ranks) {
  return messages_of(ranks, [&](auto put) {
    for_each_id(nodes, [&](auto first, auto) {
      put(static_cast<std::uint64_t>(first->id) % static_cast<std::uint64_t>(ranks), first->id);
    });
  });
}

/// About an id that several ranks have.
struct Reply {
  std::int64_t id;
  std::int64_t global_index;
  std::span<const std::int64_t> ranks;  ///< that have it, ascending
};

struct Replies {
  Messages messages;  ///< of each reply: id, global index, number of ranks, the ranks
  std::int64_t shared_ids = 0;
};

/// The ranks that have sent each id, by id and then by rank.
std::vector<NumberedId> sorted_ranks(const Messages& requests) {
  std::vector<NumberedId> ranks;
  ranks.reserve(requests.words.size());
  for (std::size_t rank = 0; rank + 1 < requests.first.size(); ++rank) {
    for (const std::int64_t id : requests.of(rank)) ranks.push_back({id, static_cast<std::uint32_t>(rank)});
  }
  sort_by_id(ranks);
  return ranks;
}

Replies replies_to(const Messages& requests, const Communicator& communicator) {
  const std::vector<NumberedId> ranks = sorted_ranks(requests);
  std::int64_t here = 0;
  for_each_id(ranks, [&](auto first, auto last) { here += last - first > 1 ? 1 : 0; });
  std::int64_t first_index = 0;
  CALL_MPI(MPI_Exscan, &here, &first_index, 1, MPI_INT64_T, MPI_SUM, communicator.handle());
  if (communicator.rank() == 0) first_index = 0;  // undefined there after MPI_Exscan
  const auto write = [&](auto put) {
    std::int64_t global_index = first_index;
    for_each_id(ranks, [&](auto first, auto last) {
      if (last - first == 1) return;
      for (auto to = first; to != last; ++to) {
        put(to->number, first->id);
        put(to->number, global_index);
        put(to->number, last - first);
        for (auto rank = first; rank != last; ++rank) put(to->number, rank->number);
      }
      ++global_index;
    });
  };
  return {messages_of(communicator.size(), write), communicator.sum(here)};
}

/// By id.
std::vector<Reply> sorted_replies(const Messages& messages) {
  std::vector<Reply> unsorted;
  std::vector<NumberedId> order;
  for (std::size_t at = 0; at < messages.words.size();) {
    const auto ranks = static_cast<std::size_t>(messages.words[at + 2]);
    order.push_back({messages.words[at], static_cast<std::uint32_t>(unsorted.size())});
    unsorted.push_back({messages.words[at], messages.words[at + 1], std::span(messages.words).subspan(at + 3, ranks)});
    at += 3 + ranks;
  }
  sort_by_id(order);
  std::vector<Reply> sorted;
  for (const NumberedId& entry : order) sorted.push_back(unsorted[entry.number]);
  return sorted;
}

template <class Iterator>
void add_group(Groups& groups, Iterator first, Iterator last) {
  groups.ids.push_back(first->id);
  for (; first != last; ++first) groups.nodes.push_back(first->number);
  groups.first.push_back(static_cast<std::uint32_t>(groups.nodes.size()));
}

}  // namespace

Sharing Sharing::of_values() const {
  Sharing values = *this;
  values.nodes = shared.size();
  values.local = {};
  values.shared.nodes.resize(values.nodes);
  values.shared.first.resize(values.nodes + 1);
  std::iota(values.shared.nodes.begin(), values.shared.nodes.end(), 0U);
  std::iota(values.shared.first.begin(), values.shared.first.end(), 0U);
  return values;
}

std::size_t Sharing::sent() const {
  std::size_t values = 0;
  for (const Peer& peer : peers) values += peer.groups.size();
  return values;
}

Sharing discover(std::span<const std::int64_t> ids, const transport::Communicator& communicator) {
  const std::vector<NumberedId> nodes = sorted_nodes(ids);
  const Replies given = replies_to(exchanged(requests_of(nodes, communicator.size()), communicator), communicator);
  const Messages received = exchanged(given.messages, communicator);
  const std::vector<Reply> replies = sorted_replies(received);

  // Groups are in the order of ids, which on a lattice follows lines of points through the elements: with groups in the
  // order of their nodes kernels take 1.5x as long.
  Sharing sharing;
  sharing.nodes = ids.size();
  sharing.shared_ids = static_cast<std::uint64_t>(given.shared_ids);
  std::vector<Sharing::Peer> peers(static_cast<std::size_t>(communicator.size()));
  auto reply = replies.begin();
  for_each_id(nodes, [&](auto first, auto last) {
    if (reply == replies.end() || reply->id != first->id) {
      if (last - first > 1) add_group(sharing.local, first, last);
      return;
    }
    for (const std::int64_t rank : reply->ranks) {
      peers[static_cast<std::size_t>(rank)].groups.push_back(static_cast<std::uint32_t>(sharing.shared.size()));
    }
    add_group(sharing.shared, first, last);
    sharing.global_indices.push_back(static_cast<std::uint64_t>(reply->global_index));
    ++reply;
  });
  for (int rank = 0; rank < communicator.size(); ++rank) {
    auto& groups = peers[static_cast<std::size_t>(rank)].groups;
    if (rank != communicator.rank() && !groups.empty()) sharing.peers.push_back({rank, std::move(groups)});
  }
  return sharing;
}

}  // namespace commlens::gather_scatter
