// When a rank was in which call of a replay, and what it did there: what wait states and the critical path follow from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace commlens::replay {

/// On a clock that all ranks have in common.
struct LoggedCall {
  double enter_s = 0;
  double exit_s = 0;
  bool found_nothing = false;  ///< a test or a probe without result
};

enum class Action : std::uint8_t {
  send,  ///< MPI decides whether it waits for the receive
  synchronous_send,
  buffered_send,
  receive,
  probe,
  all_to_all,   ///< a collective that no rank can complete before all have begun it
  all_to_root,  ///< likewise, but for the root alone
  root_to_all,  ///< no rank can complete it before the root has begun it
  scan,         ///< no rank before those that are before it in the communicator
  neighbors,    ///< no rank before those that it receives from
};

constexpr bool is_send(Action action) { return action <= Action::buffered_send; }
constexpr bool is_message(Action action) { return action <= Action::probe; }

/// A message or a collective, as one rank takes part in it. Ranks are those of MPI_COMM_WORLD.
struct Operation {
  static constexpr std::uint32_t never = UINT32_MAX;
  static constexpr std::uint64_t unknown = UINT64_MAX;

  Action action = Action::send;
  std::uint64_t communicator = 0;  ///< its id, the same on all ranks
  /// Of the message among those with this communicator, sender, receiver and tag; or of the collective.
  std::uint64_t number = unknown;
  std::int32_t peer = -1;  ///< the other rank, or the root
  std::int32_t tag = 0;
  std::int32_t place = 0;           ///< this rank in the communicator
  std::uint32_t begin = 0;          ///< number of the call that begins it
  std::uint32_t end = never;        ///< of that in which it completes
  std::uint32_t sources_begin = 0;  ///< of neighbors: in RankLog::sources
  std::uint32_t sources_end = 0;
};

/// Of one rank.
struct RankLog {
  double start_s = 0;
  double end_s = 0;
  std::vector<LoggedCall> calls;
  std::vector<Operation> operations;  ///< in the order of their begins
  std::vector<std::int32_t> sources;  ///< of collectives of neighbors
};

/// The first `calls` calls, and what they begin.
void keep_calls(RankLog& log, std::size_t calls);
/// What is before this time: a call that has begun ends there.
void keep_until(RankLog& log, double time_s);

/// A call of a rank.
struct CallOf {
  static constexpr std::int32_t nobody = -1;

  std::int32_t rank = nobody;
  std::uint32_t call = 0;

  explicit operator bool() const { return rank != nobody; }
};

}  // namespace commlens::replay
