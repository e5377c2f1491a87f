// From the loading of the library to the end of the program.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string_view>

#include "agreement.hpp"
#include "preload/memory_kind.hpp"
#include "preload/process.hpp"
#include "report.hpp"
#include "requests.hpp"
#include "reroute.hpp"
#include "types.hpp"

namespace commlens::reroute {

constinit Reroute reroute;

namespace {

// `commlens reroute` searches the file for this text.
[[gnu::used]] const char built_for_mark[] = "commlens-reroute is built for: " COMMLENS_REROUTE_MPI;

/// Whether the name stands in the list, which has commas.
bool is_listed(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::size_t end = list.find(',');
    if (std::string_view(list.data(), end == std::string_view::npos ? list.size() : end) == name) return true;
    if (end == std::string_view::npos) return false;
    list.remove_prefix(end + 1);
  }
  return false;
}

/// The name in the option: "allreduce" of MPI_Allreduce.
std::string_view option_of(int function, char (&text)[64]) {
  std::snprintf(text, sizeof text, "%s", function_names[function] + std::strlen("MPI_"));
  for (char* letter = text; *letter != '\0'; ++letter) {
    if (*letter >= 'A' && *letter <= 'Z') *letter = static_cast<char>(*letter - 'A' + 'a');
  }
  return text;
}

/// Another layer may complete requests by MPI's own functions, and then ours never do.
bool is_another_in_front() {
  return std::any_of(std::begin(completing_functions), std::end(completing_functions), [](const char* name) {
    const void* first = dlsym(RTLD_DEFAULT, name);
    return first != nullptr && !is_in_library(first);
  });
}

/// Messages must be named, and so must non-blocking functions that go to NCCL: its kernel runs until all ranks have
/// made the call, and a program that waits for the GPU before that waits for ever.
void choose_functions(const char* named) {
  for (int number = 0; number < function_count; ++number) {
    const auto function = static_cast<Function>(number);
    bool& chosen = reroute.settings.chosen[number];
    if (named == nullptr) {
      chosen = !is_message(function) && (!is_nonblocking(function) || reroute.settings.to_staged);
    } else if (is_message(function)) {
      chosen = is_listed(named, "p2p");
    } else {
      char text[64];
      chosen =
          is_listed(named, option_of(number, text)) || (is_nonblocking(function) && is_listed(named, "nonblocking"));
    }
  }
}

void read_settings() {
  Settings& settings = reroute.settings;
  settings.folder = std::getenv("COMMLENS_REROUTE_DIR");
  const char* to = std::getenv("COMMLENS_REROUTE_TO");
  settings.to_staged = to != nullptr && std::strcmp(to, "staged") == 0;
  settings.verify = preload::is_set("COMMLENS_REROUTE_VERIFY");
  settings.dry_run = preload::is_set("COMMLENS_REROUTE_DRY_RUN");
  settings.ccl = std::getenv("COMMLENS_REROUTE_NCCL");
  if (const char* bytes = std::getenv("COMMLENS_REROUTE_MIN_BYTES")) {
    settings.min_bytes = std::strtoull(bytes, nullptr, 10);
  }
  choose_functions(std::getenv("COMMLENS_REROUTE_FUNCTIONS"));
}

void deactivate_in_child() {
  reroute.is_active = false;
  reroute.is_started = false;
  reroute.settings.folder = nullptr;
}

[[gnu::constructor]] void load() {
  read_settings();
  reroute.loaded_ns = preload::nanoseconds(CLOCK_REALTIME);
  reroute.clock.start();
  if (reroute.settings.folder != nullptr) pthread_atfork(nullptr, nullptr, deactivate_in_child);
}

void end(bool is_finalized) {
  if (reroute.is_started && !preload::find_driver()) disable("the program has loaded neither CUDA nor HIP");
  if (reroute.is_started) write_report(is_finalized);
  reroute.is_started = false;
  reroute.is_active = false;
}

[[gnu::destructor]] void unload() {
  const char* folder = reroute.settings.folder;
  if (folder != nullptr && reroute.started_ticks == 0) preload::write_if_unseen(folder);
  end(false);
}

}  // namespace

bool is_in_library(const void* address) {
  Dl_info own{};
  Dl_info other{};
  return dladdr(&reroute, &own) != 0 && dladdr(address, &other) != 0 && own.dli_fbase == other.dli_fbase;
}

void disable(const char* format, ...) {
  if (reroute.disabled[0] != '\0') return;
  std::va_list values;
  va_start(values, format);
  std::vsnprintf(reroute.disabled, sizeof reroute.disabled, format, values);
  va_end(values);
}

void print_line(const char* format, ...) {
  char text[1024];
  std::va_list values;
  va_start(values, format);
  const int prefix = std::snprintf(text, sizeof text, "commlens reroute: ");
  std::vsnprintf(text + prefix, sizeof text - static_cast<std::size_t>(prefix) - 1, format, values);
  va_end(values);
  std::strcat(text, "\n");
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
}

namespace hook {

void started() {
  if (reroute.started_ticks != 0) return;
  reroute.started_ticks = reroute.clock.ticks();
  const preload::RunningMpi running = preload::running_mpi();
  if (!running.is_built_for) {  // its handles have another size, so the wrappers cannot even pass them on
    preload::write_refusal(reroute.settings.folder, running.version);
    std::_Exit(2);
  }
  std::snprintf(reroute.mpi_name, sizeof reroute.mpi_name, "%s", running.version);
  reroute.mpi.find();
  const bool is_same = have_same_settings();
  if (reroute.settings.folder == nullptr) return;  // the other ranks know it
  find_types();
  reroute.mpi.comm_rank(reroute.mpi.world, &reroute.rank);
  reroute.mpi.comm_size(reroute.mpi.world, &reroute.ranks);
  reroute.file.open(reroute.settings.folder, reroute.rank);
  reroute.file.announce();
  int level = MPI_THREAD_SINGLE;
  reroute.mpi.query_thread(&level);
  reroute.has_foreign_waits = is_another_in_front();
  reroute.is_multithreaded = level == MPI_THREAD_MULTIPLE;
  preload::remove_from_ld_preload(&reroute);
  // NCCL connects ranks when they first need it, and then waits for them without letting MPI make progress: so it is to
  // connect them all at once. Set here, where a program has no other threads yet.
  setenv("NCCL_RUNTIME_CONNECT", "0", 0);
  reroute.is_started = true;
  // Its functions call MPI's own, or ours do: one of the two would see nothing.
  const bool is_profiled = preload::is_set("COMMLENS_PROFILE_OUT");
  if (is_profiled) disable("the program runs under commlens profile");
  if (!is_same) disable("the ranks have different settings: give all of them the same COMMLENS_REROUTE_ variables");
  reroute.is_active = is_same && !is_profiled;
}

void finalizing() {
  while (has_requests()) progress_requests();
  end(true);  // NCCL is left as it is: the program may have reset the GPU, and all ends with the process
}

void aborting() { end(false); }

}  // namespace hook

}  // namespace commlens::reroute
