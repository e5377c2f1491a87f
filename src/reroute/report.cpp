#include "report.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "ccl.hpp"
#include "preload/json_writer.hpp"
#include "reroute.hpp"
#include "verification.hpp"

namespace commlens::reroute {
namespace {

using preload::JsonWriter;

std::uint64_t value_of(const Count& count) { return count.load(std::memory_order_relaxed); }

class Report {
 public:
  explicit Report(int file) : writer_(file), nanoseconds_(reroute.clock.nanoseconds_per_tick()) {}

  bool write(bool is_finalized) {
    writer_.open('{');
    writer_.field("format", 1);
    writer_.field("rank", static_cast<std::uint64_t>(reroute.rank));
    writer_.field("ranks", static_cast<std::uint64_t>(reroute.ranks));
    writer_.field("host", reroute.host);
    writer_.field("mpi", reroute.mpi_name);
    writer_.field("to", reroute.settings.to_staged ? "staged" : "ccl");
    text_or_null("library", ccl.name);
    text_or_null("disabled", reroute.disabled);
    writer_.key("finalized");
    writer_.word(is_finalized ? "true" : "false");
    seconds("run_s", reroute.clock.ticks() - reroute.started_ticks);
    seconds("setup_s", value_of(reroute.setup_ticks));
    writer_.field("functions", "[]", [&] {
      for (int function = 0; function < function_count; ++function) write_function(function);
    });
    writer_.field("differences", "[]", [&] {
      for (int number = 0; number < difference_count; ++number) write_difference(differences[number]);
    });
    writer_.close('}');
    return writer_.finish();
  }

 private:
  void text_or_null(std::string_view name, const char* text) {
    writer_.key(name);
    if (*text != '\0') {
      writer_.text(text);
    } else {
      writer_.word("null");
    }
  }

  void seconds(std::string_view name, std::uint64_t ticks) {
    writer_.key(name);
    writer_.seconds(static_cast<std::uint64_t>(static_cast<double>(ticks) * nanoseconds_));
  }

  void write_function(int function) {
    const Tally& tally = reroute.tallies[function];
    if (value_of(tally.calls) == 0) return;
    writer_.open('{');
    writer_.field("function", function_names[function]);
    writer_.field("calls", value_of(tally.calls));
    writer_.field("bytes", value_of(tally.bytes));
    writer_.field("rerouted_calls", value_of(tally.rerouted_calls));
    writer_.field("rerouted_bytes", value_of(tally.rerouted_bytes));
    seconds("rerouted_s", value_of(tally.rerouted_ticks));
    seconds("mpi_s", value_of(tally.mpi_ticks));
    seconds("mpi_estimate_s", value_of(tally.estimate_ticks));
    writer_.field("measured_calls", value_of(tally.measured_calls));
    writer_.field("local_copies", value_of(tally.local_copies));
    writer_.field("fell_back", "{}", [&] {
      for (int reason = 0; reason < reason_count; ++reason) {
        const std::uint64_t calls = value_of(tally.fell_back[reason]);
        if (calls != 0) write_reason(reason, calls);
      }
    });
    writer_.close('}');
  }

  void write_reason(int reason, std::uint64_t calls) {
    constexpr const char* placeholder = "{min_bytes}";
    const char* phrase = reason_phrases[reason];
    const char* place = std::strstr(phrase, placeholder);
    if (place == nullptr) return writer_.field(phrase, calls);
    char text[128];
    std::snprintf(text, sizeof text, "%.*s%llu%s", static_cast<int>(place - phrase), phrase,
                  static_cast<unsigned long long>(reroute.settings.min_bytes), place + std::strlen(placeholder));
    writer_.field(text, calls);
  }

  void write_difference(const Difference& difference) {
    writer_.open('{');
    writer_.field("function", function_names[static_cast<int>(difference.function)]);
    writer_.field("call", difference.call);
    writer_.field("element", difference.element);
    writer_.field("expected", difference.expected);
    writer_.field("found", difference.found);
    writer_.close('}');
  }

  JsonWriter writer_;
  double nanoseconds_;
};

}  // namespace

void write_report(bool is_finalized) {
  static std::atomic_flag is_written = ATOMIC_FLAG_INIT;
  if (is_written.test_and_set()) return;
  char file[1400];
  char temporary_file[1408];
  std::snprintf(file, sizeof file, "%s/rank-%d.json", reroute.settings.folder, reroute.rank);
  std::snprintf(temporary_file, sizeof temporary_file, "%s.part", file);
  const int descriptor = open(temporary_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  bool is_good = descriptor >= 0 && Report(descriptor).write(is_finalized);
  is_good = descriptor >= 0 && close(descriptor) == 0 && is_good && rename(temporary_file, file) == 0;
  if (!is_good) print_line("rank %d: %s cannot be written", reroute.rank, file);
}

}  // namespace commlens::reroute
