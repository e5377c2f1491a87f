// What the program says of itself: its benchmarks, their options, metrics and facts, and what the build has.
#pragma once

#include <string>

namespace commlens::listing {

std::string benchmarks_text();
/// For programs: every benchmark with its options and their defaults, its metrics and its facts.
std::string benchmarks_json();

/// Every benchmark's metrics and facts: name, unit, direction, definition.
std::string metrics_json();
/// The same as the tables of docs/records-reference.md.
std::string metrics_markdown();

/// For programs: what this build has and what this machine has for it. Needs no MPI_Init.
std::string about_json();

}  // namespace commlens::listing
