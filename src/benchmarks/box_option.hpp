// The sizes of a box in x, y and z, as an option says them.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace commlens {

using Box = std::array<std::size_t, 3>;

/// "125,125,100" or "125x125x100". Throws UsageError naming `option`.
std::vector<std::size_t> parse_extents(const std::string& option, std::string text);
/// "125" for a cube, "125,125,100" or "125x125x100"; of at most 1M each. Throws UsageError naming `option`, which
/// counts `things`.
Box parse_box(const std::string& option, const std::string& text, const std::string& things);

/// "125x125x100"
std::string text_of(const Box& box);

}  // namespace commlens
