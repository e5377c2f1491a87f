// The files that ranks write, each one JSON object. A rank's counters can be written in a signal
// handler: no allocation, no stdio.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "json_writer.hpp"
#include "measure/environment_variables.hpp"
#include "profile.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX requires it

namespace commlens::profile {
namespace {

std::uint64_t value_of(const Count& count) { return count.load(std::memory_order_relaxed); }

class Scale {
 public:
  Scale() : nanoseconds_(profile.clock.nanoseconds_per_tick()) {}
  [[nodiscard]] std::uint64_t nanoseconds(std::uint64_t ticks) const {
    return static_cast<std::uint64_t>(static_cast<double>(ticks) * nanoseconds_);
  }
  [[nodiscard]] std::uint64_t nanoseconds(const Count& ticks) const { return nanoseconds(value_of(ticks)); }

 private:
  double nanoseconds_;
};

const char* name_of(Ending ending) {
  switch (ending) {
    case Ending::finalizing:
      return "in MPI_Finalize";
    case Ending::finalized:
      return "finalized";
    case Ending::aborted:
      return "MPI_Abort";
    case Ending::signalled:
      return "signal";
    case Ending::exited:
      return "exit without MPI_Finalize";
  }
  return "";
}

void write_sizes(JsonWriter& writer, const Counters& counters) {
  writer.key("bins");
  writer.open('[');
  for (int bin = 0; bin < size_bins; ++bin) {
    if (value_of(counters.bins[bin]) == 0) continue;
    writer.open('[');
    writer.number(static_cast<std::uint64_t>(bin));
    writer.number(value_of(counters.bins[bin]));
    writer.close(']');
  }
  writer.close(']');
  writer.key("memory");
  writer.open('{');
  for (int kind = 0; kind < memory_kind_count; ++kind) {
    const std::uint64_t calls = value_of(counters.memory[kind]);
    if (calls != 0) writer.field(memory_kind_names[kind], calls);
  }
  writer.close('}');
}

void write_function(JsonWriter& writer, const Scale& scale, int index) {
  const Counters& counters = profile.counters[index];
  const bool is_inside = profile.inside.load(std::memory_order_relaxed) == index;
  const std::uint64_t open_ticks = is_inside ? profile.clock.ticks() - value_of(profile.inside_since) : 0;
  writer.open('{');
  writer.field("name", functions[index].name);
  writer.field("group", functions[index].group);
  writer.field("calls", value_of(counters.calls) + (is_inside ? 1 : 0));
  writer.field("time_ns", scale.nanoseconds(value_of(counters.ticks) + open_ticks));
  const std::uint64_t max = value_of(counters.max_ticks);
  writer.field("max_ns", scale.nanoseconds(max > open_ticks ? max : open_ticks));
  writer.field("waiting_ns", scale.nanoseconds(counters.waiting_ticks));
  writer.field("bytes", value_of(counters.bytes));
  writer.key("communicators");
  writer.open('[');
  writer.number(value_of(counters.communicators));
  writer.number(value_of(counters.communicator_sizes));
  writer.number(value_of(counters.smallest_communicator));
  writer.number(value_of(counters.largest_communicator));
  writer.close(']');
  write_sizes(writer, counters);
  writer.close('}');
}

void write_functions(JsonWriter& writer, const Scale& scale) {
  const int inside = profile.inside.load(std::memory_order_relaxed);
  writer.field("inside", inside >= 0 ? functions[inside].name : "");
  writer.key("functions");
  writer.open('[');
  for (int index = 0; index < function_count; ++index) {
    if (value_of(profile.counters[index].calls) != 0 || index == inside) write_function(writer, scale, index);
  }
  writer.close(']');
}

void write_peers(JsonWriter& writer) {
  writer.field("dropped_requests", profile.requests.dropped());
  writer.field("has_peers", profile.peers.is_enabled() ? 1 : 0);
  writer.key("peers");
  writer.open('[');
  for (int peer = 0; profile.peers.is_enabled() && peer < profile.peers.size(); ++peer) {
    if (profile.peers.messages(peer) == 0) continue;
    writer.open('[');
    writer.number(static_cast<std::uint64_t>(peer));
    writer.number(profile.peers.bytes(peer));
    writer.number(profile.peers.messages(peer));
    writer.close(']');
  }
  writer.close(']');
}

void write_call_sites(JsonWriter& writer, const Scale& scale) {
  writer.field("dropped_call_sites", value_of(profile.dropped_call_sites));
  writer.key("call_sites");
  writer.open('[');
  for (int slot = 0; profile.records_call_sites && slot < max_call_sites; ++slot) {
    const CallSite& site = profile.call_sites[slot];
    const int function = site.function.load(std::memory_order_acquire);
    if (site.address.load(std::memory_order_relaxed) == 0 || function < 0) continue;
    writer.open('{');
    writer.field("function", functions[function].name);
    writer.field("address", site.address.load(std::memory_order_relaxed));
    writer.field("module", site.module != nullptr ? site.module : "");
    writer.field("base", site.base);
    writer.field("calls", value_of(site.calls));
    writer.field("time_ns", scale.nanoseconds(site.ticks));
    writer.field("bytes", value_of(site.bytes));
    writer.close('}');
  }
  writer.close(']');
}

void write_profile(JsonWriter& writer, Ending ending) {
  const Scale scale;
  writer.open('{');
  writer.field("rank_profile", 1);
  writer.field("rank", static_cast<std::uint64_t>(profile.rank));
  writer.field("size", static_cast<std::uint64_t>(profile.size));
  writer.field("host", profile.host);
  writer.field("pid", static_cast<std::uint64_t>(getpid()));
  writer.field("program", profile.program);
  writer.field("mpi", profile.mpi);
  writer.field("thread_level", profile.thread_level);
  writer.field("ending", name_of(ending));
  writer.field("total_ns", scale.nanoseconds(profile.clock.ticks() - profile.clock.started_ticks()));
  write_functions(writer, scale);
  write_peers(writer);
  write_call_sites(writer, scale);
  writer.close('}');
}

void write_environment(JsonWriter& writer) {
  writer.open('{');
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name(*entry, equals);
    const std::string_view value(*entry + equals + 1);
    if (environment::is_recorded(name, value)) writer.field(name, value);
  }
  writer.close('}');
}

/// The file appears under its name when it is complete.
template <class Write>
void write_file(const char* temporary_file, const char* file, Write write) {
  const int descriptor = open(temporary_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) return;
  JsonWriter writer(descriptor);
  write(writer);
  const bool is_written = writer.finish();
  const bool is_closed = close(descriptor) == 0;
  if (!is_written || !is_closed || rename(temporary_file, file) != 0) unlink(temporary_file);
}

}  // namespace

void write_rank_file(Ending ending) {
  static std::atomic_flag is_writing = ATOMIC_FLAG_INIT;
  if (is_writing.test_and_set()) return;
  write_file(profile.temporary_file, profile.file, [ending](JsonWriter& writer) { write_profile(writer, ending); });
  is_writing.clear();
}

void write_environment_file() {
  char file[sizeof profile.file];
  char temporary_file[sizeof profile.temporary_file];
  std::snprintf(file, sizeof file, "%s/environment.json", profile.folder);
  std::snprintf(temporary_file, sizeof temporary_file, "%s.part", file);
  write_file(temporary_file, file, write_environment);
}

}  // namespace commlens::profile
