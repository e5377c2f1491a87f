// Runs the cases of a benchmark over the transports of a start, and keeps, shows and counts their records.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <typeindex>
#include <vector>

#include "device/blas.hpp"
#include "device/device.hpp"
#include "harness/benchmark.hpp"
#include "harness/ceiling.hpp"
#include "harness/interference.hpp"
#include "harness/memory_plan.hpp"
#include "harness/monitor.hpp"
#include "harness/output.hpp"
#include "harness/run.hpp"
#include "harness/settings.hpp"
#include "measure/record.hpp"
#include "measure/result.hpp"
#include "transport/communicator.hpp"
#include "transport/transport.hpp"

namespace commlens {

/// Exit statuses of the program (docs/output.md).
enum class Exit { ok = 0, failed = 1, usage = 2, stalled = 3, nothing_ran = 4 };

/// The most that any case needs on this rank.
MemoryEstimate largest_estimate(const std::vector<CaseGroup>& groups, const transport::Communicator& communicator);

/// What the exit status and its one line on the standard error are made of.
class Tally {
 public:
  /// The variants of a case over one transport: one that ran excuses those that cannot.
  void add(std::span<const measure::Result> variants);
  /// `all_optional`: a transport that cannot run here may be skipped.
  [[nodiscard]] Exit exit_status(bool all_optional) const;
  [[nodiscard]] const std::string& complaint() const { return failed_.empty() ? skipped_ : failed_; }

 private:
  bool ran_ = false;
  std::string failed_;   ///< the first failure in words
  std::string skipped_;  ///< the first transport over which no variant of a case could run
};

class CaseLoop {
 public:
  struct Parameters {
    const Settings& settings;
    const transport::Communicator& communicator;
    device::Device& device;
    Monitor& monitor;
    Ceilings& ceilings;
    InterferenceWatch& interference;
    const measure::Start& start;
    Output* output;               ///< nullptr: another rank's task
    TimelineFile* timeline_file;  ///< likewise, or not asked for
    int blas_threads;
    double mpi_init_s;
    std::function<void(const std::exception&)> fail;  ///< ends the job: does not return
  };

  /// Collective: asks which transports are supported. `memories` are by rank.
  CaseLoop(const Parameters& parameters, std::vector<device::Memory> memories,
           const std::vector<const transport::Description*>& transports, const MemoryEstimate& estimate);
  CaseLoop(CaseLoop&&) = delete;

  /// How many there are when all groups have run.
  [[nodiscard]] std::size_t records(const std::vector<CaseGroup>& groups) const;
  /// Collective: makes the transports and allocates the memory.
  void prepare();
  /// Collective: each case over every transport.
  void run(const CaseGroup& group);
  /// Says on rank 0 what failed or was skipped.
  [[nodiscard]] Exit exit_status() const;

 private:
  /// A transport that takes part: made, or the reason why not.
  struct Participant {
    const transport::Description* description = nullptr;
    std::unique_ptr<transport::Transport> transport;
    device::Buffer arena;  ///< where the transport makes the memory of the buffers
    std::string unsupported;
    bool is_recorded = false;  ///< the reason has been recorded: once is enough for a sweep
    double setup_s = 0;
  };

  void make_transports();
  void allocate();
  [[nodiscard]] measure::Record start_record(const Case& variant, const Participant& participant) const;
  void run(const Case& variant, Participant& participant, measure::Record& record);
  /// Keeps the last of them.
  void keep(std::span<const measure::Result> results) const;
  [[nodiscard]] device::Blas& blas(device::Memory memory);

  Parameters parameters_;
  std::vector<device::Memory> memories_;
  MemoryEstimate estimate_;
  transport::Setup setup_;
  /// All buffers of a benchmark are in this one, at every size: as in an application, memory is allocated once. An MPI
  /// library that keeps what it has learned of an address (registrations, IPC handles) meets each address once. A
  /// transport that makes such memory itself has its own.
  device::Buffer arena_;
  device::Buffer staging_;  ///< likewise, for staging buffers
  double allocation_s_ = 0;
  std::vector<Participant> participants_;  ///< gone before the memory that they may have registered
  std::map<device::Memory, std::unique_ptr<device::Blas>> blas_;
  std::map<std::type_index, std::shared_ptr<void>> retained_;
  Resources resources_;
  Tally tally_;
};

}  // namespace commlens
