// What the file of a rank has. It can be written in a signal handler: no allocation, no stdio.
#include "preload/rank_file.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iterator>
#include <string_view>

#include "base/environment_variables.hpp"
#include "profile.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX requires it

namespace commlens::profile {

using preload::JsonWriter;
using preload::value_of;

namespace {

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
  constexpr const char* names[] = {"in MPI_Finalize", "finalized", "MPI_Abort",
                                   "fatal MPI error", "signal",    "exit without MPI_Finalize"};
  static_assert(std::size(names) == static_cast<std::size_t>(Ending::exited) + 1);
  return names[static_cast<std::size_t>(ending)];
}

void write_sizes(JsonWriter& writer, const Counters& counters) {
  writer.field("bins", "[]", [&] {
    for (int bin = 0; bin < size_bins; ++bin) {
      const std::uint64_t calls = value_of(counters.bins[bin]);
      if (calls != 0) writer.numbers({static_cast<std::uint64_t>(bin), calls});
    }
  });
  writer.field("memory", "{}", [&] {
    for (int kind = 0; kind < memory_kind_count; ++kind) {
      const std::uint64_t calls = value_of(counters.memory[kind]);
      if (calls != 0) writer.field(preload::memory_kind_names[kind], calls);
    }
  });
}

/// A call that has not ended counts up to now.
struct OpenCalls {
  std::uint64_t calls;
  std::uint64_t ticks;
  std::uint64_t longest;
};

template <class IsMeant>
OpenCalls open_calls(IsMeant is_meant) {
  OpenCalls open{};
  for (int index = 0; index < profile.threads.count(); ++index) {
    const Thread& thread = profile.threads[index];
    if (thread.function.load(std::memory_order_relaxed) == 0 || !is_meant(thread)) continue;
    const std::uint64_t ticks = profile.clock.ticks() - value_of(thread.since);
    ++open.calls;
    open.ticks += ticks;
    open.longest = ticks > open.longest ? ticks : open.longest;
  }
  return open;
}

OpenCalls open_calls_of(int function) {
  return open_calls([function](const Thread& thread) { return thread.function == function + 1; });
}

void write_function(JsonWriter& writer, const Scale& scale, int index, const OpenCalls& open) {
  const Counters& counters = profile.counters[index];
  const std::uint64_t max = value_of(counters.max_ticks);
  writer.open('{');
  writer.field("name", functions[index].name);
  writer.field("group", functions[index].group);
  writer.field("calls", value_of(counters.calls) + open.calls);
  writer.field("time_ns", scale.nanoseconds(value_of(counters.ticks) + open.ticks));
  writer.field("max_ns", scale.nanoseconds(max > open.longest ? max : open.longest));
  writer.field("waiting_ns", scale.nanoseconds(counters.waiting_ticks));
  writer.field("bytes", value_of(counters.bytes));
  writer.key("communicators");
  writer.numbers({value_of(counters.communicators), value_of(counters.communicator_sizes),
                  value_of(counters.smallest_communicator), value_of(counters.largest_communicator)});
  write_sizes(writer, counters);
  writer.close('}');
}

void write_functions(JsonWriter& writer, const Scale& scale) {
  writer.field("inside", "[]", [&] {
    for (int index = 0; index < function_count; ++index) {
      if (open_calls_of(index).calls != 0) writer.text(functions[index].name);
    }
  });
  writer.field("functions", "[]", [&] {
    for (int index = 0; index < function_count; ++index) {
      const OpenCalls open = open_calls_of(index);
      if (value_of(profile.counters[index].calls) + open.calls != 0) write_function(writer, scale, index, open);
    }
  });
}

void write_peers(JsonWriter& writer) {
  writer.field("dropped_requests", profile.requests.dropped());
  writer.field("has_peers", profile.peers.is_enabled() ? 1 : 0);
  writer.field("peers", "[]", [&] {
    for (int peer = 0; profile.peers.is_enabled() && peer < profile.peers.size(); ++peer) {
      const std::uint64_t messages = profile.peers.messages(peer);
      if (messages != 0) writer.numbers({static_cast<std::uint64_t>(peer), profile.peers.bytes(peer), messages});
    }
  });
}

void write_frames(JsonWriter& writer, int slot) {
  writer.field("frames", "[]", [&] {
    for (int index = 0; index < profile.call_depth; ++index) {
      const Frame& frame = profile.frames[slot * profile.call_depth + index];
      if (frame.address == 0) break;
      writer.open('{');
      writer.field("address", frame.address);
      writer.field("module", frame.module != nullptr ? frame.module : "");
      writer.field("base", frame.base);
      writer.close('}');
    }
  });
}

void write_call_sites(JsonWriter& writer, const Scale& scale) {
  writer.field("dropped_call_sites", value_of(profile.dropped_call_sites));
  writer.field("call_sites", "[]", [&] {
    for (int slot = 0; profile.records_call_sites && slot < max_call_sites; ++slot) {
      const CallSite& site = profile.call_sites[slot];
      const int function = site.function.load(std::memory_order_acquire) - 1;
      if (function < 0) continue;
      const OpenCalls open = open_calls([&site](const Thread& thread) { return thread.call_site == &site; });
      writer.open('{');
      writer.field("function", functions[function].name);
      write_frames(writer, slot);
      writer.field("calls", value_of(site.calls) + open.calls);
      writer.field("time_ns", scale.nanoseconds(value_of(site.ticks) + open.ticks));
      writer.field("waiting_ns", scale.nanoseconds(site.waiting_ticks));
      writer.field("bytes", value_of(site.bytes));
      writer.close('}');
    }
  });
}

/// The time since a region that is still open was entered.
std::uint64_t open_ticks_of_region(int region) {
  std::uint64_t ticks = 0;
  for (int index = 0; index < profile.threads.count(); ++index) {
    const Thread& thread = profile.threads[index];
    for (int open = 0; open < thread.open_regions; ++open) {
      if (thread.regions[open] == region) ticks += profile.clock.ticks() - value_of(thread.region_since[open]);
    }
  }
  return ticks;
}

void write_region(JsonWriter& writer, const Scale& scale, int index) {
  const Region& region = profile.regions[index];
  writer.open('{');
  writer.field("name", region.name);
  writer.field("entries", value_of(region.entries));
  writer.field("time_ns", scale.nanoseconds(value_of(region.ticks) + open_ticks_of_region(index)));
  writer.field("functions", "[]", [&] {
    for (int function = 0; function < function_count; ++function) {
      const RegionFunction& counts = region.functions[function];
      if (value_of(counts.calls) == 0) continue;
      writer.open('{');
      writer.field("name", functions[function].name);
      writer.field("calls", value_of(counts.calls));
      writer.field("time_ns", scale.nanoseconds(counts.ticks));
      writer.field("bytes", value_of(counts.bytes));
      writer.close('}');
    }
  });
  writer.close('}');
}

void write_regions(JsonWriter& writer, const Scale& scale) {
  writer.field("dropped_regions", profile.regions.dropped());
  writer.field("regions", "[]", [&] {
    for (int index = 0; index < profile.regions.count(); ++index) write_region(writer, scale, index);
  });
}

/// The processors on which the rank may run.
void write_cpus(JsonWriter& writer) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  sched_getaffinity(0, sizeof cpus, &cpus);
  writer.field("cpus", "[]", [&] {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &cpus)) writer.number(static_cast<std::uint64_t>(cpu));
    }
  });
}

void write_environment(JsonWriter& writer) {
  writer.field("environment", "{}", [&] {
    if (profile.rank != 0) return;
    environment::for_each_recorded(environ,
                                   [&](std::string_view name, std::string_view value) { writer.field(name, value); });
  });
}

void write_profile(JsonWriter& writer, Ending ending) {
  const Scale scale;
  writer.open('{');
  writer.field("rank_profile", 1);
  writer.field("rank", static_cast<std::uint64_t>(profile.rank));
  writer.field("size", static_cast<std::uint64_t>(profile.size));
  preload::write_process(writer);
  writer.field("mpi", profile.mpi);
  writer.field("thread_level", profile.thread_level);
  writer.field("ending", name_of(ending));
  writer.field("loaded_ns", profile.loaded_ns);
  writer.field("threads", static_cast<std::uint64_t>(profile.threads.count()));
  writer.field("cpu_ns", nanoseconds(CLOCK_PROCESS_CPUTIME_ID) - profile.cpu_before_ns);
  writer.field("queued_ns", queued_nanoseconds() - profile.queued_ns);
  write_cpus(writer);
  writer.field("total_ns", scale.nanoseconds(profile.clock.ticks() - profile.began_ticks));
  write_functions(writer, scale);
  write_peers(writer);
  write_call_sites(writer, scale);
  write_regions(writer, scale);
  write_environment(writer);
  writer.close('}');
}

}  // namespace

std::uint64_t queued_nanoseconds() {
  char text[128] = {};
  const int file = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  const char* second = length > 0 ? std::strchr(text, ' ') : nullptr;
  return second != nullptr ? std::strtoull(second + 1, nullptr, 10) : 0;
}

void write_rank_file(Ending ending) {
  static std::atomic_flag is_writing = ATOMIC_FLAG_INIT;
  if (is_writing.test_and_set()) return;
  profile.file.write([ending](JsonWriter& writer) { write_profile(writer, ending); });
  is_writing.clear();
}

}  // namespace commlens::profile
