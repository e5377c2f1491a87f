// Benchmarks that go wrong, or have page faults, on purpose, in the real harness: what a user sees then is what the
// tests look at.
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <thread>

#include "base/error.hpp"
#include "harness/benchmark.hpp"

namespace commlens {
namespace {

struct FaultOptions {
  Sizes bytes{4, 64};
  std::size_t at = 16;      ///< the size at which it goes wrong
  std::size_t on_rank = 1;  ///< the rank on which it does

  void describe(OptionSet& options) {
    options.add("bytes", bytes, "sizes");
    options.add("at", at, "the size at which it goes wrong");
    options.add("on-rank", on_rank, "the rank on which it does, from 1");
  }
};

/// Barriers, until the size and the rank come at which `fault` happens.
void run_until(Run& run, const FaultOptions& options, const std::function<void()>& fault) {
  const bool due = options.bytes == options.at && run.rank() == static_cast<int>(options.on_rank) % run.ranks();
  run.measure({.operation = "barrier",
               .operate =
                   [&] {
                     if (due) fault();
                     run.transport().barrier(run.stream());
                   },
               .verify = [](std::size_t) { return Verdict{.elements = 1}; },
               .repetition = {.repeat = 3, .batches = 2},
               .metrics = {measure::time_us()}});
}

void stall(Run& run, const FaultOptions& options) {
  run_until(run, options, [] { std::this_thread::sleep_for(std::chrono::hours(1)); });
}

enum class Way { one, other };
ENUM_NAMES(Way, {one, "one"}, {other, "other"});

struct WayOptions : FaultOptions {
  Choices<Way> way;

  void describe(OptionSet& options) {
    FaultOptions::describe(options);
    options.add("way", way, "both", "of which the other goes wrong");
  }
};

void stall_the_other_way(Run& run, const WayOptions& options) {
  run_until(run, options, [&] {
    if (options.way == Way::other) std::this_thread::sleep_for(std::chrono::hours(1));
  });
}

void stop(Run& run, const FaultOptions& options) {
  run_until(run, options, [] { raise(SIGSTOP); });
}

void die(Run& run, const FaultOptions& options) {
  run_until(run, options, [] { raise(SIGKILL); });
}

void crash(Run& run, const FaultOptions& options) {
  run_until(run, options, [] { raise(SIGSEGV); });
}

void leave(Run& run, const FaultOptions& options) {
  run_until(run, options, [] { _exit(0); });
}

/// Ten page faults.
void touch_ten_pages() {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const memory = mmap(nullptr, 10 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw Error("no memory");
  for (std::size_t i = 0; i < 10; ++i) static_cast<volatile char*>(memory)[i * page] = 1;
  munmap(memory, 10 * page);
}

void touch(Run& run, const FaultOptions& options) { run_until(run, options, touch_ten_pages); }

void touch_at_first(Run& run, const FaultOptions& options) {
  int operations = 0;
  run_until(run, options, [&] {
    if (++operations <= 3) touch_ten_pages();
  });
}

void fail(Run& run, const FaultOptions& options) {
  run_until(run, options, [] { throw Error("MPI_Imaginary: no such thing"); });
}

/// A real mistake for the MPI library to find: a message to a rank that does not exist.
void misaddress(Run& run, const FaultOptions& options) {
  int message = 0;
  run_until(run, options, [&] { run.transport().send(&message, sizeof message, run.ranks(), run.stream()); });
}

void spill(Run& run, const FaultOptions& options) {
  (void)run.buffer(options.at * 1'000'000);  // more than two buffers of the largest size, and the slack
}

/// No call, and none of the timed region: the watchdog must see this too.
void stall_checking(Run& run, const FaultOptions& options) {
  const bool due = options.bytes == options.at && run.rank() == static_cast<int>(options.on_rank) % run.ranks();
  run.measure({.operation = "barrier",
               .operate = [&] { run.transport().barrier(run.stream()); },
               .verify =
                   [&](std::size_t) {
                     if (due) std::this_thread::sleep_for(std::chrono::hours(1));
                     return Verdict{.elements = 1};
                   },
               .repetition = {.repeat = 3, .batches = 2},
               .metrics = {measure::time_us()}});
}

/// A result that is wrong on one rank.
void err(Run& run, const FaultOptions& options) {
  const bool due = options.bytes == options.at && run.rank() == static_cast<int>(options.on_rank) % run.ranks();
  run.measure(
      {.operation = "nothing",
       .operate = [&] { run.transport().barrier(run.stream()); },
       .verify =
           [&](std::size_t) { return Verdict{.elements = 1, .error = due ? "byte 3 of 16 is 7, must be 8" : ""}; },
       .repetition = {.repeat = 3, .batches = 2},
       .metrics = {measure::time_us()}});
}

BENCHMARK("stall", "a rank sleeps for an hour", stall, FaultOptions, .metrics = {measure::time_us});
BENCHMARK("stop", "a rank is stopped", stop, FaultOptions, .metrics = {measure::time_us});
BENCHMARK("die", "a rank is killed", die, FaultOptions, .metrics = {measure::time_us});
BENCHMARK("crash", "a rank crashes", crash, FaultOptions, .metrics = {measure::time_us});
BENCHMARK("leave", "a rank exits with status 0", leave, FaultOptions, .metrics = {measure::time_us});
BENCHMARK("touch", "an operation has ten page faults on one rank", touch, FaultOptions, .metrics = {measure::time_us});
BENCHMARK("touch-at-first", "the first three operations have ten page faults each on one rank", touch_at_first,
          FaultOptions, .metrics = {measure::time_us});
BENCHMARK("fail", "a call fails on one rank", fail, FaultOptions, .metrics = {measure::time_us});
BENCHMARK("misaddress", "an MPI call fails on one rank", misaddress, FaultOptions, .metrics = {measure::time_us});
BENCHMARK("stall-the-other-way", "a rank sleeps for an hour in one of two variants", stall_the_other_way, WayOptions,
          .metrics = {measure::time_us});
BENCHMARK("stall-checking", "a rank sleeps for an hour while it checks its results", stall_checking, FaultOptions,
          .metrics = {measure::time_us});
BENCHMARK("spill", "more memory than was estimated", spill, FaultOptions, .metrics = {measure::time_us});
BENCHMARK("err", "a wrong result on one rank", err, FaultOptions, .metrics = {measure::time_us});

}  // namespace
}  // namespace commlens
