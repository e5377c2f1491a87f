#include "report.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "ccl.hpp"
#include "preload/rank_file.hpp"
#include "reroute.hpp"
#include "verification.hpp"

namespace commlens::reroute {
namespace {

using preload::JsonWriter;
using preload::value_of;

class Report {
 public:
  explicit Report(JsonWriter& writer) : writer_(writer), nanoseconds_(reroute.clock.nanoseconds_per_tick()) {}

  void write(bool is_finalized) {
    writer_.open('{');
    writer_.field("format", 1);
    writer_.field("rank", static_cast<std::uint64_t>(reroute.rank));
    writer_.field("ranks", static_cast<std::uint64_t>(reroute.ranks));
    preload::write_process(writer_);
    writer_.field("loaded_ns", reroute.loaded_ns);
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

  JsonWriter& writer_;
  double nanoseconds_;
};

}  // namespace

void write_report(bool is_finalized) {
  static std::atomic_flag is_written = ATOMIC_FLAG_INIT;
  if (is_written.test_and_set()) return;
  reroute.file.write([is_finalized](JsonWriter& writer) { Report(writer).write(is_finalized); });
}

}  // namespace commlens::reroute
