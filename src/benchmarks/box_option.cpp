#include "benchmarks/box_option.hpp"

#include <algorithm>

#include "harness/options.hpp"
#include "harness/usage_error.hpp"

namespace commlens {

std::vector<std::size_t> parse_extents(const std::string& option, std::string text) {
  std::replace(text.begin(), text.end(), 'x', ',');
  return parse_sizes(option, text);
}

Box parse_box(const std::string& option, const std::string& text, const std::string& things) {
  constexpr std::size_t most = 1'000'000;
  const bool is_range = text.find(':') != std::string::npos;
  auto sizes = is_range ? std::vector<std::size_t>{} : parse_extents(option, text);
  if (sizes.size() == 1) sizes.resize(3, sizes.front());
  const bool too_large = std::any_of(sizes.begin(), sizes.end(), [](std::size_t size) { return size > most; });
  if (sizes.size() != 3 || too_large) {
    throw UsageError(option, text,
                     "write one number of " + things + " for a cube, or three such as 125,125,100, of at most 1M each");
  }
  return {sizes[0], sizes[1], sizes[2]};
}

std::string text_of(const Box& box) {
  return std::to_string(box[0]) + "x" + std::to_string(box[1]) + "x" + std::to_string(box[2]);
}

}  // namespace commlens
