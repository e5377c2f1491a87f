// One start of the program on one rank: who takes part, on which devices, over which transports; it runs a benchmark's
// cases and hands the records to the reporter and the file.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "harness/benchmark.hpp"
#include "harness/ceiling.hpp"
#include "harness/monitor.hpp"
#include "harness/settings.hpp"
#include "harness/trace_file.hpp"
#include "measure/record.hpp"
#include "transport/communicator.hpp"
#include "transport/transport.hpp"

namespace commlens {

/// Exit statuses of the program (docs/records.md).
enum class Exit { ok = 0, failed = 1, usage = 2, stalled = 3, nothing_ran = 4 };

class Session {
 public:
  /// Collective. `device` is this rank's, nullptr where it was not known before MPI_Init; `command` is the program's
  /// own, for the record.
  Session(Settings settings, std::unique_ptr<device::Device> device, std::vector<std::string> command);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  /// All cases of a benchmark over all transports. Collective. Throws UsageError on all ranks alike, before anything is
  /// allocated, for a request that cannot be met.
  Exit execute(Benchmark& benchmark, const std::string& name);

  /// Ends the whole job with an error of this rank.
  [[noreturn]] void fail(const std::exception& error);

  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] const transport::Communicator& communicator() const { return communicator_; }
  [[nodiscard]] device::Device& device() { return *device_; }
  [[nodiscard]] Monitor& monitor() { return *monitor_; }
  [[nodiscard]] Ceilings& ceilings() { return *ceilings_; }
  /// Matrix products in this memory: made when first asked for.
  [[nodiscard]] device::Blas& blas(device::Memory memory);
  /// Of any rank's buffers in the benchmark at hand.
  [[nodiscard]] device::Memory memory_of(int rank) const { return memories_.at(static_cast<std::size_t>(rank)); }

 private:
  class Output;
  struct Tally;
  /// A transport that takes part in a benchmark: made, or the reason why not.
  struct Carrier {
    const transport::Kind* kind = nullptr;
    std::unique_ptr<transport::Transport> transport;
    std::string unfit;
    bool told = false;  ///< why it is unfit has been recorded: once is enough for a sweep
    double setup_s = 0;
  };

  void choose_memories(Benchmark& benchmark);
  [[nodiscard]] std::string store_of(device::Memory memory) const;
  /// Bytes of the memory that are free for all that share it, less what MPI and the GPU's runtime want.
  [[nodiscard]] double free_bytes(device::Memory memory) const;
  [[nodiscard]] Room room() const;
  void open_trace(const std::string& path);
  [[nodiscard]] std::vector<const transport::Kind*> chosen_kinds() const;
  [[nodiscard]] Footprint largest_footprint(Benchmark& benchmark) const;
  void require_memory(Benchmark& benchmark, const std::vector<const transport::Kind*>& kinds) const;
  [[nodiscard]] std::vector<Carrier> make_carriers(const std::vector<const transport::Kind*>& kinds);
  [[nodiscard]] measure::Record start_record(Benchmark& benchmark, const std::string& name,
                                             const Carrier& carrier) const;
  void allocate(Benchmark& benchmark);
  void run_case(Benchmark& benchmark, Carrier& carrier, measure::Record& record);
  /// One case over every transport that takes part.
  void run_group(Benchmark& benchmark, const std::string& name, std::vector<Carrier>& carriers, Tally& tally);
  [[nodiscard]] std::string memory_text() const;
  [[nodiscard]] Exit conclude(const Tally& tally) const;

  Settings settings_;
  transport::Communicator communicator_;
  transport::Communicator node_;
  std::unique_ptr<device::Device> device_;
  std::unique_ptr<Monitor> monitor_;
  std::unique_ptr<Ceilings> ceilings_;
  measure::RunInformation information_;
  std::unique_ptr<Output> output_;
  std::unique_ptr<TraceFile> trace_file_;  ///< on rank 0, if there is one
  std::vector<device::Memory> memories_;   ///< by rank
  /// All buffers of a benchmark lie in this one, at every size: as in an application, memory is allocated once. An MPI
  /// library that keeps what it has learned of an address (registrations, IPC handles) meets each address once.
  device::Buffer arena_;
  device::Buffer staging_;  ///< likewise, for staging buffers
  std::map<device::Memory, std::unique_ptr<device::Blas>> blas_;
  double allocation_s_ = 0;
};

}  // namespace commlens
