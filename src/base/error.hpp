// What is thrown: for the machine's fault, and for the user's.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace commlens {

/// A failing call of a library, or something that the machine does not have. The text names the call, its arguments
/// where they matter, and the library's message. It may occur on one rank only, so whoever catches it must end the
/// whole job.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A wrong option or a request that the machine cannot meet: the same on every rank, found before anything is measured.
/// One line: the option, its value, what would be valid. The program prints it once, on rank 0, and exits with 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  UsageError(const std::string& option, const std::string& value, const std::string& fix)
      : std::runtime_error(line(option, value, fix)) {}

 private:
  static std::string line(const std::string& option, const std::string& value, const std::string& fix) {
    constexpr std::size_t most = 500;  // characters of a value that are repeated
    // As a shell would need it: blanks that nobody sees are often the mistake.
    const char* quote = value.empty() || value.find_first_of(" \t\n") != std::string::npos ? "'" : "";
    std::string text("--");
    text.append(option).append(" ").append(quote).append(value.substr(0, most)).append(quote);
    if (value.size() > most) text.append("...");
    return text.append(": ").append(fix);
  }
};

/// The text of the Failure that `action` throws; empty: it throws none.
template <class Failure = Error, class Action>
std::string problem_of(const Action& action) {
  try {
    action();
  } catch (const Failure& failure) {
    return failure.what();
  }
  return {};
}

}  // namespace commlens
