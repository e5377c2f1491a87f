#include "gather_scatter/sharing.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>
#include <string>

#include "transport/mpi_calls.hpp"

namespace commlens::gather_scatter {

namespace {

using transport::Communicator;

struct Numbered {
  std::int64_t id;
  std::uint32_t number;  ///< of a node, a rank, an answer
};

std::uint64_t distance(std::int64_t from, std::int64_t to) {
  return static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
}

/// By id, equals as they were: digit by digit, since the ids of a mesh have few. A digit is of 8 bits, for no more
/// pages are written to at a time than a processor remembers the addresses of; 11 bits take five times as long.
void sort_by_id(std::vector<Numbered>& items) {
  constexpr int digit_bits = 8;
  constexpr std::size_t digits = std::size_t{1} << digit_bits;
  if (items.empty()) return;
  const auto by_id = [](const Numbered& a, const Numbered& b) { return a.id < b.id; };
  const auto [least, largest] = std::minmax_element(items.begin(), items.end(), by_id);
  const std::int64_t base = least->id;
  const auto bits = static_cast<int>(std::bit_width(distance(base, largest->id)));
  std::vector<Numbered> sorted(items.size());
  for (int shift = 0; shift < bits; shift += digit_bits) {
    const auto digit = [&](const Numbered& item) { return (distance(base, item.id) >> shift) % digits; };
    std::array<std::size_t, digits + 1> place{};
    for (const Numbered& item : items) ++place[digit(item) + 1];
    std::partial_sum(place.begin(), place.end(), place.begin());
    for (const Numbered& item : items) sorted[place[digit(item)]++] = item;
    items.swap(sorted);
  }
}

/// Calls `function(first, last)` for the items of each id.
template <class Function>
void for_each_id(const std::vector<Numbered>& sorted, Function function) {
  for (auto first = sorted.begin(); first != sorted.end();) {
    const auto last = std::find_if(first, sorted.end(), [&](const Numbered& item) { return item.id != first->id; });
    function(first, last);
    first = last;
  }
}

/// Words to each rank, or from each.
struct Mail {
  std::vector<std::int64_t> words;
  std::vector<std::size_t> first;  ///< those of rank r begin here; one more for the end

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

/// `write(put)` calls put(rank, word) for every word; it does so twice, for they are counted first.
template <class Write>
Mail written(int ranks, Write write) {
  Mail mail;
  mail.first.resize(static_cast<std::size_t>(ranks) + 1);
  write([&](std::size_t rank, std::int64_t) { ++mail.first[rank + 1]; });
  std::partial_sum(mail.first.begin(), mail.first.end(), mail.first.begin());
  mail.words.resize(mail.first.back());
  std::vector<std::size_t> next = mail.first;
  write([&](std::size_t rank, std::int64_t word) { mail.words[next[rank]++] = word; });
  return mail;
}

Mail delivered(const Mail& sent, const Communicator& communicator) {
  const auto ranks = static_cast<std::size_t>(communicator.size());
  std::vector<std::int64_t> lengths(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) lengths[rank] = static_cast<std::int64_t>(sent.of(rank).size());
  transport::check_mpi(
      MPI_Alltoall(MPI_IN_PLACE, 1, MPI_INT64_T, lengths.data(), 1, MPI_INT64_T, communicator.handle()),
      "MPI_Alltoall");
  Mail come;
  come.first.resize(ranks + 1);
  std::partial_sum(lengths.begin(), lengths.end(), come.first.begin() + 1,
                   [](auto sum, auto length) { return sum + length; });
  come.words.resize(come.first.back());
  transport::mpi_calls::alltoallv(communicator, sent.words.data(), sent.pieces(), come.words.data(), come.pieces());
  return come;
}

/// The nodes with an id, by id and by node.
std::vector<Numbered> sorted_nodes(std::span<const std::int64_t> ids) {
  if (ids.size() > std::numeric_limits<std::uint32_t>::max()) {
    throw Error("gather-scatter: " + std::to_string(ids.size()) + " nodes on a rank; it may have 2^32 - 1");
  }
  std::vector<Numbered> nodes;
  nodes.reserve(ids.size());
  for (std::size_t node = 0; node < ids.size(); ++node) {
    if (ids[node] != 0) nodes.push_back({ids[node], static_cast<std::uint32_t>(node)});
  }
  sort_by_id(nodes);
  return nodes;
}

/// Every id that a rank has, to the rank where all that have it meet.
Mail questions(const std::vector<Numbered>& nodes, int ranks) {
  return written(ranks, [&](auto put) {
    for_each_id(nodes, [&](auto first, auto) {
      put(static_cast<std::uint64_t>(first->id) % static_cast<std::uint64_t>(ranks), first->id);
    });
  });
}

/// What a rank is told of an id that is on others too.
struct Answer {
  std::int64_t id;
  std::int64_t label;
  std::span<const std::int64_t> ranks;  ///< that have it, ascending
};

struct Answers {
  Mail mail;  ///< words of an answer: id, label, number of ranks, the ranks
  std::int64_t labels_shared = 0;
};

/// The ranks that have asked for each id, by id.
std::vector<Numbered> sorted_askers(const Mail& asked) {
  std::vector<Numbered> askers;
  askers.reserve(asked.words.size());
  for (std::size_t rank = 0; rank + 1 < asked.first.size(); ++rank) {
    for (const std::int64_t id : asked.of(rank)) askers.push_back({id, static_cast<std::uint32_t>(rank)});
  }
  sort_by_id(askers);
  return askers;
}

Answers answers(const Mail& asked, const Communicator& communicator) {
  const std::vector<Numbered> askers = sorted_askers(asked);
  std::int64_t here = 0;
  for_each_id(askers, [&](auto first, auto last) { here += last - first > 1 ? 1 : 0; });
  std::int64_t first_label = 0;
  transport::check_mpi(MPI_Exscan(&here, &first_label, 1, MPI_INT64_T, MPI_SUM, communicator.handle()), "MPI_Exscan");
  if (communicator.rank() == 0) first_label = 0;  // MPI leaves it undefined there
  const auto write = [&](auto put) {
    std::int64_t label = first_label;
    for_each_id(askers, [&](auto first, auto last) {
      if (last - first == 1) return;
      for (auto asker = first; asker != last; ++asker) {
        put(asker->number, first->id);
        put(asker->number, label);
        put(asker->number, last - first);
        for (auto rank = first; rank != last; ++rank) put(asker->number, rank->number);
      }
      ++label;
    });
  };
  return {written(communicator.size(), write), communicator.sum(here)};
}

/// By id.
std::vector<Answer> read(const Mail& mail) {
  std::vector<Answer> unsorted;
  std::vector<Numbered> order;
  for (std::size_t at = 0; at < mail.words.size();) {
    const auto ranks = static_cast<std::size_t>(mail.words[at + 2]);
    order.push_back({mail.words[at], static_cast<std::uint32_t>(unsorted.size())});
    unsorted.push_back({mail.words[at], mail.words[at + 1], std::span(mail.words).subspan(at + 3, ranks)});
    at += 3 + ranks;
  }
  sort_by_id(order);
  std::vector<Answer> sorted;
  for (const Numbered& item : order) sorted.push_back(unsorted[item.number]);
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
  const std::vector<Numbered> nodes = sorted_nodes(ids);
  const Answers given = answers(delivered(questions(nodes, communicator.size()), communicator), communicator);
  const Mail mail = delivered(given.mail, communicator);
  const std::vector<Answer> about = read(mail);

  // In the order of ids, which on a lattice follows lines of points through the elements: a kernel that goes through
  // groups in the order of their nodes takes half as long again.
  Sharing sharing;
  sharing.nodes = ids.size();
  sharing.labels_shared = static_cast<std::uint64_t>(given.labels_shared);
  std::vector<Sharing::Peer> peers(static_cast<std::size_t>(communicator.size()));
  auto answer = about.begin();
  for_each_id(nodes, [&](auto first, auto last) {
    if (answer == about.end() || answer->id != first->id) {
      if (last - first > 1) add_group(sharing.local, first, last);
      return;
    }
    for (const std::int64_t rank : answer->ranks) {
      peers[static_cast<std::size_t>(rank)].groups.push_back(static_cast<std::uint32_t>(sharing.shared.size()));
    }
    add_group(sharing.shared, first, last);
    sharing.labels.push_back(static_cast<std::uint64_t>(answer->label));
    ++answer;
  });
  for (int rank = 0; rank < communicator.size(); ++rank) {
    auto& groups = peers[static_cast<std::size_t>(rank)].groups;
    if (rank != communicator.rank() && !groups.empty()) sharing.peers.push_back({rank, std::move(groups)});
  }
  return sharing;
}

}  // namespace commlens::gather_scatter
