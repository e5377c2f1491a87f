#include "benchmarks/spectral_elements/exchange_mode.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/usage_error.hpp"
#include "harness/run.hpp"

namespace commlens {

namespace {

using gather_scatter::Method;

constexpr const char* automatic = "auto";

std::optional<Method> parse(const std::string& text) {
  if (text == automatic) return std::nullopt;
  if (const auto method = from_name<Method>(text)) return method;
  throw UsageError("mode", text.empty() ? "''" : text,
                   fmt::format("write {} or {}", automatic, fmt::join(all_names<Method>(), " or ")));
}

}  // namespace

void ExchangeMode::describe(OptionSet& options) {
  options.add_text(
      "mode", [this](const std::string& text) { method = parse(text); }, [this] { return name(); },
      fmt::format("of the gather-scatter; {} times all modes and uses the fastest ({}, {})", automatic, automatic,
                  fmt::join(all_names<Method>(), ", ")));
}

std::string ExchangeMode::name() const { return method ? std::string(commlens::name(*method)) : automatic; }

void ExchangeMode::refuse(const std::string& reason) const {
  throw Unsupported(fmt::format("--mode {}: {}; --mode {} takes what there is", name(), reason, automatic));
}

}  // namespace commlens
