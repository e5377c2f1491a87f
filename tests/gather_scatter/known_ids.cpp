#include "known_ids.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <map>
#include <random>

namespace commlens::gather_scatter {

namespace {

/// The last rank has no nodes, the first only ids of its own, one of them twice.
std::vector<Ids> lonely_ids(int ranks) {
  std::vector<Ids> ids = random_ids(ranks);
  ids.back().clear();
  if (ranks > 1) ids.front() = {7, 5, -3, 0, 5, 0};
  return ids;
}

std::vector<Ids> nothing_shared(int ranks) {
  std::vector<Ids> ids(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) ids[static_cast<std::size_t>(rank)] = {rank + 1, -rank - 1, rank + 1};
  return ids;
}

std::vector<Ids> no_ids(int ranks) { return std::vector<Ids>(static_cast<std::size_t>(ranks)); }

/// The largest and smallest 64-bit integers, on every rank.
std::vector<Ids> extreme_ids(int ranks) {
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  constexpr auto largest = std::numeric_limits<std::int64_t>::max();
  return std::vector<Ids>(static_cast<std::size_t>(ranks), Ids{largest, least, 0, -1, 1, least});
}

double combine(Combine how, double a, double b) {
  switch (how) {
    case Combine::add:
      return a + b;
    case Combine::multiply:
      return a * b;
    case Combine::minimum:
      return std::min(a, b);
    default:
      return std::max(a, b);
  }
}

/// So small that sums and products in f32 are exact in any order: 2 and 1/2 are rare.
double value(Combine how, std::size_t rank, std::size_t node, std::size_t field) {
  const std::size_t mixed = rank * 7919 + node * 104'729 + field * 31;
  if (how == Combine::multiply) return std::array{1.0, -1.0, 1.0, 2.0, 1.0, 0.5, -1.0}[mixed % 7];
  return static_cast<double>(mixed % 19) - 9.0;
}

}  // namespace

std::vector<Ids> random_ids(int ranks) {
  std::mt19937_64 random(20'260);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  std::vector<Ids> ids(static_cast<std::size_t>(ranks));
  for (int number = 0; number < 400; ++number) {
    const auto id = static_cast<std::int64_t>(random());
    const std::uint64_t copies = number % 3 == 0 ? 1 + below(100) : 1 + below(4);
    const std::uint64_t width = 1 + below(ids.size());  // number of ranks that may have the id
    const std::uint64_t first = below(ids.size());
    for (std::uint64_t copy = 0; copy < copies; ++copy) {
      Ids& there = ids[(first + below(width)) % ids.size()];
      there.push_back(id);
      if (there.size() % 10 == 9) there.push_back(0);
    }
  }
  for (Ids& there : ids) std::shuffle(there.begin(), there.end(), random);
  return ids;
}

const std::vector<Case> cases = {{"random", random_ids},
                                 {"lonely", lonely_ids},
                                 {"nothing shared", nothing_shared},
                                 {"no ids", no_ids},
                                 {"extreme", extreme_ids}};

std::vector<std::vector<double>> inputs(const std::vector<Ids>& ids, const ValueKind& kind) {
  std::vector<std::vector<double>> all;
  for (std::size_t rank = 0; rank < ids.size(); ++rank) {
    std::vector<double> mine;
    for (std::size_t field = 0; field < kind.fields; ++field) {
      for (std::size_t node = 0; node < ids[rank].size(); ++node) {
        mine.push_back(value(kind.combine, rank, node, field));
      }
    }
    all.push_back(mine);
  }
  return all;
}

std::vector<double> right_answer(const std::vector<Ids>& ids, const ValueKind& kind, std::size_t me) {
  const auto all = inputs(ids, kind);
  std::vector<double> answer = all[me];
  for (std::size_t field = 0; field < kind.fields; ++field) {
    std::map<std::int64_t, double> of_id;
    for (std::size_t rank = 0; rank < ids.size(); ++rank) {
      for (std::size_t node = 0; node < ids[rank].size(); ++node) {
        const double next = all[rank][field * ids[rank].size() + node];
        const auto [entry, is_first] = of_id.try_emplace(ids[rank][node], next);
        if (!is_first) entry->second = combine(kind.combine, entry->second, next);
      }
    }
    for (std::size_t node = 0; node < ids[me].size(); ++node) {
      if (ids[me][node] != 0) answer[field * ids[me].size() + node] = of_id.at(ids[me][node]);
    }
  }
  return answer;
}

std::vector<ValueKind> every_kind() {
  std::vector<ValueKind> kinds;
  for (const std::size_t fields : {1, 3}) {
    for (const Combine combine : all_values<Combine>()) {
      kinds.push_back({DataType::f64, DataType::f64, fields, combine});
      kinds.push_back({DataType::f64, DataType::f32, fields, combine});
      kinds.push_back({DataType::f32, DataType::f32, fields, combine});
    }
  }
  return kinds;
}

std::string text(const ValueKind& kind) {
  return std::string(name(kind.type)) + " sent as " + std::string(name(kind.exchange_type)) + ", " +
         std::to_string(kind.fields) + " fields, " + std::string(name(kind.combine));
}

}  // namespace commlens::gather_scatter
