// The file of a rank: one JSON object. It may be written in a signal handler, so nothing here allocates or uses stdio.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>  // rename

#include "profile.hpp"

namespace commlens::profile {
namespace {

/// JSON in pieces into a file descriptor, by way of a buffer of its own.
class Writer {
 public:
  explicit Writer(int file) : file_(file) {}

  void key(const char* name) {
    separate();
    quote(name);
    put(':');
    is_first_ = true;  // no comma before the value
  }
  void open(char bracket) {
    separate();
    put(bracket);
    is_first_ = true;
  }
  void close(char bracket) {
    put(bracket);
    is_first_ = false;
  }
  void number(std::uint64_t value) {
    separate();
    char digits[20];
    int count = 0;
    do {
      digits[count++] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value != 0);
    while (count > 0) put(digits[--count]);
  }
  void text(const char* value) {
    separate();
    quote(value);
  }
  void field(const char* name, std::uint64_t value) {
    key(name);
    number(value);
  }
  void field(const char* name, const char* value) {
    key(name);
    text(value);
  }
  [[nodiscard]] bool finish() {
    flush();
    return is_good_;
  }

 private:
  void separate() {
    if (!is_first_) put(',');
    is_first_ = false;
  }
  void quote(const char* text) {
    put('"');
    for (; *text != '\0'; ++text) {
      const auto letter = static_cast<unsigned char>(*text);
      if (letter == '"' || letter == '\\') put('\\');
      put(letter < 0x20 ? ' ' : *text);
    }
    put('"');
  }
  void put(char letter) {
    if (used_ == sizeof(buffer_)) flush();
    buffer_[used_++] = letter;
  }
  void flush() {
    std::size_t done = 0;
    while (is_good_ && done < used_) {
      const ssize_t count = ::write(file_, buffer_ + done, used_ - done);
      is_good_ = count > 0;
      done += is_good_ ? static_cast<std::size_t>(count) : 0;
    }
    used_ = 0;
  }

  int file_;
  bool is_first_ = true;
  bool is_good_ = true;
  std::size_t used_ = 0;
  char buffer_[4096];
};

std::uint64_t value_of(const Count& count) { return count.load(std::memory_order_relaxed); }

class Scale {
 public:
  Scale() : nanoseconds_(profile.clock.nanoseconds_a_tick()) {}
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

void write_sizes(Writer& writer, const Counters& counters) {
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
  writer.open('[');
  for (const Count& kind : counters.memory) writer.number(value_of(kind));
  writer.close(']');
}

void write_function(Writer& writer, const Scale& scale, int index) {
  const Counters& counters = profile.counters[index];
  const bool is_inside = profile.inside.load(std::memory_order_relaxed) == index;
  const std::uint64_t open_ticks = is_inside ? profile.clock.ticks() - value_of(profile.inside_since) : 0;
  writer.open('{');
  writer.field("name", functions[index].name);
  writer.field("group", functions[index].group);
  writer.field("calls", value_of(counters.calls) + (is_inside ? 1 : 0));
  writer.field("time_ns", scale.nanoseconds(value_of(counters.ticks) + open_ticks));
  const std::uint64_t most = value_of(counters.most_ticks);
  writer.field("max_ns", scale.nanoseconds(most > open_ticks ? most : open_ticks));
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

void write_functions(Writer& writer, const Scale& scale) {
  const int inside = profile.inside.load(std::memory_order_relaxed);
  writer.field("inside", inside >= 0 ? functions[inside].name : "");
  writer.key("functions");
  writer.open('[');
  for (int index = 0; index < function_count; ++index) {
    if (value_of(profile.counters[index].calls) != 0 || index == inside) write_function(writer, scale, index);
  }
  writer.close(']');
}

void write_peers(Writer& writer) {
  writer.field("dropped_requests", profile.requests.dropped());
  writer.field("has_peers", profile.peers.is_open() ? 1 : 0);
  writer.key("peers");
  writer.open('[');
  for (int peer = 0; profile.peers.is_open() && peer < profile.peers.size(); ++peer) {
    if (profile.peers.messages(peer) == 0) continue;
    writer.open('[');
    writer.number(static_cast<std::uint64_t>(peer));
    writer.number(profile.peers.bytes(peer));
    writer.number(profile.peers.messages(peer));
    writer.close(']');
  }
  writer.close(']');
}

void write_call_sites(Writer& writer, const Scale& scale) {
  writer.field("dropped_call_sites", value_of(profile.dropped_call_sites));
  writer.key("call_sites");
  writer.open('[');
  for (int slot = 0; profile.wants_call_sites && slot < most_call_sites; ++slot) {
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

bool write_all(int file, Ending ending) {
  Writer writer(file);
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
  return writer.finish();
}

}  // namespace

void write_rank_file(Ending ending) {
  static std::atomic_flag is_writing = ATOMIC_FLAG_INIT;
  if (is_writing.test_and_set()) return;
  const int file = open(profile.draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file >= 0) {
    const bool is_written = write_all(file, ending);
    const bool is_closed = close(file) == 0;
    if (!is_written || !is_closed || rename(profile.draft, profile.file) != 0) unlink(profile.draft);
  }
  is_writing.clear();
}

}  // namespace commlens::profile
