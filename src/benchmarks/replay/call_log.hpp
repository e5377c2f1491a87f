// Keeps a rank's calls of a replay, with what they do in terms that all ranks share.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "benchmarks/replay/message_order.hpp"
#include "benchmarks/replay/observer.hpp"
#include "benchmarks/replay/rank_log.hpp"
#include "benchmarks/replay/world_ranks.hpp"

namespace commlens::replay {

class CallLog final : public Observer {
 public:
  /// Of communicators that have one number in this rank's trace and as many ranks, one after the other.
  struct Communicator {
    std::uint64_t id = 0;  ///< of the first, the same on all ranks
    double seconds = 0;    ///< in calls on them
  };
  using CommunicatorName = std::pair<std::int64_t, std::int64_t>;  ///< its number, its ranks

  /// Of the first `most_calls` calls, with at most twice as many operations.
  CallLog(MPI_Comm world, bool has_wildcards, std::size_t most_calls);

  void start();
  /// After the last call.
  void finish();
  [[nodiscard]] RankLog& log() { return log_; }
  [[nodiscard]] bool is_full() const { return is_full_; }
  [[nodiscard]] const std::map<CommunicatorName, Communicator>& communicators() const { return communicators_; }

  void entered(const Arguments& call) override;
  void left() override;
  Ticket begin(const Arguments& call, CommunicatorEntry& communicator, const Shape& shape, const Need& bytes) override;
  void begin_again(const Arguments& call, CommunicatorEntry& communicator, Ticket& ticket, const Need& bytes) override;
  void probed(const Arguments& call, const CommunicatorEntry& communicator, const Shape& shape,
              const MPI_Status& status) override;
  Ticket matched(const Arguments& call, const CommunicatorEntry& communicator, const Shape& shape,
                 const MPI_Status& status) override;
  void end(const Arguments& call, const Ticket& ticket, const MPI_Status& status) override;

 private:
  [[nodiscard]] bool has_room();
  void add(const Arguments& call, CommunicatorEntry& communicator, Ticket& ticket);
  void add_messages(const Arguments& call, const CommunicatorEntry& communicator, Ticket& ticket);
  void add_collective(const Arguments& call, CommunicatorEntry& communicator, Ticket& ticket);
  void add_sources(const CommunicatorEntry& communicator, const Shape& shape, Operation& operation);
  void add_probed(Action action, const Channel& from, const CommunicatorEntry& communicator, const Shape& shape,
                  std::optional<std::uint64_t> number);
  void is_in(std::int64_t number, std::int64_t ranks, std::uint64_t id);
  void count_last_call();
  [[nodiscard]] std::uint32_t next_call() const { return static_cast<std::uint32_t>(log_.calls.size()); }

  WorldRanks world_ranks_;
  MessageOrder order_;
  std::size_t most_calls_;
  bool is_full_ = false;
  RankLog log_;
  std::map<std::uint64_t, std::pair<std::uint32_t, std::uint32_t>> sources_;  ///< by communicator, in the log
  std::map<CommunicatorName, Communicator> communicators_;
  CommunicatorName communicator_ = nowhere;  ///< of the last call
  std::uint64_t id_ = 0;                     ///< likewise
  const Arguments* last_ = nullptr;
  std::size_t counted_ = 0;  ///< calls that are in communicators_

  static constexpr CommunicatorName nowhere{-1, 0};
};

}  // namespace commlens::replay
