// Numbers for people, written as Python writes them (python/commlens/base/text.py): tests/formats.txt holds the two
// together.
#pragma once

#include <cstdint>
#include <string>

#include "measure/statistics.hpp"

namespace commlens::measure {

/// Four significant digits: "0.01234", "14.62", "1,234,567"; an exponent from 1e9 on: "2.828e9".
std::string format_number(double value);

/// "14.62 us [14.55, 14.80]", or "14.62 us [3 samples]" without an interval.
std::string with_interval(const Statistics& statistics, const std::string& unit);

/// "63%"; below a tenth with two digits, "3.2%".
std::string format_percent(double fraction);

/// Of a ceiling: "63%", below one percent "1/250".
std::string format_fraction(double fraction);

/// Binary units and three digits: "1 B", "512 KiB", "76.3 MiB".
std::string format_bytes(double bytes);

/// "1 rank", "2 ranks"
std::string counted(std::size_t count, const std::string& noun);

}  // namespace commlens::measure
