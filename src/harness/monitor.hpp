// Watches over a start: ends it when it stalls on all nodes, says what is going on when it takes long, and says where a
// rank was when it crashes. Only one rank of a node speaks.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "harness/activity_board.hpp"
#include "harness/node_poll.hpp"
#include "transport/communicator.hpp"

namespace commlens {

class Monitor {
 public:
  /// Collective. `timeout_s` of 0: no watchdog.
  Monitor(const transport::Communicator& communicator, const transport::Communicator& node, double timeout_s);
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;
  ~Monitor();

  /// What this rank does from now on, for messages. Counts as progress.
  static void status(const std::string& what);
  /// Something was shown to the user: the next line of progress is due two seconds from now.
  void shown();
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
