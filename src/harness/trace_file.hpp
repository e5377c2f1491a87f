// The timelines of a start of the program as a file for Perfetto (ui.perfetto.dev) or chrome://tracing: a process for
// each rank of each case, a track in it for each stream. The format is Google's "Trace Event Format".
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "measure/record.hpp"

namespace commlens {

class TraceFile {
 public:
  /// Makes the file, empty of steps; what was there is overwritten. Throws Error with the operating system's reason.
  explicit TraceFile(std::string path);
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;
  ~TraceFile();

  /// Writes the whole file again, with this timeline added. Throws like the constructor.
  void add(const std::string& title, const measure::Timeline& timeline);

 private:
  void write() const;

  std::string path_;
  std::unique_ptr<nlohmann::ordered_json> events_;
  int processes_ = 0;  ///< so far
};

}  // namespace commlens
