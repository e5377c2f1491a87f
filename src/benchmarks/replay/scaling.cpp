#include "benchmarks/replay/scaling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "base/error.hpp"
#include "benchmarks/replay/function.hpp"

namespace commlens::replay {
namespace {

/// Where an event has what a side sends or receives.
struct SideFields {
  std::optional<std::size_t> count;
  std::optional<std::size_t> counts;
  std::optional<std::size_t> type;
  std::optional<std::size_t> types;
  bool is_capacity = false;  ///< the message may be shorter
};

/// Messages match messages, and a collective matches those of its function.
Pattern class_of(Pattern pattern) { return is_collective(pattern) ? pattern : Pattern::send; }

std::vector<SideFields> sides_of(const Function& function) {
  SideFields send;
  SideFields receive;
  for (std::size_t field = 0; field < function.roles.size(); ++field) {
    switch (function.roles[field]) {
      case Role::send_count:
        send.count = field;
        break;
      case Role::send_counts:
        send.counts = field;
        break;
      case Role::send_type:
        send.type = field;
        break;
      case Role::send_types:
        send.types = field;
        break;
      case Role::receive_count:
      case Role::both_count:
        receive.count = field;
        break;
      case Role::receive_counts:
        receive.counts = field;
        break;
      case Role::receive_type:
      case Role::both_type:
        receive.type = field;
        break;
      case Role::receive_types:
        receive.types = field;
        break;
      default:
        break;
    }
  }
  const Pattern pattern = function.pattern;
  receive.is_capacity = pattern == Pattern::receive || pattern == Pattern::mrecv || pattern == Pattern::sendrecv;
  return {send, receive};
}

class Scaler {
 public:
  Scaler(Trace& trace, double factor) : trace_(trace), factor_(factor) {
    for_each_call([&](const Function& function, TraceEvent& event) {
      for (const SideFields& side : sides_of(function)) {
        auto& sizes = sizes_[class_of(function.pattern)];
        if (side.type) add_size(sizes, event.fields[*side.type]);
        if (!side.types) continue;
        for (const std::int64_t type : array(event.fields[*side.types])) add_size(sizes, type);
      }
    });
  }

  void scale() {
    for_each_call([&](const Function& function, TraceEvent& event) {
      function_ = &function;
      if (function.pattern == Pattern::buffer_attach) {
        event.fields.back() = limited(room_for(event.fields.back()));
        return;
      }
      for (const SideFields& side : sides_of(function)) {
        if (!side.is_capacity) scale(side, event);
      }
    });
    for_each_call([&](const Function& function, TraceEvent& event) {
      function_ = &function;
      for (const SideFields& side : sides_of(function)) {
        if (side.is_capacity) scale_capacity(side, event);
      }
    });
  }

 private:
  template <class Visit>
  void for_each_call(const Visit& visit) {
    for (TraceEvent& event : trace_.events) {
      const Function* const function = find_function(trace_.functions[event.function].name);
      if (function != nullptr && event.fields.size() == function->roles.size()) visit(*function, event);
    }
  }

  [[nodiscard]] std::vector<std::int64_t> array(std::int64_t number) const {
    const bool is_known = number >= 0 && static_cast<std::size_t>(number) < trace_.arrays.size();
    return is_known ? trace_.arrays[static_cast<std::size_t>(number)] : std::vector<std::int64_t>();
  }
  [[nodiscard]] std::int64_t size_of(std::int64_t type) const {
    const bool is_known = type >= 0 && static_cast<std::size_t>(type) < trace_.types.size();
    return is_known ? trace_.types[static_cast<std::size_t>(type)].size : 0;
  }
  void add_size(std::set<std::int64_t>& sizes, std::int64_t type) const {
    if (const std::int64_t size = size_of(type); size > 0) sizes.insert(size);
  }

  void scale(const SideFields& side, TraceEvent& event) {
    const std::int64_t type = side.type ? event.fields[*side.type] : -1;
    if (side.type && type < 0) return;  // not significant on this rank
    if (side.count) {
      auto& count = event.fields[*side.count];
      count = scaled(count, size_of(type));
      const bool is_message = !is_collective(function_->pattern) && count > 0;
      if (is_message) longest_ = std::max(longest_, static_cast<double>(count) * static_cast<double>(size_of(type)));
    }
    if (!side.counts) return;
    auto counts = array(event.fields[*side.counts]);
    const auto types = side.types ? array(event.fields[*side.types]) : std::vector<std::int64_t>();
    for (std::size_t i = 0; i < counts.size(); ++i) {
      counts[i] = scaled(counts[i], size_of(i < types.size() ? types[i] : type));
    }
    if (!counts.empty()) event.fields[*side.counts] = number_of(counts);
  }

  std::int64_t number_of(const std::vector<std::int64_t>& values) {
    const auto next = static_cast<std::int64_t>(trace_.arrays.size());
    const auto [known, is_new] = arrays_.try_emplace(values, next);
    if (is_new) trace_.arrays.push_back(values);
    return known->second;
  }

  /// Programs receive into more room than a message needs: it is never more than the longest one.
  void scale_capacity(const SideFields& side, TraceEvent& event) const {
    if (!side.count || !side.type || event.fields[*side.type] < 0) return;
    auto& count = event.fields[*side.count];
    const std::int64_t size = size_of(event.fields[*side.type]);
    if (count <= 0 || size <= 0) return;
    count = limited(std::min(room_for(count), std::ceil(longest_ / static_cast<double>(size))));
  }

  [[nodiscard]] std::int64_t scaled(std::int64_t count, std::int64_t size) const {
    if (count <= 0) return count;
    const std::int64_t unit = elements_of_unit(count, size);
    return limited(std::max(1.0, std::round(factor_ * (static_cast<double>(count) / static_cast<double>(unit)))) *
                   static_cast<double>(unit));
  }

  /// How many elements are added or left out together: a reduction has one type on all ranks.
  [[nodiscard]] std::int64_t elements_of_unit(std::int64_t count, std::int64_t size) const {
    if (size <= 0 || count > most / size || is_reduction(function_->pattern)) return 1;
    const std::int64_t bytes = count * size;
    std::int64_t unit = size;
    for (const std::int64_t other : sizes_.at(class_of(function_->pattern))) {
      if (bytes % other == 0) unit = std::lcm(unit, other);
    }
    return unit / size;
  }

  /// A message of at most `count` elements has as many or fewer afterwards: its unit is at most all of it.
  [[nodiscard]] double room_for(std::int64_t count) const {
    return std::ceil(static_cast<double>(count) * std::max(1.0, factor_ + 0.5));
  }

  [[nodiscard]] std::int64_t limited(double count) const {
    if (count <= static_cast<double>(function_->is_large ? most : INT_MAX)) return static_cast<std::int64_t>(count);
    throw UsageError(
        "scale-bytes", fmt::format("{:g}", factor_),
        fmt::format("{} would have {:.0f} elements, more than it takes; give less", function_->name, count));
  }

  static constexpr std::int64_t most = std::int64_t{1} << 50;

  Trace& trace_;
  double factor_;
  const Function* function_ = nullptr;
  double longest_ = 0;  ///< bytes of a message, scaled
  std::map<Pattern, std::set<std::int64_t>> sizes_;
  std::map<std::vector<std::int64_t>, std::int64_t> arrays_;
};

}  // namespace

void scale_bytes(Trace& trace, double factor) { Scaler(trace, factor).scale(); }

}  // namespace commlens::replay
