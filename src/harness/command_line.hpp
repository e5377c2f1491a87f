// The program's command line: commlens-bench BENCHMARK [options].
#pragma once

#include <istream>
#include <memory>
#include <string>
#include <vector>

#include "harness/benchmark.hpp"
#include "harness/settings.hpp"

namespace commlens {

struct CommandLine {
  std::unique_ptr<Benchmark> benchmark;  ///< with its options set; nullptr: only `text` is wanted
  Settings settings;
  bool communicates_in_threads = false;  ///< the benchmark
  bool measures_mpi_init = false;        ///< likewise
  std::string text;                      ///< help, a list, a version: what to print instead of measuring
};

/// `words` begin with the benchmark; `program` is how messages call what the user has started. Throws UsageError for
/// anything that it does not understand.
CommandLine parse(const std::vector<std::string>& words, const std::string& program = "commlens-bench");

/// Checks command lines without running them: a suite of thousands is checked by one process, with the parser that the
/// runs have. Reads a JSON list of {"ranks": 2, "words": ["latency", "--bytes", "8"]}. Returns one of texts, each what
/// is wrong with one of them as the program would say it, or empty.
std::string check_command_lines(std::istream& input);

/// For the same list, returns a list of numbers: bytes of the buffers of a run, on the rank that has most; null for a
/// command line that is wrong.
std::string memory_of_command_lines(std::istream& input);

}  // namespace commlens
