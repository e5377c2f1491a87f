// Watches over a start: ends it when it stalls on all nodes, says what is going on when it takes long, and says where a
// rank was when it crashes. Only one rank of a node speaks.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "harness/node_poll.hpp"
#include "transport/activity.hpp"
#include "transport/communicator.hpp"
#include "transport/shared_memory.hpp"

namespace commlens {

/// What the ranks of a node are doing, in memory that they share: the rank that notices a stall can print where all of
/// them were, even if one of them has been stopped.
class ActivityBoard {
 public:
  /// Collective over the ranks of a node. Where they cannot share memory (a page each is needed), each has a board of
  /// its own, with its own place only.
  explicit ActivityBoard(const transport::Communicator& node);

  [[nodiscard]] bool is_shared() const { return shared_ != nullptr; }
  [[nodiscard]] Activity& place(int index) const { return at(index).activity; }
  [[nodiscard]] Activity& this_rank() const { return place(is_shared() ? rank_ : 0); }
  /// 0 until somebody has spoken for the ranks of the board.
  [[nodiscard]] std::atomic<int>& spoken() const { return at(0).spoken; }
  /// True for the first to ask.
  [[nodiscard]] bool may_speak() const;

 private:
  /// What a rank has on the board. Of the first rank's `spoken` is used.
  struct Place {
    alignas(64) std::atomic<int> spoken{0};
    Activity activity;
  };
  [[nodiscard]] Place& at(int index) const;

  int rank_;
  std::unique_ptr<transport::SharedMemory> shared_;
  std::unique_ptr<Place> private_;  ///< where nothing is shared
};

/// Ends all ranks of MPI_COMM_WORLD with this status, after what this rank has written; also where MPI_Abort, called
/// while another thread is inside MPI, does not return.
[[noreturn]] void end_job(int status);

class Monitor {
 public:
  /// Collective. `timeout_s` of 0: no watchdog.
  Monitor(const transport::Communicator& communicator, const transport::Communicator& node, double timeout_s);
  ~Monitor();

  /// What this rank does from now on, for messages. Counts as progress.
  static void status(const std::string& text);
  /// Something was shown to the user: the next line of progress is due two seconds from now.
  void shown() { last_shown_ = Clock::now(); }
  /// Ends the job with `status` and, if no rank of this node has spoken yet, the message. Does not return.
  [[noreturn]] void abort(const std::string& message, int status);

 private:
  using Clock = std::chrono::steady_clock;
  /// A rank whose place is on the board.
  struct Member {
    int rank = 0;
    int process = 0;  ///< 0: it cannot be looked at from here
  };

  /// Collective over the ranks of the node.
  [[nodiscard]] std::vector<Member> find_members(const transport::Communicator& node) const;
  [[nodiscard]] std::vector<int> watched(const transport::Communicator& node) const;
  void watch(const std::stop_token& stop);
  void look_for_progress();
  [[nodiscard]] bool is_stalled() const { return Clock::now() - last_progress_ > timeout_; }
  void show_progress(Clock::time_point now);
  [[nodiscard]] NodeReport report() const;
  /// Unless ranks of other nodes have made progress, or see to it.
  void end_stalled(const std::stop_token& stop);
  void kill_stopped_later() const;

  const transport::Communicator& communicator_;
  std::chrono::duration<double> timeout_;
  ActivityBoard board_;
  std::vector<Member> members_;  ///< by their places on the board
  NodePoll poll_;
  std::vector<std::uint64_t> seen_;  ///< the heartbeats of the members
  Clock::time_point last_progress_;  ///< of any of them
  std::atomic<Clock::time_point> last_shown_;
  bool progress_line_ = false;
  std::jthread thread_;  ///< last: it uses all of the above
};

}  // namespace commlens
