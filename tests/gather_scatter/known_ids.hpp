// Global ids of all ranks that every rank can compute for itself, and so the right answer of a gather-scatter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gather_scatter/gather_scatter.hpp"

namespace commlens::gather_scatter {

using Ids = std::vector<std::int64_t>;

/// Ids by rank.
struct Case {
  std::string name;
  std::vector<Ids> (*ids)(int ranks);
};
extern const std::vector<Case> cases;

/// 400 ids, beyond 2^32 and negative, each on one rank or on several, on 1 to 100 nodes; every tenth node has id 0.
std::vector<Ids> random_ids(int ranks);

/// Values of all ranks, each field by field.
std::vector<std::vector<double>> inputs(const std::vector<Ids>& ids, const ValueKind& kind);
/// Of rank `me`, computed without the library.
std::vector<double> right_answer(const std::vector<Ids>& ids, const ValueKind& kind, std::size_t me);

std::vector<ValueKind> every_kind();
std::string text(const ValueKind& kind);

}  // namespace commlens::gather_scatter
