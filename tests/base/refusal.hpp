// What the program prints about a wrong option.
#pragma once

#include <functional>
#include <string>

#include "base/error.hpp"

namespace commlens {

/// The message of the UsageError that the attempt throws; empty: none.
inline std::string refusal(const std::function<void()>& attempt) {
  try {
    attempt();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

}  // namespace commlens
