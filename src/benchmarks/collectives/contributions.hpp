// What ranks contribute to a reduction: small integers, chosen so that the type has every partial result, in whatever
// order the ranks are combined, and the result is exact. A contribution that is dropped, repeated or that of another
// round gives another result at some elements.
//
// Types of 8 bits have few integers (f8e5m2 has all of them up to 8): with many ranks, not all of them contribute to
// each element, and to the next element others do.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "device/function.hpp"
#include "harness/pattern.hpp"
#include "transport/collectives.hpp"

namespace commlens::collectives {

using transport::Reduction;

/// Integers up to this one are all exact, and so is this power of 2.
struct ExactRange {
  std::int64_t integer = 0;
  int power_of_two = 0;
};

template <class T>
constexpr ExactRange exact_range() {
  if constexpr (std::is_integral_v<T>) {
    constexpr int digits = std::min(std::numeric_limits<T>::digits, 62);
    return {.integer = (std::int64_t{1} << digits) - 1, .power_of_two = digits - 1};
  } else if constexpr (std::is_floating_point_v<T>) {
    return {.integer = std::int64_t{1} << std::numeric_limits<T>::digits, .power_of_two = 62};
  } else {
    return {.integer = std::int64_t{1} << T::digits, .power_of_two = std::min(T::max_exponent - 1, 62)};
  }
}

class Contributions {
 public:
  Contributions(Reduction reduction, const ExactRange& range, int ranks, std::uint64_t round)
      : reduction_(reduction), ranks_(ranks), round_(round) {
    const std::int64_t room = range.integer / factor() / ranks;
    differ_ = room > rank_values;
    values_ = std::clamp<std::int64_t>(differ_ ? room - rank_values : 1, 1, most_values);
    stride_ = room > 0 ? 1 : (ranks * factor() + range.integer - 1) / range.integer;
    if (reduction == Reduction::prod) stride_ = std::max(3, (ranks + range.power_of_two - 1) / range.power_of_two);
    if (is_of_one(reduction)) values_ = std::min<std::int64_t>(most_values, range.integer - 2);
  }

  /// The largest that a sum can be.
  [[nodiscard]] std::int64_t largest_sum() const { return ranks_ * (values_ + (differ_ ? rank_values : 0)); }

  /// What a rank contributes to element i.
  [[nodiscard]] COMMLENS_FUNCTION std::int64_t of(std::size_t i, int rank) const {
    return (reduction_ == Reduction::avg ? ranks_ : 1) * value(i, rank, rank);
  }

  /// Element i of the result over ranks `first` to `last`.
  [[nodiscard]] COMMLENS_FUNCTION std::int64_t combined(std::size_t i, int first, int last) const {
    return (reduction_ == Reduction::premulsum ? 2 : 1) * value(i, first, last);
  }

 private:
  static constexpr std::int64_t most_values = 32;
  static constexpr int rank_values = 4;
  static constexpr std::int64_t all_bits = 0x7F;

  /// One rank, another one for each element, decides the result.
  static constexpr bool is_of_one(Reduction reduction) {
    return reduction == Reduction::min || reduction == Reduction::max || transport::is_of_bits(reduction);
  }

  /// The same for both, but for what `avg` and `premulsum` multiply with.
  [[nodiscard]] COMMLENS_FUNCTION std::int64_t value(std::size_t i, int first, int last) const {
    const std::uint64_t mixed = pattern::mix(i, round_);
    const bool chosen = first <= chosen_rank(mixed) && chosen_rank(mixed) <= last;
    const std::int64_t number = 1 + static_cast<std::int64_t>(mixed % static_cast<std::uint64_t>(values_));
    const std::int64_t count = last - first + 1;
    switch (reduction_) {
      case Reduction::prod:
        return std::int64_t{1} << active(mixed, first, last);
      case Reduction::min:
        return chosen ? number : number + 1;
      case Reduction::max:
        return chosen ? number + 1 : number;
      case Reduction::band:
        return chosen ? number : all_bits;
      case Reduction::bor:
        return chosen ? number : 0;
      case Reduction::bxor:
        return (count % 2 != 0 ? number : 0) ^ (chosen ? all_bits : 0);
      case Reduction::land:
        return chosen ? number & 1 : 1;
      case Reduction::lor:
        return chosen ? number & 1 : 0;
      case Reduction::lxor:
        return ((chosen ? count - 1 : count) ^ (chosen ? number : 0)) & 1;
      default:
        return sum(mixed, number, first, last);
    }
  }

  /// By which a partial result may be larger than the sum of what `sum` adds up.
  [[nodiscard]] std::int64_t factor() const {
    return reduction_ == Reduction::avg ? ranks_ : reduction_ == Reduction::premulsum ? 2 : 1;
  }

  [[nodiscard]] COMMLENS_FUNCTION int chosen_rank(std::uint64_t mixed) const {
    return static_cast<int>((mixed >> 32) % static_cast<std::uint64_t>(ranks_));
  }

  /// Those of the ranks that contribute to the element.
  [[nodiscard]] COMMLENS_FUNCTION std::int64_t active(std::uint64_t mixed, int first, int last) const {
    const auto shift = static_cast<std::int64_t>((mixed >> 32) % static_cast<std::uint64_t>(stride_));
    return (last + shift) / stride_ - (first + shift + stride_ - 1) / stride_ + 1;
  }

  COMMLENS_FUNCTION static std::int64_t extra(std::int64_t ranks) {  // of ranks 0 to `ranks` - 1
    const std::int64_t rest = ranks % rank_values;
    return ranks / rank_values * (rank_values * (rank_values - 1) / 2) + rest * (rest - 1) / 2;
  }

  [[nodiscard]] COMMLENS_FUNCTION std::int64_t sum(std::uint64_t mixed, std::int64_t value, int first, int last) const {
    return active(mixed, first, last) * value + (differ_ ? extra(last + 1) - extra(first) : 0);
  }

  Reduction reduction_;
  std::int64_t ranks_;
  std::uint64_t round_;
  std::int64_t values_ = 1;  ///< that differ from element to element
  std::int64_t stride_ = 1;  ///< of the ranks that contribute to an element
  bool differ_ = false;      ///< the ranks' contributions to an element
};

}  // namespace commlens::collectives
