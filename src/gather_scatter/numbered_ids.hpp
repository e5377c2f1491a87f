// Ids with numbers, sorted: how nodes that have an id in common are found, on a rank and between ranks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace commlens::gather_scatter {

/// An id of a node, or of a rank, or in a reply, with that one's number.
struct NumberedId {
  std::int64_t id;
  std::uint32_t number;
};

/// By id; those of one id stay in their order.
void sort_by_id(std::vector<NumberedId>& entries);

/// Calls `function(first, last)` for the entries of each id.
template <class Function>
void for_each_id(const std::vector<NumberedId>& sorted, Function function) {
  for (auto first = sorted.begin(); first != sorted.end();) {
    const auto last = std::find_if(first, sorted.end(), [&](const NumberedId& entry) { return entry.id != first->id; });
    function(first, last);
    first = last;
  }
}

}  // namespace commlens::gather_scatter
