// What NCCL selects for a collective: it tells a profiler plugin, which is the program itself.
#pragma once

#include <functional>

#include "transport/selection.hpp"

namespace commlens::transport {

/// While it exists, a communicator that is made looks for the plugin in the program, unless a user has named another
/// one. The plugin is told of nothing but by selected_by_ccl().
class CclProfiler {
 public:
  /// `version` is that of ncclGetVersion(): before 2.27 NCCL has other plugins.
  explicit CclProfiler(int version);
  CclProfiler(CclProfiler&&) = delete;
  ~CclProfiler();

 private:
  bool is_ours_;  ///< the variable
};

/// The algorithm, protocol and channels of the last collective that `operate` enqueues; empty: NCCL does not tell, or
/// there is none.
Selection selected_by_ccl(const std::function<void()>& operate);

}  // namespace commlens::transport
