// Writes JSON with no allocation and no stdio, so that a signal handler can use it.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace commlens::preload {

/// Writes JSON to a file descriptor through its own buffer.
class JsonWriter {
 public:
  explicit JsonWriter(int file) : file_(file) {}

  void key(std::string_view name) {
    separate();
    quote(name);
    put(':');
    is_first_ = true;  // no comma before the value
  }
  void open(char bracket) {
    separate();
    put(bracket);
    is_first_ = true;
  }
  void close(char bracket) {
    put(bracket);
    is_first_ = false;
  }
  void number(std::uint64_t value) {
    separate();
    char digits[20];
    int count = 0;
    do {
      digits[count++] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value != 0);
    while (count > 0) put(digits[--count]);
  }
  void text(std::string_view value) {
    separate();
    quote(value);
  }
  /// true, false or null.
  void word(std::string_view value) {
    separate();
    put(value);
  }
  void seconds(std::uint64_t nanoseconds) {
    number(nanoseconds / 1'000'000'000U);
    put('.');
    for (std::uint64_t unit = 100'000'000U; unit != 0; unit /= 10) {
      put(static_cast<char>('0' + nanoseconds / unit % 10));
    }
  }
  void field(std::string_view name, std::uint64_t value) {
    key(name);
    number(value);
  }
  void field(std::string_view name, std::string_view value) {
    key(name);
    text(value);
  }
  void numbers(std::initializer_list<std::uint64_t> values) {
    open('[');
    for (const std::uint64_t value : values) number(value);
    close(']');
  }
  /// A list or an object, by its brackets: "[]" or "{}".
  template <class Fill>
  void field(std::string_view name, const char (&brackets)[3], Fill fill) {
    key(name);
    open(brackets[0]);
    fill();
    close(brackets[1]);
  }
  /// Whether everything has been written.
  bool finish() {
    flush();
    return is_good_;
  }

 private:
  void separate() {
    if (!is_first_) put(',');
    is_first_ = false;
  }
  void quote(std::string_view text) {
    put('"');
    for (const char letter : text) {
      if (letter == '"' || letter == '\\') put('\\');
      put(static_cast<unsigned char>(letter) < 0x20 ? ' ' : letter);
    }
    put('"');
  }
  void put(std::string_view text) {
    for (const char letter : text) put(letter);
  }
  void put(char letter) {
    if (used_ == sizeof(buffer_)) flush();
    buffer_[used_++] = letter;
  }
  void flush() {
    std::size_t done = 0;
    while (is_good_ && done < used_) {
      const ssize_t count = ::write(file_, buffer_ + done, used_ - done);
      is_good_ = count > 0;
      done += is_good_ ? static_cast<std::size_t>(count) : 0;
    }
    used_ = 0;
  }

  int file_;
  bool is_first_ = true;
  bool is_good_ = true;
  std::size_t used_ = 0;
  char buffer_[4096];
};

}  // namespace commlens::preload
