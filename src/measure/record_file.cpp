#include "measure/record_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace commlens::measure {
namespace {

std::string reason_of(int error) { return std::generic_category().message(error); }

/// The length of a regular file; none for a pipe, a terminal or a device, which have none and cannot be cut back.
std::optional<off_t> length_of(int descriptor) {
  struct stat information{};
  if (fstat(descriptor, &information) != 0 || !S_ISREG(information.st_mode)) return std::nullopt;
  return information.st_size;
}

/// Writes all of the text, in as many pieces as the operating system takes it. Returns the number of bytes that it took
/// and the error that ended it, or 0.
std::pair<std::size_t, int> write_pieces(int descriptor, std::string_view text) {
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t taken = ::write(descriptor, text.data() + written, text.size() - written);
    if (taken > 0) {
      written += static_cast<std::size_t>(taken);
    } else if (taken == 0 || errno != EINTR) {
      return {written, taken == 0 ? EIO : errno};
    }
  }
  return {written, 0};
}

}  // namespace

// Read access is asked for because the last byte of an existing file has to be looked at.
RecordFile::RecordFile(std::string path)
    : path_(std::move(path)), descriptor_(::open(path_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) throw RecordFileError(fmt::format("cannot open records file '{}': {}", path_, reason_of(errno)));
}

RecordFile::~RecordFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void RecordFile::write_whole(const std::string& text) {
  const auto length_before = length_of(descriptor_);
  const auto [written, error] = write_pieces(descriptor_, text);
  if (error == 0) return;
  std::string message = fmt::format("cannot write a record to '{}': {}", path_, reason_of(error));
  // Cut back only what this call wrote: another program may have appended to the file since.
  if (length_before && written > 0) {
    const bool is_last = length_of(descriptor_) == *length_before + static_cast<off_t>(written);
    if (!is_last || ::ftruncate(descriptor_, *length_before) != 0) message += "; its last line is incomplete";
  }
  throw RecordFileError(message);
}

bool RecordFile::ends_within_a_line() const {
  const auto length = length_of(descriptor_);
  char last = '\n';
  return length && *length > 0 && ::pread(descriptor_, &last, 1, *length - 1) == 1 && last != '\n';
}

}  // namespace commlens::measure
