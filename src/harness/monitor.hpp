// Watches over a start: ends it when it stalls, says what is going on when it takes long, and says where a rank was
// when it crashes. Only one rank of a node speaks.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "harness/activity_board.hpp"
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
  void watch(const std::stop_token& stop);
  void show_progress(std::chrono::steady_clock::time_point now);
  [[nodiscard]] std::string what_ranks_did() const;
  [[noreturn]] void end_stalled();

  const transport::Communicator& communicator_;
  std::chrono::duration<double> timeout_;
  ActivityBoard board_;
  std::atomic<std::chrono::steady_clock::time_point> last_shown_;
  bool progress_line_ = false;
  std::jthread thread_;  ///< last: it uses all of the above
};

}  // namespace commlens
