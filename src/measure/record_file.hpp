// The file to which records are appended.
#pragma once

#include <stdexcept>
#include <string>

namespace commlens::measure {

/// A file of lines of JSON. Opening appends (or creates); each line is written whole and flushed to the operating
/// system, or not at all: where the disk fills up in the middle of a line, the file is cut back to its last whole line.
/// Where the file ends in the middle of a line already (a crash), the next one starts on a line of its own. Owns the
/// file descriptor. Throws RecordFileError, whose text names the file and the operating system's reason.
class RecordFile {
 public:
  explicit RecordFile(std::string path);
  RecordFile(RecordFile&&) = delete;
  ~RecordFile();

  void append(const std::string& line) { write_whole((ends_within_a_line() ? "\n" : "") + line + "\n"); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  void write_whole(const std::string& text);
  [[nodiscard]] bool ends_within_a_line() const;

  std::string path_;
  int descriptor_ = -1;
};

class RecordFileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace commlens::measure
