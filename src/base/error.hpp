// A failing call of a library, or something that the machine does not have.
#pragma once

#include <stdexcept>
#include <string>

namespace commlens {

/// The text names the call, its arguments where they matter, and the library's message. It may occur on one rank only,
/// so whoever catches it must end the whole job.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace commlens
