// The records as they stand in a records file, for programs that read standard output.
#include "measure/reporters/formats.hpp"

namespace commlens::measure {
namespace {

class JsonReporter final : public Reporter {
 public:
  explicit JsonReporter(std::ostream& out) : out_(out) {}

  void begin(const RunInformation& /*run*/) override {}  // every record holds it

  void add(const RunInformation& run, std::span<const Record> group) override {
    for (const Record& record : group) out_ << to_json(run, record) << '\n';
    out_.flush();
  }

 private:
  std::ostream& out_;
};

}  // namespace

ReporterDescription json_reporter() {
  return {.name = "json", .help = "one JSON object a line, as in a records file", .make = [](std::ostream& out) {
            return std::make_unique<JsonReporter>(out);
          }};
}

}  // namespace commlens::measure
