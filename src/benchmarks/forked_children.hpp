// Children that a rank forks after MPI's initialization, as some applications do.
//
// They sleep, make no MPI call, and are killed in the end. A page of the rank is shared with them until the rank writes
// to it and it is copied. MPI libraries that register memory with a network adapter must handle that.
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
