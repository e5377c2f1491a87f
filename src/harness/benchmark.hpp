// How a benchmark is known to the program: one line at the end of its file.
//
//   BENCHMARK("allreduce", "sum an array over all ranks", allreduce, AllreduceOptions);
//
// Its options are a struct with
//   void describe(OptionSet&)                        names them;
//   void settle(int ranks)                           completes defaults that depend on the ranks, and throws
//                                                    UsageError for what does not fit together;
//   Footprint footprint(int rank, int ranks) const   what the current case needs, so that it is refused before it
//   allocates; device::Memory memory(int rank, int ranks, device::Memory chosen) const
//                                                    where a rank's buffers lie (`chosen` is --memory): it may differ
//                                                    between the first and the second half of the ranks.
// A struct that fits the case to the machine has also
//   std::vector<std::string> fit(const Room&, int ranks)
//                                                    which chooses what depends on the memory at hand and returns what
//                                                    it chose, in sentences for the user; it throws UsageError for a
//                                                    case that is too large.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "harness/options.hpp"
#include "harness/run.hpp"

namespace commlens {

/// "5.3 GiB"
std::string binary_bytes(double bytes);

/// What one case needs on one rank, in bytes; in floating point, because a request beyond any machine must not wrap
/// around.
struct Footprint {
  double buffers = 0;    ///< all that it will ask of Run::buffer()
  double staging = 0;    ///< all that it will ask of Run::staging_buffer()
  double operation = 0;  ///< the most that one operation of the transport moves: what `staged` copies
};

/// The bytes that a rank may use, the least over the ranks.
struct Room {
  double buffers = 0;   ///< of the memory in which buffers lie
  double host = 0;      ///< of host memory, where staging lies; the same bytes where the buffers lie there too
  bool on_gpu = false;  ///< the two are different memories

  [[nodiscard]] bool holds(const Footprint& footprint) const {
    const double staging = footprint.staging + footprint.operation;
    if (on_gpu) return footprint.buffers <= buffers && staging <= host;
    return footprint.buffers + staging <= host;
  }
};

/// A benchmark with the options of one start of the program.
class Benchmark {
 public:
  virtual ~Benchmark() = default;
  [[nodiscard]] virtual OptionSet& options() = 0;
  virtual void settle(int ranks) = 0;
  virtual std::vector<std::string> fit(const Room& room, int ranks) = 0;
  [[nodiscard]] virtual Footprint footprint(int rank, int ranks) const = 0;
  [[nodiscard]] virtual device::Memory memory(int rank, int ranks, device::Memory chosen) const = 0;
  virtual void run(Run& run) const = 0;
};

struct BenchmarkDescription {
  std::string name;
  std::string help;
  std::function<std::unique_ptr<Benchmark>()> make;
};

/// All that are linked in, by name.
const std::vector<BenchmarkDescription>& benchmarks();

struct BenchmarkRegistration {
  explicit BenchmarkRegistration(BenchmarkDescription description);
};

template <class Options>
class BenchmarkOf final : public Benchmark {
 public:
  using Body = void (*)(Run&, const Options&);

  explicit BenchmarkOf(Body body) : body_(body) { values_.describe(set_); }

  [[nodiscard]] OptionSet& options() override { return set_; }
  void settle(int ranks) override { values_.settle(ranks); }
  std::vector<std::string> fit(const Room& room, int ranks) override {
    if constexpr (requires { values_.fit(room, ranks); }) return values_.fit(room, ranks);
    return {};
  }
  [[nodiscard]] Footprint footprint(int rank, int ranks) const override { return values_.footprint(rank, ranks); }
  [[nodiscard]] device::Memory memory(int rank, int ranks, device::Memory chosen) const override {
    return values_.memory(rank, ranks, chosen);
  }
  void run(Run& run) const override { body_(run, values_); }

 private:
  Options values_;
  OptionSet set_;
  Body body_;
};

#define BENCHMARK(name, help, body, Options)                             \
  const ::commlens::BenchmarkRegistration registration_of_##body {       \
    {                                                                    \
      name, help, []() -> std::unique_ptr<::commlens::Benchmark> {       \
        return std::make_unique<::commlens::BenchmarkOf<Options>>(body); \
      }                                                                  \
    }                                                                    \
  }

}  // namespace commlens
