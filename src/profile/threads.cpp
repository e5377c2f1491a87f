#include "threads.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace commlens::profile {
namespace {

bool has_ended(pid_t thread) { return syscall(SYS_tgkill, getpid(), thread, 0) != 0 && errno == ESRCH; }

}  // namespace

constinit thread_local Thread* Threads::current_ = nullptr;

Thread& Threads::claim() {
  const auto id = static_cast<pid_t>(syscall(SYS_gettid));
  const int error = errno;
  const ScopedLock lock(lock_);
  const int used = used_.load(std::memory_order_relaxed);
  int index = 0;
  while (index < used && threads_[index].id != id && !has_ended(threads_[index].id)) ++index;
  errno = error;
  if (index == max_threads) return overflow_;
  Thread& thread = threads_[index];
  thread.id = id;
  thread.function = 0;
  thread.exchange = {};
  thread.open_regions = 0;
  if (index == used) used_.store(used + 1, std::memory_order_release);
  return thread;
}

}  // namespace commlens::profile
