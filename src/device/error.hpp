// A call into a library that failed, or something that the machine lacks.
#pragma once

#include <stdexcept>
#include <string>

namespace commlens {

/// The text names the call, what it was given, and the library's own message. It can strike one rank alone, so whoever
/// catches it must end the whole job.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace commlens
