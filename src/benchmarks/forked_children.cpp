#include "benchmarks/forked_children.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "base/error.hpp"

namespace commlens {

namespace {

/// In the child. Other threads of the rank do not exist here, and may have left locks behind: system calls alone.
[[noreturn]] void sleep_until_killed(pid_t parent) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_DFL);
#ifdef __linux__
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // a rank that is killed cannot kill its children
#endif
  while (getppid() == parent) pause();
  _exit(0);
}

}  // namespace

ForkedChildren::ForkedChildren(std::size_t count) {
  const pid_t parent = getpid();
  while (children_.size() < count) {
    const pid_t child = fork();
    if (child == 0) sleep_until_killed(parent);
    if (child < 0) {
      const std::string reason = std::strerror(errno);
      end();
      throw Error("fork: " + reason + "; ask for fewer --forks");
    }
    children_.push_back(child);
  }
}

ForkedChildren::~ForkedChildren() { end(); }

void ForkedChildren::end() {
  for (const pid_t child : children_) kill(child, SIGKILL);
  for (const pid_t child : children_) waitpid(child, nullptr, 0);
  children_.clear();
}

}  // namespace commlens
