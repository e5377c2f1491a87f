// Reporters turn records into text on a stream: one class per format, apart from measuring.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "measure/result.hpp"

namespace commlens::measure {

/// A reporter is given the start first, then the results in groups (the transports and variants of one size, in the
/// order asked for), then the end. It writes each group as it comes and flushes.
class Reporter {
 public:
  explicit Reporter(std::ostream& out) : out_(out) {}
  Reporter(Reporter&&) = delete;
  virtual ~Reporter() = default;
  virtual void begin(const Start& /*start*/) {}
  virtual void add(const Start& start, std::span<const Result> group) = 0;
  virtual void end() {}

 protected:
  std::ostream& out_;
};

template <class Kind>
std::unique_ptr<Reporter> make_reporter(std::ostream& out) {
  return std::make_unique<Kind>(out);
}

struct ReporterDescription {
  std::string name;
  std::string help;
  std::function<std::unique_ptr<Reporter>(std::ostream&)> make;
  bool is_classic = false;  ///< it prints what declares a layout of its name

  [[nodiscard]] bool can_print(const BenchmarkDeclaration& benchmark) const {
    return !is_classic || benchmark.classic_layout(name) != nullptr;
  }
};

/// table (the default), json, csv, osu, nccl and dftfe. `osu` is the layout of the OSU micro-benchmarks 7.4, `nccl`
/// that of nccl-tests 2.19, `dftfe` the two lines of the DFT-FE mini-app.
const std::vector<ReporterDescription>& reporters();

/// Each is defined in the file of its name in reporters/. A new one is a file, a declaration here and a line in
/// reporters.cpp.
ReporterDescription table_reporter();
ReporterDescription json_reporter();
ReporterDescription csv_reporter();
ReporterDescription osu_reporter();
ReporterDescription nccl_reporter();
ReporterDescription dftfe_reporter();

}  // namespace commlens::measure
