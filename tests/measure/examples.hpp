// Records of every kind, for the tests of records and reporters and for the program record_examples.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "measure/record.hpp"
#include "measure/result.hpp"

namespace commlens::measure::examples {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// Two ranks with a GPU each on one node, or without GPUs on backend `host`.
Start start_with_gpus();
Start start_without_gpus();
/// The same with the layouts of a benchmark in the classic formats.
Start with_layouts(Start start, const std::string& benchmark);

/// Samples of `median_s` times 0.98, 0.99, ... : ten of them, symmetric, so that their mean is their median.
std::vector<double> samples_around(double median_s);

/// An `ok` record with ten samples around `seconds` for one operation.
Record latency(std::int64_t bytes, const std::string& transport, const std::string& memory, double seconds);
Record bandwidth(const std::string& benchmark, std::int64_t bytes, const std::string& transport, double seconds);
Record message_rate(std::int64_t bytes, std::int64_t pairs, double seconds);
Record allreduce(std::int64_t bytes, const std::string& transport, const std::string& memory, double seconds);

/// Overlaps: products of 0.8 of the time, reductions of 0.3 and copies of 0.1 alone; a timeline of two steps; ceilings
/// of a copy and of a product.
Record overlapped(const std::string& transport, double seconds);

/// A gather-scatter with facts, a series, a report of two blocks, and a candidate for being used.
Record candidate(const std::string& transport, const std::string& configuration, double seconds);

Record skipped(Record record, const std::string& reason);
Record wrong(Record record, const std::string& reason);  ///< failed in validation, with its samples

Ceiling ceiling(const std::string& name, double seconds);

/// One of each: ok, failed, skipped; few samples; several ceilings; every type of parameter; numbers that JSON cannot
/// hold.
std::vector<Record> every_kind();

}  // namespace commlens::measure::examples
