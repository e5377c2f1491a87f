// What rank 0 writes: records and timelines.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>

#include "measure/record.hpp"
#include "measure/record_file.hpp"
#include "measure/reporter.hpp"
#include "measure/result.hpp"

namespace commlens {

/// Records go to the record file first, then to a reporter on the standard output.
class Output {
 public:
  /// `file`: to append records to; empty: none. `format`: of a reporter, which there must be. Throws
  /// measure::RecordFileError.
  Output(const std::string& file, const std::string& format);

  void begin(const measure::Start& start);
  /// To the file: what is on the screen is kept.
  void keep(const measure::Result& result);
  void show(std::span<const measure::Result> group) { reporter_->add(start_, group); }
  /// Throws Error where the standard output cannot be written.
  void end();

 private:
  std::optional<measure::RecordFile> file_;
  std::unique_ptr<measure::Reporter> reporter_;
  measure::Start start_;
};

/// The timelines of a start of the program as a file for Perfetto (ui.perfetto.dev) or chrome://tracing: a process for
/// each rank of each case, a track in it for each stream. The format is Google's "Trace Event Format".
class TimelineFile {
 public:
  /// Makes the file, empty of steps; what was there is overwritten. Throws Error with the operating system's reason.
  explicit TimelineFile(std::string path);
  ~TimelineFile();

  /// Writes the whole file again, with this timeline added. Throws like the constructor.
  void add(const std::string& title, const measure::Timeline& timeline);

 private:
  void write() const;

  std::string path_;
  std::unique_ptr<nlohmann::ordered_json> events_;
  int processes_ = 0;  ///< so far
};

}  // namespace commlens
