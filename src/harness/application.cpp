#include "harness/application.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/stopwatch.hpp"
#include "harness/command_line.hpp"
#include "harness/monitor.hpp"
#include "harness/session.hpp"
#include "transport/communicator.hpp"
#include "transport/mpi_library.hpp"
#include "transport/mpi_tools.hpp"
#include "transport/rank_device.hpp"
#include "transport/ucx_log.hpp"

namespace commlens {

namespace {

/// MPI from its initialisation to its end.
class MpiLibrary {
 public:
  /// Whatever the level, only the main thread makes MPI calls, except for the watchdog's last one, MPI_Abort, and for
  /// benchmarks that communicate in threads. The other threads are those of concurrent streams of the host and of the
  /// BLAS.
  MpiLibrary(int& argc, char**& argv, transport::ThreadLevel level, bool measures_init) {
    if (!measures_init) tools_.emplace(level);
    int provided = MPI_THREAD_SINGLE;  // require_thread_level() looks at it
    const Stopwatch stopwatch;
    MPI_Init_thread(&argc, &argv, native(level), &provided);
    seconds_ = stopwatch.seconds();
    ucx_log_.initialised();
  }
  MpiLibrary(MpiLibrary&&) = delete;
  ~MpiLibrary() {
    tools_.reset();  // Open MPI 4 crashes where MPI_T_finalize is called after MPI_Finalize
    MPI_Finalize();
  }
  [[nodiscard]] double seconds() const { return seconds_; }  ///< that MPI_Init_thread has taken

 private:
  transport::UcxLog ucx_log_;                      ///< from before MPI's initialisation to after its end
  std::optional<transport::ToolInterface> tools_;  ///< from before it, so that components are loaded once
  double seconds_ = 0;
};

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

/// Every rank finds the same mistake; one says it, and no rank ends before, as launchers end the others then. Processes
/// that are started without a launcher are all rank 0 and print at the same time: fmt writes the message in one piece,
/// fprintf of glibc 2.37 and later does not.
int refuse(const UsageError& error) {
  if (world_rank() == 0) fmt::print(stderr, "commlens: {}\n", error.what());
  MPI_Barrier(MPI_COMM_WORLD);
  return static_cast<int>(Exit::usage);
}

/// A launcher of another MPI library starts programs that each take themselves for the only rank.
void require_ranks(const Settings& settings) {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const auto expected = settings.expect_ranks.value_or(static_cast<std::size_t>(ranks));
  if (expected == static_cast<std::size_t>(ranks)) return;
  const std::string fix =
      ranks == 1 ? fmt::format(
                       "start it with the launcher of {}, the MPI library that it was built with, and with srun "
                       "choose that library's --mpi",
                       transport::mpi_library())
                 : "do not give the launcher another number";
  throw UsageError(fmt::format("{} ranks were asked for, but MPI has {}: {}", expected, ranks, fix));
}

/// What MPI is asked for: more costs time in each call, so only what the user or the benchmark wants.
transport::ThreadLevel thread_level(const std::optional<CommandLine>& line) {
  if (!line) return Settings().thread_level;
  return line->communicates_in_threads ? transport::ThreadLevel::multiple : line->settings.thread_level;
}

void require_thread_level(transport::ThreadLevel level) {
  if (transport::provided_thread_level() >= level) return;
  throw UsageError("thread-level", std::string(name(level)),
                   transport::mpi_library() + " provides less; ask for a lower one");
}

/// No GPU where nobody needs one, as in an application that uses none: once a process has a context, a CUDA-aware
/// Open MPI sends messages between buffers in host memory over its CUDA component, which is slower.
std::unique_ptr<device::Device> open_device(const CommandLine& line, int local_rank) {
  const auto memory = line.settings.chosen_memory();
  // How many ranks there are is not known yet; those of two halves may differ.
  const bool on_host = line.benchmark->memory(0, 2, memory) == device::Memory::host &&
                       line.benchmark->memory(1, 2, memory) == device::Memory::host;
  return on_host ? device::open_host() : open_rank_device(local_rank);
}

int run_session(CommandLine& line, std::unique_ptr<device::Device> device, std::vector<std::string> command,
                double mpi_init_s) {
  if (!device) device = open_device(line, transport::Communicator(MPI_COMM_WORLD).node().rank());
  Session session(line.settings, std::move(device), std::move(command), mpi_init_s);
  try {
    return static_cast<int>(session.execute(*line.benchmark));
  } catch (const UsageError&) {
    throw;
  } catch (const std::exception& error) {
    session.fail(error);
  }
}

}  // namespace

int run_application(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file-size limit is an error of write(), not a reason to die
  std::signal(SIGPIPE, SIG_IGN);
  const std::vector<std::string> command(argv, argv + argc);
  if (argc > 1 && command[1] == "probe") return run_probe(argc, argv);
  // Without a benchmark there is nothing to start MPI for: help and lists work where MPI does not.
  std::optional<CommandLine> line;
  std::optional<UsageError> mistake;
  try {
    line = parse({command.begin() + std::min(1, argc), command.end()});
  } catch (const UsageError& error) {
    mistake = error;
  }
  if (line && line->benchmark == nullptr) {
    std::cout << line->text;
    return 0;
  }
  const auto local_rank = local_rank_from_environment();
  auto device = line && local_rank ? open_device(*line, *local_rank) : nullptr;
  const MpiLibrary library(argc, argv, thread_level(line), line && line->measures_mpi_init);
  try {
    if (mistake) return refuse(*mistake);
    require_ranks(line->settings);
    require_thread_level(line->settings.thread_level);
    return run_session(*line, std::move(device), command, library.seconds());
  } catch (const UsageError& error) {
    return refuse(error);
  } catch (const std::exception& error) {
    fmt::print(stderr, "commlens: rank {}: {}\n", world_rank(), error.what());
    end_job(static_cast<int>(Exit::failed));
  }
}

}  // namespace commlens
