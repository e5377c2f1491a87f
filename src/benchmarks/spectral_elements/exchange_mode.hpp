// How a solve's gather-scatters work: --mode.
#pragma once

#include <optional>
#include <string>

#include "gather_scatter/gather_scatter.hpp"
#include "harness/options.hpp"

namespace commlens {

struct ExchangeMode {
  std::optional<gather_scatter::Method> method;  ///< none: the fastest

  void describe(OptionSet& options);
  [[nodiscard]] std::string name() const;  ///< "auto" or the method's name
  /// Throws Unsupported: `reason` is why the method cannot be used.
  [[noreturn]] void refuse(const std::string& reason) const;
};

}  // namespace commlens
