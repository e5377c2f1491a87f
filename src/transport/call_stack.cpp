#include "transport/call_stack.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <string_view>

#ifndef sigev_notify_thread_id  // glibc has the field, and before 2.41 no name for it
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace commlens::transport {

namespace {

int signal_number() { return SIGRTMAX - 1; }  // whoever uses such signals begins with SIGRTMIN

}  // namespace

StackSample::StackSample(std::chrono::nanoseconds delay) {
  // The first call loads a library, which a signal handler must not.
  backtrace(addresses_.data(), 1);
  struct sigaction action{};
  action.sa_sigaction = read;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  if (sigaction(signal_number(), &action, &before_) != 0) return;
  struct sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = signal_number();
  event.sigev_notify_thread_id = static_cast<pid_t>(syscall(SYS_gettid));
  event.sigev_value.sival_ptr = this;
  runs_ = timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0;
  if (!runs_) {
    sigaction(signal_number(), &before_, nullptr);
    return;
  }
  constexpr auto second = std::chrono::nanoseconds(std::chrono::seconds(1)).count();
  const itimerspec once{.it_interval = {},
                        .it_value = {.tv_sec = delay.count() / second, .tv_nsec = delay.count() % second}};
  timer_settime(timer_, 0, &once, nullptr);
}

StackSample::~StackSample() { stop(); }

void StackSample::read(int /*signal*/, siginfo_t* info, void* /*context*/) {
  auto& sample = *static_cast<StackSample*>(info->si_value.sival_ptr);
  sample.count_ = backtrace(sample.addresses_.data(), static_cast<int>(sample.addresses_.size()));
}

/// A signal that is under way to this thread reaches it before these calls return.
void StackSample::stop() {
  if (!runs_) return;
  timer_delete(timer_);
  sigaction(signal_number(), &before_, nullptr);
  runs_ = false;
}

std::vector<Frame> StackSample::finish() {
  stop();
  std::vector<Frame> frames;
  for (int i = 0; i < count_; ++i) {
    Dl_info info{};
    if (dladdr(addresses_[static_cast<std::size_t>(i)], &info) == 0) continue;
    const std::string_view path = info.dli_fname == nullptr ? "" : info.dli_fname;
    frames.push_back({info.dli_sname == nullptr ? "" : info.dli_sname, std::string(path.substr(path.rfind('/') + 1))});
  }
  return frames;
}

}  // namespace commlens::transport
