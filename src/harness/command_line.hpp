// The program's command line: commlens-bench BENCHMARK [options].
#pragma once

#include <memory>
#include <string>

#include "harness/benchmark.hpp"
#include "harness/settings.hpp"

namespace commlens {

struct CommandLine {
  std::unique_ptr<Benchmark> benchmark;  ///< with its options set; nullptr: only `text` is wanted
  Settings settings;
  std::string text;  ///< help, a list, a version: what to print instead of measuring
};

/// Throws UsageError for anything that it does not understand.
CommandLine parse(int argc, char** argv);

}  // namespace commlens
