// What the user sets for a whole start of the program, whatever the benchmark.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "harness/options.hpp"
#include "measure/record.hpp"
#include "transport/mpi_library.hpp"

namespace CLI {
class App;
}

namespace commlens {

struct Settings {
  std::string transports = "all";           ///< "all", or names separated by commas
  std::optional<std::size_t> expect_ranks;  ///< not given: any number of them
  transport::ThreadLevel thread_level = transport::ThreadLevel::single;
  std::optional<device::Memory> memory;
  /// What was asked for, else the GPU's own where this process sees a GPU.
  [[nodiscard]] device::Memory chosen_memory() const {
    if (memory) return *memory;
    return device::gpu_count() > 0 ? device::Memory::device : device::Memory::host;
  }
  std::optional<measure::Timing> timing;
  std::optional<std::size_t> repeat;
  std::optional<std::size_t> warmup;
  std::optional<std::size_t> batches;
  double min_time_s = 0;
  double until_ci_percent = 0;
  std::optional<double> max_time_s;  ///< after it no batches are added; not given: 60 for --min-time and --until-ci
  bool validate = true;
  bool ceilings = true;
  bool parts = true;  ///< measure the parts of an operation too
  double timeout_s = 120;
  std::string format = "table";
  std::string record;             ///< a file to append to; empty: none
  std::string gpu_aware_mpi_off;  ///< a reason not to hand GPU memory to MPI; empty: none
};

void add_option(CLI::App& app, const std::string& name, const std::string& help, const std::string& standard,
                const Option::Parse& parse);
void add_settings(CLI::App& app, Settings& settings);
/// Throws UsageError for settings that exclude each other, or that the benchmark does not know.
void refuse_contradictions(const Settings& settings, const measure::BenchmarkDeclaration& benchmark);

/// The name that `name` is most likely a slip for; empty: none is near.
std::string nearest(const std::string& name, const std::vector<std::string>& names);

}  // namespace commlens
