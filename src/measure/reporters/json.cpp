// The lines of a records file, for programs that read standard output.
#include <span>

#include "measure/record_json.hpp"
#include "measure/reporter.hpp"

namespace commlens::measure {
namespace {

class JsonReporter final : public Reporter {
 public:
  using Reporter::Reporter;

  void begin(const Start& start) override { out_ << start_line(start) << '\n'; }

  void add(const Start& start, std::span<const Result> group) override {
    for (const Result& result : group) out_ << record_line(start, result) << '\n';
    out_.flush();
  }
};

}  // namespace

ReporterDescription json_reporter() {
  return {
      .name = "json", .help = "one JSON object per line, as in a records file", .make = make_reporter<JsonReporter>};
}

}  // namespace commlens::measure
