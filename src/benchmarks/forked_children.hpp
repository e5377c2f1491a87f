// Children of a rank that were forked after MPI's initialization, as of applications that start helpers so.
//
// They sleep, make no MPI call, and are killed in the end. What they change: the pages of the rank are shared with them
// until it writes to them, which copies them, and for MPI libraries that register memory with a network that matters.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <vector>

namespace commlens {

class ForkedChildren {
 public:
  /// Throws Error where the system allows no more processes.
  explicit ForkedChildren(std::size_t count);
  ForkedChildren(ForkedChildren&&) = delete;
  ~ForkedChildren();

 private:
  void end();

  std::vector<pid_t> children_;
};

}  // namespace commlens
