// One start of the program on one rank: who takes part, on which devices. It resolves a benchmark's options, plans its
// memory, and has its cases run.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "harness/benchmark.hpp"
#include "harness/case_loop.hpp"
#include "harness/ceiling.hpp"
#include "harness/interference.hpp"
#include "harness/monitor.hpp"
#include "harness/output.hpp"
#include "harness/settings.hpp"
#include "measure/record.hpp"
#include "transport/communicator.hpp"
#include "transport/transport.hpp"

namespace commlens {

class Session {
 public:
  /// Collective. `device` is this rank's; `command` is the program's own, for the record.
  Session(Settings settings, std::unique_ptr<device::Device> device, std::vector<std::string> command,
          double mpi_init_s);
  Session(Session&&) = delete;

  /// All cases of a benchmark over all transports. Collective. Throws UsageError on all ranks alike, before anything is
  /// allocated, for a request that cannot be met.
  Exit execute(Benchmark& benchmark);

  /// Ends the whole job with an error of this rank.
  [[noreturn]] void fail(const std::exception& error);

 private:
  void describe_start(std::vector<std::string> command);
  void open_output();
  /// Where each rank's buffers are.
  [[nodiscard]] std::vector<device::Memory> choose_memories(const Benchmark& benchmark) const;
  [[nodiscard]] std::vector<const transport::Description*> choose_transports() const;
  static void require_memory(const Benchmark& benchmark, const MemoryPlan& plan, const MemoryEstimate& estimate,
                             const std::vector<const transport::Description*>& transports);
  [[nodiscard]] std::unique_ptr<TimelineFile> open_timeline(const std::string& path) const;

  Settings settings_;
  double mpi_init_s_;  ///< what MPI_Init_thread has taken on this rank
  transport::Communicator communicator_;
  transport::Communicator node_;
  std::unique_ptr<device::Device> device_;
  std::unique_ptr<Monitor> monitor_;
  std::unique_ptr<Ceilings> ceilings_;
  std::unique_ptr<InterferenceWatch> interference_;
  measure::Start start_;
  measure::Placement placement_;  ///< this rank's
  int blas_threads_ = 1;
  std::unique_ptr<Output> output_;  ///< on rank 0 alone
};

}  // namespace commlens
