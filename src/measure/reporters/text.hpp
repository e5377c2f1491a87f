// What the text reporters share: words and numbers for people, and what distinguishes the cases of a sweep.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "measure/result.hpp"

namespace commlens::measure {

/// The version of commlens that wrote the records, "unknown" where the start does not say.
std::string commlens_version(const Start& start);

/// The value of an integer parameter, if the record has it.
std::optional<std::int64_t> integer_parameter(const Record& record, std::string_view name);

/// The record's metric of that name, or nullptr.
const CaseMetric* find_metric(const Record& record, std::string_view name);

/// Of the samples, in seconds: OSU's programs and nccl-tests print means.
double mean_time(const Record& record);

/// The parameters that stay the same along a sweep over sizes and variants, as "window=64, pairs=1".
std::string settings_of(const Record& record);

/// Text on one line: line breaks, which a library's error message may hold, become "; ".
std::string single_line(std::string_view text);

/// "failed: the reason" or "skipped: the reason", on one line.
std::string complaint(const Outcome& outcome);

/// "device:host" is {"device", "host"}, "device" is {"device", "device"}.
std::pair<std::string, std::string> memory_sides(const std::string& memory);

/// What runs where, each line with "# " before it: libraries, ranks, GPUs, notes.
std::string header_of(const Start& start);

}  // namespace commlens::measure
