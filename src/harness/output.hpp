// Where records go: to the record file first, then to a reporter on the standard output. On rank 0 alone.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "measure/record_file.hpp"
#include "measure/reporter.hpp"
#include "measure/result.hpp"

namespace commlens {

class Output {
 public:
  /// `file`: to append records to; empty: none. `format`: of a reporter, which there must be. Throws
  /// measure::RecordFileError.
  Output(const std::string& file, const std::string& format);

  void begin(const measure::Start& start);
  /// To the file: what is on the screen is kept.
  void keep(const measure::Result& result);
  void show(std::span<const measure::Result> group);
  /// Throws Error where the standard output cannot be written.
  void end();

 private:
  std::optional<measure::RecordFile> file_;
  std::unique_ptr<measure::Reporter> reporter_;
  measure::Start start_;
};

}  // namespace commlens
