// How a benchmark is known to the program: one line at the end of its file.
//
//   BENCHMARK("allreduce", "sum an array over all ranks", allreduce, AllreduceOptions,
//             .metrics = {time_us, bus_bandwidth_GBps});
//
// Its options are a struct with
//   void describe(OptionSet&)                      names them.
// and, each only where the benchmark needs it,
//   void resolve(int ranks)                        completes defaults that depend on the ranks, and throws UsageError
//                                                  for what does not fit together;
//   std::vector<std::string> scale_to_memory(const MemoryBudget&, int ranks)
//                                                  chooses what depends on the memory at hand and returns what it
//                                                  chose, in sentences for the user; throws UsageError for what is too
//                                                  large;
//   MemoryEstimate memory_estimate(int rank, int ranks) const
//                                                  an upper estimate of what a case needs. Without it, two buffers of
//                                                  the size in bytes that the options sweep over;
//   device::Memory memory(int rank, int ranks, device::Memory chosen) const
//                                                  where a rank's buffers are (`chosen` is --memory).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/device.hpp"
#include "harness/memory_plan.hpp"
#include "harness/options.hpp"
#include "harness/run.hpp"
#include "measure/declarations.hpp"

namespace commlens {

// What a benchmark's metrics and facts are declared with.
namespace unit = measure::unit;
using measure::Better;
using measure::Fact;
using measure::Metric;
using measure::time_us;

/// One set of parameters, with which the benchmark is run over each transport. Immutable.
class Case {
 public:
  virtual ~Case() = default;
  [[nodiscard]] virtual const measure::Parameters& parameters() const = 0;
  [[nodiscard]] virtual MemoryEstimate memory_estimate(int rank, int ranks) const = 0;
  virtual void run(Run& run) const = 0;
};

/// The cases of one size: as many as there are choices to compare.
using CaseGroup = std::vector<std::unique_ptr<const Case>>;

/// A benchmark with the options of one start of the program.
class Benchmark {
 public:
  virtual ~Benchmark() = default;
  [[nodiscard]] virtual const OptionSet& options() const = 0;
  /// `hosts` are by rank; none: not known yet.
  virtual void resolve(int ranks, const std::vector<std::string>& hosts) = 0;
  void resolve(int ranks) { resolve(ranks, {}); }
  virtual std::vector<std::string> scale_to_memory(const MemoryBudget& budget, int ranks) = 0;
  [[nodiscard]] virtual device::Memory memory(int rank, int ranks, device::Memory chosen) const = 0;
  /// One group for each size of the sweep, or one in all. After resolve() and scale_to_memory().
  [[nodiscard]] virtual std::vector<CaseGroup> cases() const = 0;
  [[nodiscard]] virtual measure::BenchmarkDeclaration declaration() const = 0;
};

struct BenchmarkDescription {
  std::string name;
  std::string help;
  std::function<std::unique_ptr<Benchmark>(const BenchmarkDescription&)> maker;
  std::vector<measure::Metric> metrics;         ///< all that its records may have; the first is the main metric
  std::vector<measure::Fact> facts;             ///< likewise
  bool divides_work = false;                    ///< the ranks divide the work of one problem: tables of --scaling
  std::vector<measure::ClassicLayout> classic;  ///< how --format osu and dftfe print it
  bool communicates_in_threads = false;         ///< MPI is asked for MPI_THREAD_MULTIPLE, and may provide less
  bool measures_mpi_init = false;               ///< nothing that makes it faster may come before it

  [[nodiscard]] std::unique_ptr<Benchmark> make() const { return maker(*this); }
  /// With all parameters that `options` can have.
  [[nodiscard]] measure::BenchmarkDeclaration declaration(const OptionSet& options) const {
    return {name, help, options.declarations(), metrics, facts, divides_work, classic};
  }
};

/// All that are linked in, by name.
const std::vector<BenchmarkDescription>& benchmarks();

struct BenchmarkRegistration {
  explicit BenchmarkRegistration(BenchmarkDescription description);
};

template <class Options>
using Body = void (*)(Run&, const Options&);

template <class Options>
class CaseOf final : public Case {
 public:
  /// `size`: an index into the sweep's values, `choice`: into the choices'. `like` are the options of the whole start.
  CaseOf(Options options, Body<Options> body, const OptionSet& like, std::size_t size, std::size_t choice)
      : options_(std::move(options)), body_(body) {
    OptionSet set;
    options_.describe(set);
    if (set.sweep() != nullptr && !set.sweep()->empty()) set.sweep()->values = {set.sweep()->values.at(size)};
    if (set.choices() > 1) set.choose(choice);
    parameters_ = set.parameters();
    const auto declared = like.declarations();
    for (measure::Parameter& parameter : parameters_) {
      for (const auto& declaration : declared) {
        if (declaration.name == parameter.name) parameter.role = declaration.role;
      }
    }
    if (set.sweeps_bytes()) bytes_ = set.sweep()->largest();
  }

  [[nodiscard]] const measure::Parameters& parameters() const override { return parameters_; }
  [[nodiscard]] MemoryEstimate memory_estimate(int rank, int ranks) const override {
    if constexpr (requires { options_.memory_estimate(rank, ranks); }) {
      return options_.memory_estimate(rank, ranks);
    } else {
      const auto two_buffers = 2 * static_cast<double>(bytes_);
      return {.buffers = two_buffers, .operation = two_buffers};
    }
  }
  void run(Run& run) const override { body_(run, options_); }

 private:
  Options options_;
  Body<Options> body_;
  measure::Parameters parameters_;
  std::size_t bytes_ = 0;
};

template <class Options>
class BenchmarkOf final : public Benchmark {
 public:
  BenchmarkOf(BenchmarkDescription description, Body<Options> body, Options defaults = {})
      : description_(std::move(description)), values_(std::move(defaults)), body_(body) {
    values_.describe(set_);
  }

  [[nodiscard]] const OptionSet& options() const override { return set_; }
  using Benchmark::resolve;
  void resolve(int ranks, const std::vector<std::string>& hosts) override {
    if constexpr (requires { values_.resolve(ranks); }) values_.resolve(ranks);
    if constexpr (requires { values_.resolve(ranks, hosts); }) values_.resolve(ranks, hosts);
    describe_again();
  }
  std::vector<std::string> scale_to_memory(const MemoryBudget& budget, int ranks) override {
    std::vector<std::string> notes;
    if constexpr (requires { values_.scale_to_memory(budget, ranks); }) notes = values_.scale_to_memory(budget, ranks);
    describe_again();
    return notes;
  }
  [[nodiscard]] device::Memory memory(int rank, int ranks, device::Memory chosen) const override {
    if constexpr (requires { values_.memory(rank, ranks, chosen); }) return values_.memory(rank, ranks, chosen);
    return chosen;
  }
  [[nodiscard]] std::vector<CaseGroup> cases() const override {
    const bool sweeps = set_.sweep() != nullptr && !set_.sweep()->empty();
    std::vector<CaseGroup> groups(sweeps ? set_.sweep()->values.size() : 1);
    for (std::size_t size = 0; size < groups.size(); ++size) {
      for (std::size_t choice = 0; choice < set_.choices(); ++choice) {
        groups[size].push_back(std::make_unique<CaseOf<Options>>(values_, body_, set_, size, choice));
      }
    }
    return groups;
  }
  [[nodiscard]] measure::BenchmarkDeclaration declaration() const override { return description_.declaration(set_); }

 private:
  /// A role may depend on what the user has given.
  void describe_again() {
    set_ = {};
    values_.describe(set_);
  }

  BenchmarkDescription description_;
  Options values_;
  OptionSet set_;
  Body<Options> body_;
};

// NOLINTBEGIN(cppcoreguidelines-macro-usage): a registration is to be one line
#define BENCHMARK(name_of_it, help_of_it, body, Options, ...)                                                      \
  const ::commlens::BenchmarkRegistration registration_of_##body {                                                 \
    ::commlens::BenchmarkDescription {                                                                             \
      .name = name_of_it, .help = help_of_it,                                                                      \
      .maker = [](const ::commlens::BenchmarkDescription& description) -> std::unique_ptr<::commlens::Benchmark> { \
        return std::make_unique<::commlens::BenchmarkOf<Options>>(description, body);                              \
      },                                                                                                           \
      __VA_ARGS__                                                                                                  \
    }                                                                                                              \
  }
// NOLINTEND(cppcoreguidelines-macro-usage)

}  // namespace commlens
