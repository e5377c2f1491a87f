// Numbers for people, written as Python writes them (python/commlens/base/text.py): tests/formats.txt holds the two
// together.
#pragma once

#include <cstddef>
#include <string>

namespace commlens {

/// Four significant digits: "0.01234", "14.62", "1,234,567"; an exponent from 1e9 on: "2.828e9".
std::string format_number(double value);

/// "63%"; below a tenth with two digits, "3.2%".
std::string format_percent(double fraction);

/// Of a ceiling: "63%", below one percent "< 1%"; never more than 100%.
std::string format_fraction(double fraction);

/// Binary units and three digits: "1 B", "512 KiB", "76.3 MiB".
std::string format_bytes(double bytes);

/// "1 rank", "2 ranks"
std::string counted(std::size_t count, const std::string& noun);

}  // namespace commlens
