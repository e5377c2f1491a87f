// Watches over a run from a thread of each rank: ends it when it stalls, says what is going on when it takes long, and
// says where it was when it crashes.
//
// The ranks of a node keep what they are doing (transport/activity.hpp) in memory that they share. So whichever rank
// notices a stall can say where all of its node were, even if one of them has been stopped. Only one rank of a node
// speaks.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include "transport/activity.hpp"
#include "transport/communicator.hpp"

namespace commlens {

class Monitor {
 public:
  /// Collective. `timeout_s` of 0: no watchdog.
  Monitor(const transport::Communicator& communicator, const transport::Communicator& node, double timeout_s);
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;
  ~Monitor();  ///< collective

  /// What this rank does from now on, for messages.
  static void doing(const std::string& what);
  /// Something was shown to the user: the next sign of progress is due two seconds from now.
  void shown();
  /// Ends the job with `status` and, if no rank of this node has spoken yet, the message. Does not return.
  [[noreturn]] void abort(const std::string& message, int status);

 private:
  struct Board;

  void watch(const std::stop_token& stop);
  void show_progress(std::chrono::steady_clock::time_point now);
  [[noreturn]] void end_stalled();

  const transport::Communicator& communicator_;
  const transport::Communicator& node_;
  std::chrono::duration<double> timeout_;
  MPI_Win window_ = MPI_WIN_NULL;
  Board* board_ = nullptr;  ///< of the node, in the window
  std::atomic<std::chrono::steady_clock::time_point> last_shown_;
  bool progress_line_ = false;
  std::jthread thread_;  ///< last: it uses all of the above
};

}  // namespace commlens
