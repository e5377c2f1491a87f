#include "harness/end_job.hpp"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <iostream>
#include <thread>

namespace commlens {

namespace {

/// Slurm ends a job at once, and drops what its daemon on a node has not yet read from a rank.
constexpr std::chrono::milliseconds time_to_read_output{200};
constexpr unsigned abort_limit_s = 5;

}  // namespace

void end_job(MPI_Comm communicator, int status) {
  std::cout.flush();
  std::fflush(nullptr);
  std::this_thread::sleep_for(time_to_read_output);
  std::signal(SIGALRM, [](int) { _exit(3); });
  alarm(abort_limit_s);
  MPI_Abort(communicator, status);
  _exit(status);
}

}  // namespace commlens
